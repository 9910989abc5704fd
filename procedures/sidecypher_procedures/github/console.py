"""The page of the console about GitHub: its rate limits, and what the cache saves."""

from sidecypher import PanelBlock, PanelMeter, PanelRequest, PanelTable, PanelText, panel
from sidecypher_procedures.github.client import GithubClient


@panel("github", "GitHub")
async def show_github(request: PanelRequest) -> list[PanelBlock]:
    """Return the rate limits as GitHub's latest answers had them; no request is sent."""
    client = request.resource(GithubClient)
    source = client.credential_source
    credential = f"The credential is from {source}." if source else "There is no credential."
    budgets = client.known_budgets()
    unknown = PanelText(text="GitHub's limits are known after the first request.")
    meters: list[PanelBlock] = [
        PanelMeter(
            title=f"Requests left: {each.resource}",
            value=each.remaining,
            limit=each.limit,
            note=f"starts again at {each.reset_at:%H:%M:%S} UTC",
        )
        for each in budgets
    ]
    return [
        PanelText(text=credential),
        *(meters or [unknown]),
        PanelTable(
            title="Since the start of the sidecar",
            columns=["What", "Number"],
            rows=[
                ("Rows from the sidecar's cache", client.cached),
                ("Requests sent to GitHub", client.sent),
                ("Answers 304, which GitHub does not count", client.unchanged),
            ],
        ),
    ]
