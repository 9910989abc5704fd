"""`/livez`, `/readyz` and `/metrics`, on a loop of their own.

Kubernetes' words: *live* means the process answers; *ready* means it can serve calls.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Final

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sidecypher.errors import ListenError

Check = Callable[[], str | None]
"""Returns None if all is well, else one line that says what is wrong."""


def health_app(checks: Mapping[str, Check], metrics: CollectorRegistry) -> Starlette:
    """Return the HTTP application.

    Args:
        checks: What must hold for calls to be served, by name.
        metrics: What `/metrics` shows.
    """

    async def live(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(request: Request) -> Response:
        found = {name: check() for name, check in checks.items()}
        failed = [name for name, wrong in found.items() if wrong is not None]
        if "verbose" in request.query_params:
            lines = [
                f"[+]{name} ok" if wrong is None else f"[-]{name} failed: {wrong}"
                for name, wrong in found.items()
            ]
        else:
            lines = []
        lines.append("not ready" if failed else "ok")
        return PlainTextResponse("\n".join(lines) + "\n", 503 if failed else 200)

    async def show_metrics(_request: Request) -> Response:
        return Response(generate_latest(metrics), media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/livez", live),
            Route("/readyz", ready),
            Route("/metrics", show_metrics),
        ]
    )


class HealthServer:
    """Serves an application on loopback, on a thread and loop of its own.

    A body that blocks the sidecar's event loop must not make its health unreadable.

    Attributes:
        port: The port that is listened on.
    """

    def __init__(self, app: Starlette, port: int) -> None:
        """Listen.

        Raises:
            ListenError: The port is taken.
        """
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            # From now on a client waits for `start` instead of being refused.
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise ListenError(
                f"The health endpoint cannot listen on port {port}: {error.strerror}",
                hint="Choose another port with `--http-port` or SIDECYPHER_HTTP_PORT.",
            ) from None
        self.port: Final[int] = self._socket.getsockname()[1]
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="sidecypher-http", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def _run(self) -> None:
        # `serve` with a socket of ours installs no signal handlers outside of the main thread.
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(2)
        self._socket.close()
