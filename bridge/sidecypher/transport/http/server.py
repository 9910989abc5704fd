"""The sidecar's HTTP server, with its own thread and loop, closed to web pages.

It listens on loopback. With another address it needs the token for all but health and webhooks.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Sequence
from http import HTTPStatus
from ipaddress import ip_address
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
from sidecypher.host.settings import LOOPBACK
from sidecypher.sdk.webhooks import PREFIX as WEBHOOKS
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.problems import (
    OriginRefused,
    RequestRefused,
    TokenRefused,
    problem_response,
)
from sidecypher.transport.http.tokens import TokenCheck

CALLS: Final = "/v1/calls/"
"""Path below which calls are cancelled; the sidecar's own page may post to it."""

PANELS: Final = "/v1/panels/"
"""Path below which questions are answered; the sidecar's own page may post to it."""

MOST_CONNECTIONS: Final = 256
"""Most open HTTP connections; above that, the one that was silent for longest is closed."""

_HOST: Final = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::\d{1,5})?\Z", re.IGNORECASE)
"""A `Host`: an IPv6 address in brackets, or another address or a name, and perhaps a port."""

_PROBES: Final = frozenset({"/livez", "/readyz"})
_API: Final = "/v1/"

CLOSE_SECONDS: Final = 2.0
"""Longest time for running requests to end when the server stops."""


class HttpServer:
    """HTTP server on loopback, and on one more address if the settings name it.

    It has its own event loop, which no route may block. So `/readyz` answers even if a function
    blocks the sidecar's event loop.

    Attributes:
        port: The port it listens on.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        port: int,
        telemetry: Telemetry,
        *,
        host: str = LOOPBACK,
        authorize: TokenCheck | None = None,
    ) -> None:
        """Listen.

        Args:
            routes: What it serves.
            port: The port; 0 picks a free one.
            telemetry: Counts refused requests.
            host: IP address to listen on besides loopback.
            authorize: Check of the token, which an address that others reach needs.

        Raises:
            ListenError: The port is taken, or this machine has no such address.
        """
        self._sockets = _listen(host, port)
        self.port: Final[int] = self._sockets[0].getsockname()[1]
        connections = _Connections()
        guard = Middleware(
            _Guard,
            connections=connections,
            telemetry=telemetry,
            authorize=None if ip_address(host).is_loopback else authorize,
        )
        app = Starlette(
            routes=routes,
            middleware=[guard],
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
        asyncio.run(self._server.serve(sockets=self._sockets))

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(CLOSE_SECONDS)
        for each in self._sockets:
            each.close()


def _listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for loopback and for `host`, with the same port."""
    # One socket for all addresses of the machine includes loopback.
    is_wildcard = ip_address(host).is_unspecified
    hosts = [host] if is_wildcard else list(dict.fromkeys((LOOPBACK, host)))
    sockets: list[socket.socket] = []
    try:
        for each in hosts:
            family = socket.AF_INET6 if ":" in each else socket.AF_INET
            # asyncio turns Nagle's algorithm off, but only where the protocol is named: an answer
            # has two parts, and the second one would wait 40 ms for the client to acknowledge the
            # first.
            listening = socket.socket(family, proto=socket.IPPROTO_TCP)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # The machine's `bindv6only` would decide whether `::` includes 127.0.0.1.
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not is_wildcard)
            listening.bind((each, sockets[0].getsockname()[1] or port))
            # From now on a client waits for `start` instead of being refused.
            listening.listen()
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ListenError(
            f"HTTP cannot listen on port {port} of {each}: {error.strerror}",
            hint="Choose another port with `--http-port` or SIDECYPHER_HTTP_PORT, or another "
            "address with `--http-host` or SIDECYPHER_HTTP_HOST.",
        ) from None
    return sockets


class _Connections:
    """Open connections, of which silent ones are closed before they reach the limit."""

    def __init__(self) -> None:
        self._open: dict[Any, asyncio.Transport] = {}
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

    def opened(self, transport: asyncio.Transport) -> None:
        """Add a connection; at the limit, close a silent one."""
        if len(self._open) >= MOST_CONNECTIONS:
            silent = next((peer for peer in self._open if peer not in self._busy), None)
            if silent is None:
                # All of them wait for answers, so the new one is closed.
                transport.abort()
                return
            # Its end is told later, and more connections may be opened before.
            self._open.pop(silent).abort()
        self._open[_peer(transport)] = transport

    def lost(self, transport: asyncio.BaseTransport) -> None:
        """Remove a connection."""
        self._open.pop(_peer(transport), None)

    def begin(self, peer: Any) -> None:
        """Mark the connection of `peer` as busy: its request is being answered."""
        self._busy.add(peer)

    def end(self, peer: Any) -> None:
        """Mark the connection as silent since now: its request has been answered."""
        self._busy.discard(peer)
        if peer in self._open:
            self._open[peer] = self._open.pop(peer)


def _peer(transport: asyncio.BaseTransport) -> Any:
    """Return address and port of the other side, as a request has them in `client`."""
    # Those of IPv6 have two more members.
    return (transport.get_extra_info("peername") or ())[:2]


class _Guard:
    """Middleware that refuses web pages, and without the token all programs of other machines.

    Browsers add `Origin` to what a page's scripts send. A page whose own name resolves to the
    address of the sidecar (DNS rebinding) has that name in `Host`, and never has the token. One
    page may send requests: the sidecar's console, and only to cancel calls and to answer questions
    of panels.

    Args:
        authorize: Check of the token, if other machines reach the server. Health needs no token,
            and a webhook checks its sender.
    """

    def __init__(
        self,
        app: ASGIApp,
        connections: _Connections,
        telemetry: Telemetry,
        authorize: TokenCheck | None,
    ) -> None:
        self._app = app
        self._connections = connections
        self._telemetry = telemetry
        self._authorize = authorize

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
        try:
            self._check(scope)
        except SidecypherError as refusal:
            response = problem_response(refusal)
            if isinstance(refusal, TokenRefused) and not scope["path"].startswith(_API):
                # A browser then asks its user for a password.
                response.headers["WWW-Authenticate"] = 'Basic realm="sidecypher"'
            await response(scope, receive, send)
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

    def _check(self, scope: Scope) -> None:
        """Refuse a request that may not be answered.

        Raises:
            OriginRefused: It comes from a web page, or may do so.
            TokenRefused: It needs the token, and does not have it.
        """
        path, request = scope["path"], Request(scope)
        reason = _refusal_reason(path, scope["headers"], is_reachable=self._authorize is not None)
        if reason is not None:
            self._telemetry.rejected("request refused", "web page")
            raise OriginRefused(f"The request {reason}")
        if self._authorize is None or path in _PROBES or path.startswith(WEBHOOKS):
            return
        if path.startswith(_API):
            self._authorize(request)
        else:
            self._authorize.check_reader(request)


def _refusal_reason(
    path: str, headers: Sequence[tuple[bytes, bytes]], *, is_reachable: bool
) -> str | None:
    hosts = [value for name, value in headers if name == b"host"]
    # A request that a proxy forwards to a webhook names another host. What needs the token may do
    # so as well: the page of a stranger does not have it.
    is_free = path.startswith(WEBHOOKS) or (is_reachable and path not in _PROBES)
    is_named = len(hosts) == 1 and _is_address(hosts[0], is_reachable=is_reachable)
    if not is_named and not is_free:
        return "names a host that is not this machine"
    origins = [value for name, value in headers if name == b"origin"]
    is_page_path = path.startswith((CALLS, PANELS))
    if origins and not (is_page_path and len(hosts) == 1 and origins == [b"http://" + hosts[0]]):
        return "comes from a web page"
    return None


def _is_address(host: bytes, *, is_reachable: bool) -> bool:
    """Return whether a `Host` is an address that no DNS can make up."""
    found = _HOST.match(host)
    if found is None:
        return False
    name = (found[1] or found[2]).decode("latin-1").lower()
    try:
        return name == "localhost" or ip_address(name).is_loopback or is_reachable
    except ValueError:
        return False


async def _error_response(_request: Request, error: Exception) -> Response:
    if isinstance(error, SidecypherError):
        return problem_response(error)
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus(500)
    refusal = RequestRefused(f"The sidecar has no answer for this: {status.phrase}", status=status)
    response = problem_response(refusal)
    response.headers.update(getattr(error, "headers", None) or {})
    return response
