"""The MCP server over HTTP: on loopback, for programs that know its token."""

import hmac
import os
import signal
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sidecypher_procedures.agents.errors import McpCannotListen, TokenFileRefused

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

PATH: Final = "/mcp"

STOP_SECONDS: Final = 3
"""Time for answers under way when the server stops; then their calls are cancelled."""

KEEP_SECONDS: Final = 75
"""Time after which an idle connection is closed: later than clients do, which then never send a
request on a connection that is being closed."""

_PERMISSIONS_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def listen(port: int) -> socket.socket:
    """Listen on loopback.

    Args:
        port: The port; 0 picks a free one.

    Raises:
        McpCannotListen: The port is used.
    """
    # asyncio turns Nagle's algorithm off, but only where the protocol is named.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        # From now on a client waits for the server instead of being refused.
        listener.listen()
    except OSError as error:
        listener.close()
        raise McpCannotListen(
            f"`sidecypher mcp` cannot listen on port {port}: {error.strerror}"
        ) from None
    return listener


def read_token(file: Path) -> bytes:
    """Read the token in a file that only its owner can read.

    Raises:
        TokenFileRefused: The file cannot be read, is empty, or other accounts can use it.
    """
    try:
        with file.open("rb") as opened:
            facts = os.fstat(opened.fileno())
            token = opened.read().strip()
    except OSError as error:
        raise TokenFileRefused(
            f"The token file `{file.name}` cannot be read: {error.strerror}"
        ) from None
    if facts.st_uid != os.geteuid() or facts.st_mode & _PERMISSIONS_OF_OTHERS:
        raise TokenFileRefused(f"Other accounts can use the token file `{file.name}`")
    if not token:
        raise TokenFileRefused(f"The token file `{file.name}` is empty")
    return token


async def serve(server: "Server[Any]", listener: socket.socket, token: bytes) -> None:
    """Serve MCP until SIGTERM or SIGINT arrives.

    Calls under way then have 3 seconds to end if their clients wait for plain JSON. Those with an
    open event stream are cancelled at once.
    """
    port = listener.getsockname()[1]
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        # A web page sends its Origin. After DNS rebinding it would also send its own Host.
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    app.user_middleware.append(Middleware(_TokenCheck, token=token))
    config = uvicorn.Config(
        app,
        ws="none",
        # Its log lines may hold what a client has sent.
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    # When uvicorn has stopped, it raises the signal again, for the handler that was there before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    await uvicorn.Server(config).serve(sockets=[listener])


class _TokenCheck:
    """Middleware that refuses requests without the token, before it reads their bodies."""

    def __init__(self, app: ASGIApp, token: bytes) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not self._is_allowed(Headers(scope=scope)):
            refusal = Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        token = credentials.strip().encode("latin-1")
        return scheme.lower() == "bearer" and hmac.compare_digest(token, self._token)
