"""The sidecar's HTTP server: on loopback, with its own thread and loop, closed to web pages."""

import asyncio
import re
import socket
import threading
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sidecypher.errors import ListenError, SidecypherError
from sidecypher.sdk.webhooks import PREFIX as WEBHOOKS
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.problems import OriginRefused, RequestRefused, problem_response

CALLS: Final = "/v1/calls/"
"""Path below which calls are cancelled; the sidecar's own page may post to it."""

SESSIONS: Final = "/v1/sessions/"
"""Path below which requests of sessions are answered; the sidecar's own page may post to it."""

MOST_CONNECTIONS: Final = 256
"""Most open HTTP connections; above that, the one that was silent for longest is closed."""

_LOCAL_HOST: Final = re.compile(
    rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?\Z", re.IGNORECASE
)

CLOSE_SECONDS: Final = 2.0
"""Longest time for running requests to end when the server stops."""


class HttpServer:
    """HTTP server on loopback.

    It has its own event loop, which no route may block. So `/readyz` answers even if a function
    blocks the sidecar's event loop.

    Attributes:
        port: The port it listens on.
    """

    def __init__(self, routes: Sequence[BaseRoute], port: int, telemetry: Telemetry) -> None:
        """Listen.

        Raises:
            ListenError: The port is taken.
        """
        # asyncio turns Nagle's algorithm off, but only where the protocol is named: an answer has
        # two parts, and the second one would wait 40 ms for the client to acknowledge the first.
        self._socket = socket.socket(proto=socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            # From now on a client waits for `start` instead of being refused.
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise ListenError(
                f"HTTP cannot listen on port {port}: {error.strerror}",
                hint="Choose another port with `--http-port` or SIDECYPHER_HTTP_PORT.",
            ) from None
        self.port: Final[int] = self._socket.getsockname()[1]
        connections = _Connections()
        app = Starlette(
            routes=routes,
            middleware=[Middleware(_Guard, connections=connections, telemetry=telemetry)],
            exception_handlers={HTTPException: _error_response, SidecypherError: _error_response},
        )
        config = uvicorn.Config(
            app,
            http=connections.protocol(),
            ws="none",
            lifespan="off",
            # Its log lines are not JSON, and those about exceptions hold their text.
            log_config=None,
            log_level="critical",
            access_log=False,
            # Otherwise X-Forwarded-For would select the connection to abort.
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="sidecypher-http", daemon=True)

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()

    def _run(self) -> None:
        # `serve` with a socket of ours installs no signal handlers outside of the main thread.
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(CLOSE_SECONDS)
        self._socket.close()


class _Connections:
    """Open connections, of which silent ones are closed before they reach the limit."""

    def __init__(self) -> None:
        self._open: dict[Any, asyncio.BaseTransport] = {}
        self._busy: set[Any] = set()

    def protocol(self) -> type[H11Protocol]:
        """Return uvicorn's protocol, which registers its connections here."""
        connections = self

        class Counted(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                connections.opened(transport)
                super().connection_made(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.lost(self.transport)
                super().connection_lost(exc)

        return Counted

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """Add a connection; at the limit, close a silent one."""
        if len(self._open) >= MOST_CONNECTIONS:
            silent = next((peer for peer in self._open if peer not in self._busy), None)
            # All of them wait for answers, so the new one is closed.
            evicted = transport if silent is None else self._open[silent]
            evicted.abort()  # type: ignore[attr-defined]
        self._open[transport.get_extra_info("peername")] = transport

    def lost(self, transport: asyncio.BaseTransport) -> None:
        """Remove a connection."""
        self._open.pop(transport.get_extra_info("peername"), None)

    def begin(self, peer: Any) -> None:
        """Mark the connection of `peer` as busy: its request is being answered."""
        self._busy.add(peer)

    def end(self, peer: Any) -> None:
        """Mark the connection as silent since now: its request has been answered."""
        self._busy.discard(peer)
        if peer in self._open:
            self._open[peer] = self._open.pop(peer)


class _Guard:
    """Middleware that accepts programs of this machine only, and refuses web pages.

    Browsers add `Origin` to what a page's scripts send. A page whose own name resolves to 127.0.0.1
    (DNS rebinding) has that name in `Host`. One page may send requests: the sidecar's console, and
    only to cancel calls and to answer requests of sessions.
    """

    def __init__(self, app: ASGIApp, connections: _Connections, telemetry: Telemetry) -> None:
        self._app = app
        self._connections = connections
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        peer = scope["client"]
        if scope["path"].startswith(WEBHOOKS):
            receive = self._busy_after_body(peer, receive)
        else:
            self._connections.begin(peer)
        try:
            await self._answer(scope, receive, send)
        finally:
            self._connections.end(peer)

    def _busy_after_body(self, peer: Any, receive: Receive) -> Receive:
        """Treat a connection as silent until its whole body has arrived.

        Otherwise unknown senders could occupy all connections with unfinished bodies.
        """

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                self._connections.begin(peer)
            return message

        return watched

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        reason = _refusal_reason(scope["path"], scope["headers"])
        if reason is not None:
            self._telemetry.rejected("request refused", "web page")
            refusal = OriginRefused(f"The request {reason}")
            await problem_response(refusal)(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            # Not `exception`: its text may hold data.
            self._telemetry.log.error("request failed", type=type(error).__name__)  # noqa: TRY400
            if started:
                # The answer is cut off here, so that clients do not take it for a complete one.
                raise
            failure = SidecypherError(f"The request failed with {type(error).__name__}")
            await problem_response(failure)(scope, receive, send)


def _refusal_reason(path: str, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    hosts = [value for name, value in headers if name == b"host"]
    # A request that a proxy forwards to a webhook names another host.
    is_local = len(hosts) == 1 and _LOCAL_HOST.match(hosts[0])
    if not is_local and not path.startswith(WEBHOOKS):
        return "names a host that is not this machine"
    origins = [value for name, value in headers if name == b"origin"]
    is_page_path = path.startswith((CALLS, SESSIONS))
    if origins and not (is_page_path and origins == [b"http://" + hosts[0]]):
        return "comes from a web page"
    return None


async def _error_response(_request: Request, error: Exception) -> Response:
    if isinstance(error, SidecypherError):
        return problem_response(error)
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus(500)
    refusal = RequestRefused(f"The sidecar has no answer for this: {status.phrase}", status=status)
    response = problem_response(refusal)
    response.headers.update(getattr(error, "headers", None) or {})
    return response
