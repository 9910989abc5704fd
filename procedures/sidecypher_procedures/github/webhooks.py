"""A delivery of GitHub's: checked and stored when it comes, then written into the graph."""

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
    part,
    read_body,
    read_payload,
)


def forget(client: GithubClient, event: str, payload: Payload) -> None:
    """Drop what the cache has of all that a delivery is about, by its old names and its new ones.

    Doing it twice, or in another order than GitHub sent, does no harm: it is asked for again.
    """
    for owner, repo, number, extent in addresses(event, payload):
        # What cannot be a name is no key of the cache either.
        with contextlib.suppress(InvalidName):
            client.invalidate(owner, repo, number, extent=extent)


Fields = dict[str, Any]

# What these are about is not there any more, or is another one elsewhere.
_GONE: Final = frozenset({"repository.deleted", "issues.deleted", "issues.transferred"})


async def merge_nodes(ctx: Context, event: str, payload: Payload) -> dict[str, str]:
    """Write the nodes of a delivery's repository, issue and pull request, if it has them.

    Returns:
        The ids of its `repository` and `issue`, those that have a node: what a run that it begins
        is based on.

    Raises:
        InvalidWebhook: One of them has a shape that GitHub never gives it.
    """
    found = {name: part(payload, name) for name in ("repository", "issue", "pull_request")}
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
    # What an event says of people is as of the latest thing that has happened by then.
    at = max((time for time in _times(repository, issue, pull) if time is not None), default=None)
    home = Reported(repository, _user(found["repository"]), at)
    # GitHub gives a pull request as an issue too, of an id that is not the pull request's.
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
    """Write as text what a push, unlike all others, has as seconds."""
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
    """Refuse by its headers what GitHub never sends, before its body is read."""
    given = headers.get(SIGNATURE_HEADER)
    if given is None:
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "there is no X-Hub-Signature-256: give the webhook a secret"
        )
    if not _SIGNATURE.fullmatch(given):
        return WebhookAnswer(HTTPStatus.UNAUTHORIZED, "X-Hub-Signature-256 is no such signature")
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


async def receive_delivery(request: WebhookRequest) -> WebhookAnswer:
    """Take a delivery of GitHub's."""
    key = request.resource(WebhookSettings).key
    if key is None:
        return WebhookAnswer(
            HTTPStatus.NOT_FOUND, f"webhooks are off: set {PREFIX}WEBHOOK_SECRET at the sidecar"
        )
    # Up to 25 MB are read here, for which other calls must not wait.
    given = request.headers[SIGNATURE_HEADER]
    if not await asyncio.to_thread(is_signed, key, request.body, given):
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "X-Hub-Signature-256 is not made with the sidecar's secret"
        )
    return await _read(request)


async def _read(request: WebhookRequest) -> WebhookAnswer:
    """Take a delivery whose signature is right."""
    event = request.headers["x-github-event"]
    content_type = request.headers["content-type"]
    try:
        payload = await asyncio.to_thread(read_body, request.body, content_type)
    except InvalidWebhook as error:
        return WebhookAnswer(HTTPStatus.BAD_REQUEST, error.message)
    if event == "ping":
        return WebhookAnswer(HTTPStatus.OK, "pong")
    run_type = request.resource(WebhookSettings).run_type(name_of(event, payload))
    concerns_graph = part(payload, "repository", "id") is not None or run_type is not None
    if concerns_graph:
        await _store(request, event, payload)
    # Before the answer: whoever reads after it gets what GitHub says now.
    forget(request.resource(GithubClient), event, payload)
    told = "queued" if concerns_graph else "ignored: it is about no repository"
    return WebhookAnswer(HTTPStatus.ACCEPTED, told)


async def _store(request: WebhookRequest, event: str, payload: Payload) -> None:
    id_ = request.headers["x-github-delivery"]
    delivery = Delivery(id_, event, excerpt(payload), datetime.now(UTC))
    try:
        await request.resource(Inbox).put(delivery, request.home)
    except WebhooksUnstored as error:
        facts = {"delivery": id_, "webhook": event, "reason": error.message}
        request.log.error("webhook not stored", **facts)  # noqa: TRY400 - the reason says it all
        raise


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


async def write_delivery(
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
