"""Webhooks over HTTP: bounds around authors' functions, which check by themselves who posts."""

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sidecypher.errors import DeadlineExceeded, ProcedureFailed, RowError, SidecarStopping
from sidecypher.executors import EventLoop
from sidecypher.executors.loop import Job
from sidecypher.resources import Resources
from sidecypher.telemetry import Telemetry
from sidecypher.transport.bodies import read_body
from sidecypher.transport.problems import HttpBusy, RequestRefused
from sidecypher.webhooks import PREFIX, Webhook, WebhookAnswer, WebhookRequest

WEBHOOK_BYTES: Final = 25_000_000
"""Longest body that is posted to a webhook; GitHub sends none that is longer."""

WEBHOOK_SECONDS: Final = 10.0
"""How long a webhook may take to answer."""

MOST_WEBHOOKS: Final = 8
"""Requests to webhooks that are read and answered at once: each may hold 25 MB."""

PLACE_SECONDS: Final = 3.0
"""How long a further request waits for one of them to be answered; senders give up after 10."""

MOST_WAITING: Final = 32
"""Requests that wait so: each has one of the server's connections, which health needs as well."""


class WebhookApi:
    """The routes under `/webhooks`.

    Args:
        webhooks: Gives those in service now, by path.
        loop: Where they run.
        resources: What they share with procedures.
        telemetry: Told of what is refused.
        stopping: Tells whether the sidecar takes nothing any more.
    """

    def __init__(
        self,
        webhooks: Callable[[], Mapping[str, Webhook]],
        loop: EventLoop,
        resources: Resources,
        telemetry: Telemetry,
        stopping: Callable[[], bool],
    ) -> None:
        self._webhooks = webhooks
        self._loop = loop
        self._resources = resources
        self._telemetry = telemetry
        self._stopping = stopping
        # One event loop serves all requests, so there is nothing to lock.
        self._places = asyncio.Semaphore(MOST_WEBHOOKS)
        self._waiting = 0

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route(PREFIX + "{name:path}", self._receive, methods=["POST"])]

    async def _receive(self, request: Request) -> Response:
        webhook = self._webhooks().get(request.url.path)
        if webhook is None:
            raise RequestRefused(
                "The sidecar has no webhook of this path", status=HTTPStatus.NOT_FOUND
            )
        async with self._place():
            if self._stopping():
                raise SidecarStopping("The sidecar stops", retryable=True)
            body = await read_body(request, WEBHOOK_BYTES)
            answer = await self._ask(
                webhook, WebhookRequest(request.headers, body, self._resources)
            )
        if answer.status >= HTTPStatus.BAD_REQUEST:
            self._telemetry.rejected(
                "request refused", "webhook", path=webhook.name, status=str(answer.status)
            )
        return PlainTextResponse(answer.text and answer.text + "\n", answer.status)

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Hold one of the places.

        Raises:
            HttpBusy: None was free in time, or too many wait for one.
        """
        if self._places.locked() and self._waiting >= MOST_WAITING:
            raise self._busy()
        self._waiting += 1
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()

    def _busy(self) -> HttpBusy:
        self._telemetry.rejected("request refused", "busy")
        return HttpBusy(
            "As many webhooks are being answered as may be", hint="Send it again.", retryable=True
        )

    async def _ask(self, webhook: Webhook, request: WebhookRequest) -> WebhookAnswer:
        """Have the event loop run it, which may be blocked: that must not block this one too."""
        ended: Future[Any] = Future()
        # From now on it cannot be cancelled, so that its end can be told whenever it comes.
        ended.set_running_or_notify_cancel()

        def tell(job: Job) -> None:
            if job.error is None:
                ended.set_result(job.result)
            elif isinstance(job.error, Exception):
                ended.set_exception(job.error)
            else:
                # Such as SystemExit, which here would end the server.
                ended.set_exception(
                    ProcedureFailed(f"The webhook `{webhook.name}` was ended before its answer")
                )

        job = self._loop.submit(lambda: webhook.body(request), contextvars.Context(), tell)
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
