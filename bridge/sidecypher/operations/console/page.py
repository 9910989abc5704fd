"""The console: a web page at `/` for operators of a sidecar.

The page is complete without scripts. Its one script fetches it again every few seconds and updates
the numbers. With the token it also lists calls, see `sidecypher.operations.api`, and cancels them,
answers requests of sessions, and shows repositories of code: see `sidecypher.operations.sessions`
and `sidecypher.operations.repositories`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.host.rendezvous import Announcement
from sidecypher.operations.console._view import namespaces
from sidecypher.operations.control import Inspector
from sidecypher.operations.repositories import RepositoryApi
from sidecypher.operations.sessions import SessionApi
from sidecypher.operations.statements import is_served
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.health import Check

__all__ = ["Console"]

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of each part of the page: it loads nothing from elsewhere and sends nothing there."""

_PARTS: Final = {"console.css": "text/css", "console.js": "text/javascript"}


class Console:
    """The page, with its style and its script.

    Args:
        checks: The conditions for serving calls, by name; they must not block.
    """

    def __init__(
        self,
        inspector: Inspector,
        telemetry: Telemetry,
        checks: Mapping[str, Check],
        sidecars: Callable[[], Sequence[Announcement]],
    ) -> None:
        self._inspector = inspector
        self._telemetry = telemetry
        self._checks = checks
        self._sidecars = sidecars
        self._page = Environment(
            loader=PackageLoader("sidecypher.operations.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        ).get_template("console.html.j2")

    def routes(self) -> list[Route]:
        """Return the routes."""
        # Each of hundreds of options has a line that is much like the others.
        compressed = [Middleware(GZipMiddleware, compresslevel=6)]
        parts = [
            Route(
                f"/{name}",
                partial(_part, _read(name), kind),
                methods=["GET"],
                middleware=compressed,
            )
            for name, kind in _PARTS.items()
        ]
        return [Route("/", self._show, methods=["GET"], middleware=compressed), *parts]

    async def _show(self, _request: Request) -> Response:
        return Response(self._render(), headers=_HEADERS, media_type="text/html")

    def _render(self) -> str:
        inspector, dispatcher = self._inspector, self._inspector.dispatcher
        registry = inspector.loaded.registry
        units = inspector.loaded.units
        checks = {name: check() for name, check in self._checks.items()}
        return self._page.render(
            version=version("sidecypher"),
            pid=os.getpid(),
            generation=dispatcher.generation,
            catalogue=registry.catalogue.hash,
            started_at=inspector.started_at,
            others=[each for each in self._sidecars() if each.generation != dispatcher.generation],
            open_calls=dispatcher.open_calls,
            checks=checks,
            failed=any(wrong is not None for wrong in checks.values()),
            has_sessions=is_served(inspector, SessionApi.NEEDS),
            has_repositories=is_served(inspector, RepositoryApi.NEEDS),
            wrong_modules=[unit for unit in units if unit.failure or unit.warnings],
            namespaces=namespaces(registry, self._telemetry.calls.summaries()),
        )


def _read(name: str) -> str:
    return (files("sidecypher.operations.console") / "static" / name).read_text(encoding="utf-8")


async def _part(text: str, kind: str, _request: Request) -> Response:
    return Response(text, headers=_HEADERS, media_type=kind)
