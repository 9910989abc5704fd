"""What a webhook delivery does in the graph, in one transaction."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.github.entities import (
    ShapeError,
    User,
    nested,
    read_identity,
    read_issue,
    read_pull_request,
    read_repository,
)
from sidecypher_procedures.github.errors import InvalidName, InvalidWebhook
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.rows import Received
from sidecypher_procedures.github.settings import WebhookSettings
from sidecypher_procedures.github.store import (
    Placed,
    Reported,
    merge_issues,
    merge_pull_requests,
    merge_repository,
)
from sidecypher_procedures.github.webhooks.payload import Payload, identifier, name_of, read_payload

Fields = dict[str, Any]

# The subjects of these events do not exist any more, or have moved elsewhere with another id.
_GONE: Final = frozenset({"repository.deleted", "issues.deleted", "issues.transferred"})


async def merge_nodes(ctx: Context, event: str, payload: Payload) -> dict[str, str]:
    """Write the nodes of a delivery's repository, issue and pull request, if it has them.

    Returns:
        The ids of its `repository` and `issue`, if they have a node, as the option `basedOn` of
        `runs.create`.

    Raises:
        InvalidWebhook: One of them has an unexpected shape.
    """
    found = {name: nested(payload, name) for name in ("repository", "issue", "pull_request")}
    if found["repository"] is None or name_of(event, payload) in _GONE:
        return {}
    try:
        repository = read_repository(_with_times(found["repository"]))
        issue = found["issue"] and read_issue(found["issue"])
        pull = found["pull_request"] and read_pull_request(found["pull_request"])
    except ShapeError as error:
        raise InvalidWebhook(f"The payload of the webhook cannot be read: {error}") from None
    if repository["owner"] is None or repository["name"] is None:
        raise InvalidWebhook("The repository of the webhook's payload has no name")
    try:
        Target(Kind.REPOSITORY, repository["owner"], repository["name"])
    except InvalidName as error:
        raise InvalidWebhook(f"The webhook's payload cannot be read: {error}") from None
    # Logins in a delivery are valid at the latest time in it.
    at = max((time for time in _times(repository, issue, pull) if time is not None), default=None)
    home = Reported(repository, _user(found["repository"]), at)
    # GitHub returns a pull request as an issue too, with another id.
    if issue and not issue["is_pull_request"]:
        await merge_issues(ctx, [Placed(Reported(issue, _user(found["issue"]), at), home)])
        return {"repository": repository["id"], "issue": issue["id"]}
    if pull:
        await merge_pull_requests(
            ctx, [Placed(Reported(pull, _user(found["pull_request"]), at), home)]
        )
    else:
        await merge_repository(ctx, home)
    return {"repository": repository["id"]}


def _times(*things: Fields | None) -> Iterator[datetime | None]:
    for thing in things:
        if thing:
            yield thing["updated_at"]
            yield thing.get("pushed_at")


def _user(thing: Any) -> User | None:
    identity = read_identity(thing)
    return identity.user if identity is not None else None


def _with_times(repository: Any) -> Any:
    """Convert the times of a push, which are seconds unlike those of all other events, to text."""
    if not isinstance(repository, dict):
        raise ShapeError("repository")
    seconds = {
        name: datetime.fromtimestamp(repository[name], UTC).isoformat()
        for name in ("created_at", "pushed_at")
        if type(repository.get(name)) is int
    }
    return repository | seconds


# The constraint makes a concurrent delivery with the same id wait.
_RECORD: Final = """
    MERGE (w:GithubWebhookEvent {id: $id})
    ON CREATE SET w += $facts, w.createdAt = datetime.transaction(), w.isNew = true
    WITH w, w.isNew IS NOT NULL AS created
    REMOVE w.isNew
    RETURN created
"""

# `runs.create` finds the event by its id, and writes `(run)-[:TRIGGERED_BY]->(event)`.
_BEGIN_RUN: Final = (
    "CALL runs.create($type, {triggeredBy: $id, basedOn: $basedOn}) YIELD id RETURN id"
)

# The run that an earlier delivery about the same thing has begun.
_APPEND: Final = """
    MATCH (:GithubWebhookEvent {repositoryId: $repositoryId, number: $number})
        <-[:TRIGGERED_BY]-(r:WorkflowRun {type: $type})
    WHERE NOT coalesce(r.state, 'pending') IN ['completed', 'error', 'failed']
    WITH r ORDER BY r.createdAt DESC, r.id LIMIT 1
    CALL runs.append(r.id, {type: 'userMessage', id: $id, content: $text, metadata: $metadata})
    YIELD seq
    RETURN r.id AS id
"""

# An id of the thing, so that a later event finds the session that an earlier one has started.
_START_SESSION: Final = """
    CALL session.start($workflow, {id: $id, input: $input}) YIELD sessionId
    RETURN sessionId AS id
"""
# Only what the request accepts: an error would undo the whole delivery.
_ANSWER: Final = """
    CALL session.awaiting({sessionId: $id, limit: 2}) YIELD requestId, options, schema
    WITH collect({id: requestId, options: options, schema: schema}) AS open
    WHERE size(open) = 1
    WITH open[0] AS request
    WHERE request.schema IS NULL
    AND (request.options IS NULL OR $answer IN request.options)
    CALL session.input($id, $answer, {requestId: request.id}) YIELD sessionId
    RETURN sessionId AS id
"""


async def write_delivery(
    ctx: Context, delivery: str, event: str, payload: str, received_at: datetime | None = None
) -> Received:
    """Write a delivery to the graph, unless it was written before."""
    content = read_payload(payload)
    facts = _facts(event, content) | {"receivedAt": received_at or datetime.now(UTC)}
    [recorded] = await ctx.run(_RECORD, id=delivery, facts=facts)
    if not recorded["created"]:
        return Received(created=False, run_id=None, session_id=None)
    settings = ctx.resource(WebhookSettings)
    name = name_of(event, content)
    based_on = await merge_nodes(ctx, event, content) if settings.makes_nodes else {}
    run_id = await _append(ctx, settings, delivery, event, content)
    if run_id is None and (run_type := settings.run_type(name)) is not None:
        [run] = await ctx.run(_BEGIN_RUN, type=run_type, id=delivery, basedOn=based_on)
        run_id = run["id"]
    session_id = await _advance_session(ctx, settings, delivery, event, content)
    return Received(created=True, run_id=run_id, session_id=session_id)


async def _append(
    ctx: Context, settings: WebhookSettings, delivery: str, event: str, payload: Payload
) -> str | None:
    """Append the text of an event to the run under way that is set for it; return its id."""
    run_type = settings.appended(name_of(event, payload))
    facts = _told(delivery, event, payload)
    if run_type is None or facts["text"] is None or facts["number"] is None:
        return None
    appended = await ctx.run(
        _APPEND,
        type=run_type,
        repositoryId=identifier(nested(payload, "repository", "id")),
        number=facts["number"],
        id=delivery,
        text=facts["text"],
        metadata={name: facts[name] for name in ("event", "action", "sender") if facts[name]},
    )
    return next((record["id"] for record in appended), None)


async def _advance_session(
    ctx: Context, settings: WebhookSettings, delivery: str, event: str, payload: Payload
) -> str | None:
    """Start or answer the session that is set for an event; return its id, or None."""
    name = name_of(event, payload)
    facts = _told(delivery, event, payload)
    thing = facts["thing"] or delivery
    records: list[Any] = []
    if (workflow := settings.answered(name)) is not None and facts["text"] is not None:
        parameters = {"id": f"{workflow}:{thing}", "answer": facts["text"]}
        records = list(await ctx.run(_ANSWER, **parameters))
    if not records and (workflow := settings.started(name)) is not None:
        parameters = {"workflow": workflow, "id": f"{workflow}:{thing}", "input": facts}
        records = list(await ctx.run(_START_SESSION, **parameters))
    return records[0]["id"] if records else None


def _told(delivery: str, event: str, payload: Payload) -> Fields:
    """Return what a run or a session that a delivery concerns gets to know."""
    facts = _facts(event, payload)
    owner = nested(payload, "repository", "owner", "login")
    repo = nested(payload, "repository", "name")
    number = facts["number"]
    subject = "comment" if isinstance(payload.get("comment"), dict) else "issue"
    subject = "pull_request" if subject == "issue" and "pull_request" in payload else subject
    return {
        "delivery": delivery,
        "event": event,
        "action": facts["action"],
        "sender": facts["senderLogin"],
        "owner": owner,
        "repo": repo,
        "number": number,
        "thing": None if number is None else f"{owner}/{repo}#{number}",
        "title": nested(payload, "issue", "title") or nested(payload, "pull_request", "title"),
        "text": nested(payload, subject, "body"),
    }


def _facts(event: str, payload: Payload) -> dict[str, Any]:
    """Return the properties of a delivery in the graph, which have none of its texts."""
    number = payload.get("number")
    for kind in ("issue", "pull_request"):
        number = number or nested(payload, kind, "number")
    return {
        "event": event,
        "action": payload.get("action"),
        "senderLogin": nested(payload, "sender", "login"),
        "senderId": identifier(nested(payload, "sender", "id")),
        "repositoryId": identifier(nested(payload, "repository", "id")),
        "number": number,
    }
