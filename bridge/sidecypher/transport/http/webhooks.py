"""Webhooks over HTTP: limits around authors' functions, which authenticate senders themselves."""

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sidecypher.calls.executors.loop import EventLoop, Job
from sidecypher.errors import DeadlineExceeded, ProcedureFailed, RowError, SidecarStopping
from sidecypher.host.threads import in_thread
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.webhooks import PREFIX, Webhook, WebhookAnswer, WebhookRequest
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.problems import HttpBusy, RequestRefused
from sidecypher.transport.http.request_bodies import BodyMemory

WEBHOOK_BYTES: Final = 25_000_000
"""Largest body of a request to a webhook; GitHub sends no larger ones."""

WEBHOOK_SECONDS: Final = 10.0
"""Longest time for a webhook to answer."""

BODIES_BYTES: Final = 200_000_000
"""Most bytes of all bodies together that arrive, wait, or are being answered."""

MOST_WEBHOOKS: Final = 8
"""Most requests to webhooks that are answered at a time."""

SMALL_BYTES: Final = 1_000_000
MOST_LARGE: Final = 2
"""Most signatures of larger bodies that are verified at a time."""

_WITHOUT_BODY: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
"""Statuses whose answer ends after its headers (RFC 9110)."""

PLACE_SECONDS: Final = 8.0
"""Longest wait of a further request for its turn; senders give up after 10 s."""


class WebhookApi:
    """The routes under `/webhooks`.

    Args:
        webhooks: Returns those in service now, by path.
        stopping: Returns whether the sidecar has stopped accepting requests.
        home: The sidecar's data directory.
    """

    def __init__(
        self,
        webhooks: Callable[[], Mapping[str, Webhook]],
        loop: EventLoop,
        resources: Resources,
        telemetry: Telemetry,
        stopping: Callable[[], bool],
        *,
        home: Path,
    ) -> None:
        self._webhooks = webhooks
        self._loop = loop
        self._resources = resources
        self._telemetry = telemetry
        self._stopping = stopping
        self._home = home
        # One event loop serves all requests, so there is nothing to lock.
        self._places = asyncio.Semaphore(MOST_WEBHOOKS)
        self._large = asyncio.Semaphore(MOST_LARGE)
        self._body_memory = BodyMemory(BODIES_BYTES)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route(PREFIX + "{name:path}", self._receive, methods=["POST"])]

    async def _receive(self, request: Request) -> Response:
        webhook = self._webhooks().get(request.url.path)
        if webhook is None:
            raise RequestRefused(
                "The sidecar has no webhook of this path", status=HTTPStatus.NOT_FOUND
            )
        if self._stopping():
            raise SidecarStopping("The sidecar stops", retryable=True)
        answer = None
        if webhook.check is not None:
            answer = _refusal(webhook, "check", webhook.check(request.headers))
        # Before the semaphore: an unfinished body does not occupy a place.
        if answer is None:
            try:
                async with self._body_memory.read(request, WEBHOOK_BYTES) as body:
                    posted = WebhookRequest(self._home, self._resources, request.headers, body)
                    answer = await self._verify(webhook, posted)
                    if answer is None:
                        async with self._place():
                            answer = await self._run(webhook, posted)
            except HttpBusy:
                self._telemetry.rejected("request refused", "busy")
                raise
        if answer.status >= HTTPStatus.BAD_REQUEST:
            self._telemetry.rejected(
                "request refused", "webhook", path=webhook.name, status=str(answer.status)
            )
        if answer.status in _WITHOUT_BODY:
            return Response(status_code=answer.status)
        return PlainTextResponse(answer.text and answer.text + "\n", answer.status)

    async def _verify(self, webhook: Webhook, request: WebhookRequest) -> WebhookAnswer | None:
        """Return the refusal of a request that its sender has not signed."""
        if webhook.verify is None:
            return None
        # Small bodies never wait for the signatures of large ones.
        is_large = len(request.body) > SMALL_BYTES
        async with self._large if is_large else contextlib.nullcontext():
            refusal = await asyncio.wrap_future(
                in_thread(partial(webhook.verify, request), "sidecypher-webhook")
            )
        return _refusal(webhook, "verify", refusal)

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Wait for one of the places, and hold it.

        Raises:
            HttpBusy: None was free in time.
        """
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise HttpBusy(
                "As many webhooks are being answered as may be",
                hint="Send it again.",
                retryable=True,
            ) from None
        try:
            yield
        finally:
            self._places.release()

    async def _run(self, webhook: Webhook, request: WebhookRequest) -> WebhookAnswer:
        """Run it on the sidecar's event loop; if that is blocked, this one goes on."""
        ended: Future[Any] = Future()
        # It cannot be cancelled from now on, so its result can always be set.
        ended.set_running_or_notify_cancel()

        def finish(job: Job) -> None:
            if job.error is None:
                ended.set_result(job.result)
            elif isinstance(job.error, Exception):
                ended.set_exception(job.error)
            else:
                # Such as SystemExit, which here would end the server.
                ended.set_exception(
                    ProcedureFailed(f"The webhook `{webhook.name}` was ended before its answer")
                )

        job = self._loop.submit(lambda: webhook.function(request), contextvars.Context(), finish)
        try:
            async with asyncio.timeout(WEBHOOK_SECONDS):
                answer = await asyncio.wrap_future(ended)
        except TimeoutError:
            self._loop.cancel(job)
            raise DeadlineExceeded(
                f"The webhook `{webhook.name}` did not answer within {WEBHOOK_SECONDS:.0f} s",
                hint="Send it again.",
            ) from None
        if not isinstance(answer, WebhookAnswer):
            raise RowError(
                f"The webhook `{webhook.name}` returned a {type(answer).__name__}",
                hint="Return a `WebhookAnswer`.",
            )
        return answer


def _refusal(webhook: Webhook, option: str, answer: object) -> WebhookAnswer | None:
    """Return what `check` or `verify` has returned.

    Raises:
        RowError: It is neither None nor an answer, so the request is not let through.
    """
    if answer is None or isinstance(answer, WebhookAnswer):
        return answer
    raise RowError(
        f"`{option}` of the webhook `{webhook.name}` returned a {type(answer).__name__}",
        hint="Return a `WebhookAnswer` to refuse the request, else None.",
    )
