"""`POST /webhooks/github`: what GitHub sends is checked, stored, and then answered."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from sidecypher import WebhookAnswer, WebhookRequest, webhook
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import InvalidWebhook, WebhooksUnstored
from sidecypher_procedures.github.settings import PREFIX
from sidecypher_procedures.github.webhooks import signature
from sidecypher_procedures.github.webhooks.forgetting import forget
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
from sidecypher_procedures.github.webhooks.spool import Delivery
from sidecypher_procedures.github.webhooks.writing import Inbox, write_all

_EVENT: Final = re.compile(r"[a-z0-9_]{1,100}")
_DELIVERY: Final = re.compile(r"[A-Za-z0-9-]{1,100}")


_SIGNATURE: Final = re.compile(r"sha256=[0-9a-f]{64}")


def check(headers: Mapping[str, str]) -> WebhookAnswer | None:
    """Refuse by its headers what GitHub never sends, before its body is read."""
    given = headers.get(signature.HEADER)
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


@webhook("/webhooks/github", check=check, background=write_all)
async def receive(request: WebhookRequest) -> WebhookAnswer:
    """Take a delivery of GitHub's."""
    key = request.resource(WebhookSettings).key
    if key is None:
        return WebhookAnswer(
            HTTPStatus.NOT_FOUND, f"webhooks are off: set {PREFIX}WEBHOOK_SECRET at the sidecar"
        )
    # Up to 25 MB are read here, for which other calls must not wait.
    given = request.headers[signature.HEADER]
    if not await asyncio.to_thread(signature.is_signed, key, request.body, given):
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
