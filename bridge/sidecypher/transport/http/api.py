"""Procedures over HTTP: dispatched like the plugin's calls, but without a transaction.

Each request must carry the run folder's token for HTTP.
"""

import math
import threading

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.host.limits import Limits
from sidecypher.sdk.registry import Kind
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http._exchange import Exchange, HttpCall
from sidecypher.transport.http.openapi import STREAM_TYPE, openapi
from sidecypher.transport.http.problems import HttpBusy, RequestRefused
from sidecypher.transport.http.request_bodies import check_content, read_body
from sidecypher.transport.http.tokens import TokenCheck


class HttpApi:
    """The routes under `/v1`, and `/openapi.json`.

    Args:
        limits: Largest size of a request, and of an answer in one piece.
        calls: Most calls at a time.
        stall_seconds: Longest time that a client may leave rows unread.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        token: bytes,
        limits: Limits,
        telemetry: Telemetry,
        calls: int,
        stall_seconds: float,
    ) -> None:
        self._dispatcher = dispatcher
        self._authorize = TokenCheck(token, telemetry)
        self._limits = limits
        self._telemetry = telemetry
        self._slots = threading.Semaphore(calls)
        self._stall_seconds = stall_seconds

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/call/{name}", _Calls(self, "procedure"), methods=["POST"]),
            Route("/v1/evaluate/{name}", _Calls(self, "function"), methods=["POST"]),
            Route("/v1/procedures", self._catalogue, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
        ]

    async def _catalogue(self, request: Request) -> Response:
        self._authorize(request)
        catalogue = self._dispatcher.registry.catalogue
        return Response(catalogue.to_json(), media_type="application/json")

    async def _openapi(self, request: Request) -> Response:
        self._authorize(request)
        document = openapi(self._dispatcher.registry)
        return Response(msgspec.json.encode(document), media_type="application/json")

    async def call(self, request: Request, name: str, kind: Kind, send: Send) -> None:
        """Answer one request for a call.

        Raises:
            SidecypherError: The error to send to the client, if it has not received rows yet.
        """
        self._authorize(request)
        procedure = self._dispatcher.registry.get(name, kind)
        check_content(request)
        timeout = _timeout(request, procedure.entry.timeout_ms / 1000)
        if not self._slots.acquire(blocking=False):
            self._telemetry.rejected("request refused", "busy")
            raise HttpBusy("As many calls by HTTP are under way as may be", retryable=True)
        call = HttpCall(self._dispatcher, procedure, request.headers.get("traceparent", ""))
        exchange = Exchange(call, send, timeout, self._stall_seconds, self._limits.message_bytes)
        try:
            body = await read_body(
                request,
                self._limits.message_bytes,
                hint="Send smaller arguments, or raise `max_line_bytes`.",
            )
            await exchange.run(body, request.receive, streams=_wants_stream(request))
        finally:
            # A function that does not stop keeps its slot, which limits the number of such ones.
            exchange.when_idle(self._slots.release)


class _Calls:
    """ASGI endpoint for calls of one kind; it writes rows itself, without a Starlette response."""

    def __init__(self, api: HttpApi, kind: Kind) -> None:
        self._api = api
        self._kind = kind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._api.call(
            Request(scope, receive), scope["path_params"]["name"], self._kind, send
        )


def _timeout(request: Request, longest: float) -> float:
    """Return the seconds a call may take: the client's `timeout`, but not above its procedure's."""
    given = request.query_params.get("timeout")
    if given is None:
        return longest
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise RequestRefused("The parameter `timeout` is not a number of seconds above 0")
    return min(seconds, longest)


def _wants_stream(request: Request) -> bool:
    accepted = request.headers.get("accept", "").split(",")
    return any(each.partition(";")[0].strip().lower() == STREAM_TYPE for each in accepted)
