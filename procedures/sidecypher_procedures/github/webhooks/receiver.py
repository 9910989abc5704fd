"""`POST /webhooks/github`: what GitHub tells is checked, and answered before it is written."""

import asyncio
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from sidecypher import WebhookAnswer, WebhookRequest, webhook
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.settings import PREFIX
from sidecypher_procedures.github.webhooks import signature
from sidecypher_procedures.github.webhooks.forgetting import forget
from sidecypher_procedures.github.webhooks.inbox import Delivery, Inbox
from sidecypher_procedures.github.webhooks.payload import (
    FORM,
    JSON,
    Payload,
    excerpt,
    media_type,
    name_of,
    part,
    read_body,
)
from sidecypher_procedures.github.webhooks.settings import WebhookSettings

_EVENT: Final = re.compile(r"[a-z0-9_]{1,100}")
_DELIVERY: Final = re.compile(r"[A-Za-z0-9-]{1,100}")


@webhook("/webhooks/github")
async def receive(request: WebhookRequest) -> WebhookAnswer:
    """Take a delivery of GitHub's."""
    key = request.resource(WebhookSettings).key
    if key is None:
        return WebhookAnswer(
            HTTPStatus.NOT_FOUND, f"webhooks are off: set {PREFIX}WEBHOOK_SECRET at the sidecar"
        )
    given = request.headers.get(signature.HEADER)
    if given is None:
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "there is no X-Hub-Signature-256: give the webhook a secret"
        )
    # Up to 25 MB are read here, for which other calls must not wait.
    if not await asyncio.to_thread(signature.is_signed, key, request.body, given):
        return WebhookAnswer(
            HTTPStatus.UNAUTHORIZED, "X-Hub-Signature-256 is not made with the sidecar's secret"
        )
    return await _read(request)


async def _read(request: WebhookRequest) -> WebhookAnswer:
    """Take a delivery whose signature is right."""
    event = request.headers.get("x-github-event", "")
    delivery = request.headers.get("x-github-delivery", "")
    if not _EVENT.fullmatch(event) or not _DELIVERY.fullmatch(delivery):
        return WebhookAnswer(
            HTTPStatus.BAD_REQUEST, "X-GitHub-Event or X-GitHub-Delivery is missing or is none"
        )
    content_type = request.headers.get("content-type", "")
    if media_type(content_type) not in {JSON, FORM}:
        return WebhookAnswer(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the content type is neither {JSON} nor {FORM}"
        )
    try:
        payload = await asyncio.to_thread(read_body, request.body, content_type)
    except InvalidWebhook as error:
        return WebhookAnswer(HTTPStatus.BAD_REQUEST, error.message)
    if event == "ping":
        return WebhookAnswer(HTTPStatus.OK, "pong")
    return _take(request, event, delivery, payload)


def _take(request: WebhookRequest, event: str, delivery: str, payload: Payload) -> WebhookAnswer:
    """Do at once what needs no graph, and leave the rest to the inbox."""
    forget(request.resource(GithubClient), event, payload)
    run_type = request.resource(WebhookSettings).run_type(name_of(event, payload))
    if part(payload, "repository", "id") is None and run_type is None:
        return WebhookAnswer(HTTPStatus.ACCEPTED, "ignored: it is about no repository")
    received = Delivery(delivery, event, excerpt(payload), datetime.now(UTC))
    if not request.resource(Inbox).put(received, request):
        return WebhookAnswer(
            HTTPStatus.SERVICE_UNAVAILABLE, "too many deliveries wait for Neo4j: send it again"
        )
    return WebhookAnswer(HTTPStatus.ACCEPTED, "queued")
