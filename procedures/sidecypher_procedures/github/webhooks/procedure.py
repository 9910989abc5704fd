"""`github.receiveWebhook`: all that a delivery does to the graph, in one transaction."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from sidecypher import Context, Description, Row, procedure
from sidecypher_procedures.github.webhooks.nodes import merge_nodes
from sidecypher_procedures.github.webhooks.payload import Payload, name_of, part, read_payload
from sidecypher_procedures.github.webhooks.settings import WebhookSettings

# The constraint makes the second of two that come at once wait for the first.
_RECORD: Final = """
    MERGE (w:GithubWebhookEvent {id: $id})
    ON CREATE SET w += $facts, w.createdAt = datetime.transaction(), w.isNew = true
    WITH w, w.isNew IS NOT NULL AS created
    REMOVE w.isNew
    RETURN created
"""

# Who begins runs finds the event by its id: `(run)-[:TRIGGERED_BY]->(event)`.
_BEGIN_RUN: Final = (
    "CALL runs.create($type, {triggeredBy: $id, basedOn: $basedOn}) YIELD id RETURN id"
)


class Received(Row):
    """A delivery that is in the graph."""

    created: Annotated[bool, Description("false when it was there already")]
    run_id: Annotated[str | None, Description("the run that it began, if it began one")]


@procedure("github.receiveWebhook", mode="WRITE", timeout=30.0, admin=True)
async def receive_webhook(
    ctx: Context, delivery: str, event: str, payload: str, received_at: datetime | None = None
) -> Received:
    """Write what GitHub has told by a webhook, unless that was done before."""
    told = read_payload(payload)
    facts = _facts(event, told) | {"receivedAt": received_at or datetime.now(UTC)}
    [recorded] = await ctx.run(_RECORD, id=delivery, facts=facts)
    if not recorded["created"]:
        return Received(created=False, run_id=None)
    settings = ctx.resource(WebhookSettings)
    based_on = await merge_nodes(ctx, event, told) if settings.makes_nodes else {}
    run_id = None
    run_type = settings.run_type(name_of(event, told))
    if run_type is not None:
        [run] = await ctx.run(_BEGIN_RUN, type=run_type, id=delivery, basedOn=based_on)
        run_id = run["id"]
    return Received(created=True, run_id=run_id)


def _facts(event: str, payload: Payload) -> dict[str, Any]:
    """Return what the graph keeps of a delivery: who did what where, and nothing of its texts."""
    number = payload.get("number")
    for kind in ("issue", "pull_request"):
        number = number or part(payload, kind, "number")
    return {
        "event": event,
        "action": payload.get("action"),
        "senderLogin": part(payload, "sender", "login"),
        "senderId": _identifier(part(payload, "sender", "id")),
        "repositoryId": _identifier(part(payload, "repository", "id")),
        "number": number,
    }


def _identifier(number: object) -> str | None:
    return None if number is None else str(number)
