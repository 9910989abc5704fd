"""What GitHub posts: checked, stored, and forgotten by the cache before the answer."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from sidecypher import WebhookAnswer, WebhookRequest
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import nested
from sidecypher_procedures.github.errors import InvalidName, InvalidWebhook, WebhooksUnstored
from sidecypher_procedures.github.settings import PREFIX, WebhookSettings
from sidecypher_procedures.github.webhooks.payload import (
    FORM,
    JSON,
    SIGNATURE_HEADER,
    Payload,
    addresses,
    excerpt,
    identifier,
    is_signed,
    media_type,
    name_of,
    read_body,
)
from sidecypher_procedures.github.webhooks.queue import Delivery
from sidecypher_procedures.github.webhooks.writing import Inbox

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
    # Before the answer, so that later reads get current data, and whether it can be stored or not.
    forget(request.resource(GithubClient), event, payload)
    if concerns_graph:
        await _store(request, event, payload)
    content = "queued" if concerns_graph else "ignored: it is not about a repository"
    return WebhookAnswer(HTTPStatus.ACCEPTED, content)


async def _store(request: WebhookRequest, event: str, payload: Payload) -> None:
    id_ = request.headers["x-github-delivery"]
    repository = identifier(nested(payload, "repository", "id")) or ""
    now = datetime.now(UTC)
    delivery = Delivery(id_, event, excerpt(payload), now, repository=repository)
    try:
        await request.resource(Inbox).put(delivery, request.home)
    except WebhooksUnstored as error:
        facts = {"delivery": id_, "webhook": event, "reason": error.message}
        request.log.error("webhook not stored", **facts)  # noqa: TRY400 - the reason says it all
        raise


def forget(client: GithubClient, event: str, payload: Payload) -> None:
    """Drop the cache entries of all subjects of a delivery, by their current and former names.

    Repeating it, or another order than GitHub's, is harmless: the data is fetched again.
    """
    for owner, repo, number, extent in addresses(event, payload):
        # An invalid name cannot be a key of the cache.
        with contextlib.suppress(InvalidName):
            client.invalidate(owner, repo, number, extent=extent)
