"""Webhook deliveries from GitHub: checked and stored on arrival, then written into the graph."""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from sidecypher import Context, WebhookAnswer, WebhookRequest
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import (
    ShapeError,
    User,
    nested,
    read_identity,
    read_issue,
    read_pull_request,
    read_repository,
)
from sidecypher_procedures.github.errors import InvalidName, InvalidWebhook, WebhooksUnstored
from sidecypher_procedures.github.rows import Received
from sidecypher_procedures.github.settings import PREFIX, WebhookSettings
from sidecypher_procedures.github.store import (
    Reported,
    merge_issue,
    merge_pull_request,
    merge_repository,
)
from sidecypher_procedures.github.webhook_inbox import Delivery, Inbox
from sidecypher_procedures.github.webhook_payload import (
    FORM,
    JSON,
    SIGNATURE_HEADER,
    Payload,
    addresses,
    excerpt,
    is_signed,
    media_type,
    name_of,
    read_body,
    read_payload,
)


def forget(client: GithubClient, event: str, payload: Payload) -> None:
    """Drop the cache entries of all subjects of a delivery, by their current and former names.

    Repeating it, or another order than GitHub's, is harmless: the data is fetched again.
    """
    for owner, repo, number, extent in addresses(event, payload):
        # An invalid name cannot be a key of the cache.
        with contextlib.suppress(InvalidName):
            client.invalidate(owner, repo, number, extent=extent)


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
    # Logins in a delivery are valid at the latest time in it.
    at = max((time for time in _times(repository, issue, pull) if time is not None), default=None)
    home = Reported(repository, _user(found["repository"]), at)
    # GitHub returns a pull request as an issue too, with another id.
    if issue and not issue["is_pull_request"]:
        await merge_issue(ctx, Reported(issue, _user(found["issue"]), at), home)
        return {"repository": repository["id"], "issue": issue["id"]}
    if pull:
        await merge_pull_request(ctx, Reported(pull, _user(found["pull_request"]), at), home)
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


_EVENT: Final = re.compile(r"[a-z0-9_]{1,100}")
_DELIVERY: Final = re.compile(r"[A-Za-z0-9-]{1,100}")


_SIGNATURE: Final = re.compile(r"sha256=[0-9a-f]{64}")


def check_headers(headers: Mapping[str, str]) -> WebhookAnswer | None:
    """Return the refusal of a request that GitHub did not send, before its body is read."""
    given = headers.get(SIGNATURE_HEADER)
    if given is None:
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "there is no X-Hub-Signature-256: give the webhook a secret"
        )
    if not _SIGNATURE.fullmatch(given):
        return WebhookAnswer(HTTPStatus.UNAUTHORIZED, "X-Hub-Signature-256 is not a signature")
    event, delivery = headers.get("x-github-event", ""), headers.get("x-github-delivery", "")
    if not _EVENT.fullmatch(event) or not _DELIVERY.fullmatch(delivery):
        return WebhookAnswer(
            HTTPStatus.BAD_REQUEST, "X-GitHub-Event or X-GitHub-Delivery is missing or malformed"
        )
    if media_type(headers.get("content-type", "")) not in {JSON, FORM}:
        return WebhookAnswer(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the content type is neither {JSON} nor {FORM}"
        )
    return None


def check_signature(request: WebhookRequest) -> WebhookAnswer | None:
    """Return the refusal of a request that was not signed with the secret."""
    key = request.resource(WebhookSettings).key
    if key is None:
        return WebhookAnswer(
            HTTPStatus.NOT_FOUND, f"webhooks are off: set {PREFIX}WEBHOOK_SECRET at the sidecar"
        )
    if not is_signed(key, request.body, request.headers[SIGNATURE_HEADER]):
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "X-Hub-Signature-256 is not made with the sidecar's secret"
        )
    return None


async def receive_delivery(request: WebhookRequest) -> WebhookAnswer:
    """Receive a delivery whose signature is valid."""
    event = request.headers["x-github-event"]
    content_type = request.headers["content-type"]
    try:
        payload = await asyncio.to_thread(read_body, request.body, content_type)
    except InvalidWebhook as error:
        return WebhookAnswer(HTTPStatus.BAD_REQUEST, error.message)
    if event == "ping":
        return WebhookAnswer(HTTPStatus.OK, "pong")
    has_effect = request.resource(WebhookSettings).concerns_graph(name_of(event, payload))
    concerns_graph = nested(payload, "repository", "id") is not None or has_effect
    if concerns_graph:
        await _store(request, event, payload)
    # Before the answer, so that later reads get current data.
    forget(request.resource(GithubClient), event, payload)
    content = "queued" if concerns_graph else "ignored: it is not about a repository"
    return WebhookAnswer(HTTPStatus.ACCEPTED, content)


async def _store(request: WebhookRequest, event: str, payload: Payload) -> None:
    id_ = request.headers["x-github-delivery"]
    repository = _identifier(nested(payload, "repository", "id")) or ""
    now = datetime.now(UTC)
    delivery = Delivery(id_, event, excerpt(payload), now, repository=repository)
    try:
        await request.resource(Inbox).put(delivery, request.home)
    except WebhooksUnstored as error:
        facts = {"delivery": id_, "webhook": event, "reason": error.message}
        request.log.error("webhook not stored", **facts)  # noqa: TRY400 - the reason says it all
        raise


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
    run_id = None
    run_type = settings.run_type(name)
    if run_type is not None:
        [run] = await ctx.run(_BEGIN_RUN, type=run_type, id=delivery, basedOn=based_on)
        run_id = run["id"]
    session_id = await _advance_session(ctx, settings, delivery, event, content)
    return Received(created=True, run_id=run_id, session_id=session_id)


async def _advance_session(
    ctx: Context, settings: WebhookSettings, delivery: str, event: str, payload: Payload
) -> str | None:
    """Start or answer the session that is set for an event; return its id, or None."""
    name = name_of(event, payload)
    facts = _session_input(delivery, event, payload)
    thing = facts["thing"] or delivery
    records: list[Any] = []
    if (workflow := settings.answered(name)) is not None and facts["text"] is not None:
        parameters = {"id": f"{workflow}:{thing}", "answer": facts["text"]}
        records = list(await ctx.run(_ANSWER, **parameters))
    if not records and (workflow := settings.started(name)) is not None:
        parameters = {"workflow": workflow, "id": f"{workflow}:{thing}", "input": facts}
        records = list(await ctx.run(_START_SESSION, **parameters))
    return records[0]["id"] if records else None


def _session_input(delivery: str, event: str, payload: Payload) -> Fields:
    """Return what a session that a delivery starts gets to know."""
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
        "senderId": _identifier(nested(payload, "sender", "id")),
        "repositoryId": _identifier(nested(payload, "repository", "id")),
        "number": number,
    }


def _identifier(number: object) -> str | None:
    return None if number is None else str(number)
