"""What was set for the webhooks, read once."""

from collections.abc import Mapping
from typing import Final

from sidecypher_procedures.github.settings import GithubSettings


class WebhookSettings:
    """The settings of the webhooks; one per sidecar.

    Attributes:
        key: What deliveries are signed with; None turns the webhooks off.
        makes_nodes: Whether what a delivery is about becomes a node.
    """

    def __init__(self, settings: GithubSettings | None = None) -> None:
        given = settings or GithubSettings.load()
        self.key: Final = given.webhook_key()
        self.makes_nodes: Final = given.webhook_nodes
        self._runs: Final[Mapping[str, str]] = given.webhook_runs

    def run_type(self, name: str) -> str | None:
        """Return the type of the run that an event begins, None for none.

        Args:
            name: The event and its action; what is set for both goes before what is set for the
                event alone.

        Example:
            >>> given = GithubSettings(webhook_runs={"issues": "talk", "issues.opened": "triage"})
            >>> settings = WebhookSettings(given)
            >>> settings.run_type("issues.opened"), settings.run_type("issues.closed")
            ('triage', 'talk')
        """
        return self._runs.get(name) or self._runs.get(name.partition(".")[0])
