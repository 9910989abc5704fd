"""The console: web pages for operators of a sidecar, at `/` of its HTTP port.

The pages are complete without scripts, but for those that need the token. Their script fetches
the page again every two seconds and updates it. With the token it also shows calls, see
`sidecypher.operations.api`, and the panels of namespaces, see `sidecypher.operations.panels`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.host.rendezvous import Announcement
from sidecypher.host.settings import LOOPBACK
from sidecypher.operations.console import _view as view
from sidecypher.operations.console.charts import POINTS, window
from sidecypher.operations.control import Inspector
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

_MINUTES: Final = (15, 60)
"""The windows of the charts."""


class Console:
    """The pages, with their style and their script.

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
        self._templates = Environment(
            loader=PackageLoader("sidecypher.operations.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def routes(self) -> list[Route]:
        """Return the routes."""
        # Each of hundreds of procedures has a line that is much like the others.
        compressed = [Middleware(GZipMiddleware, compresslevel=6)]
        route = partial(Route, methods=["GET"], middleware=compressed)
        return [
            route("/", self._overview),
            route("/procedures", self._procedures),
            route("/procedures/{name}", self._procedure),
            route("/calls", self._calls),
            route("/calls/{call_id}", self._calls),
            route("/panels/{name}", self._panel),
            *(
                route(f"/{name}", partial(_part, _read(name), kind))
                for name, kind in _PARTS.items()
            ),
        ]

    async def _overview(self, request: Request) -> Response:
        inspector = self._inspector
        minutes, seconds, histories = self._histories(request)
        units = inspector.loaded.units
        return self._page(
            request,
            "overview",
            title="Overview",
            load=view.Load.of(histories.values(), POINTS, seconds),
            busiest=view.busiest(inspector.loaded.registry, histories),
            sidecars=self._sidecars(),
            host=_host(request),
            wrong_modules=[unit for unit in units if unit.failure or unit.warnings],
            jvms=inspector.dispatcher.jvms,
            left_at=inspector.dispatcher.left_at,
            cached=view.cache_rows(inspector.dispatcher.cached_calls()),
            cluster=inspector.dispatcher.cluster_state(),
            minutes=minutes,
        )

    async def _procedures(self, request: Request) -> Response:
        minutes, _, histories = self._histories(request)
        return self._page(
            request,
            "procedures",
            title="Procedures and functions",
            namespaces=view.namespaces(self._inspector.loaded.registry, histories),
            minutes=minutes,
        )

    async def _procedure(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = [each for each in self._inspector.loaded.registry if each.name == name]
        if not found:
            return self._missing(request, "The sidecar serves no procedure of this name.")
        minutes, seconds, histories = self._histories(request, name)
        summary = self._telemetry.calls.summaries().get(name, view.NO_CALLS)
        return self._page(
            request,
            "procedure",
            title=name,
            details=[view.detail(each) for each in found],
            load=view.Load.of(histories.values(), POINTS, seconds),
            since_start=view.since_start(summary),
            minutes=minutes,
        )

    async def _calls(self, request: Request) -> Response:
        return self._page(request, "calls", title="Calls", call=request.path_params.get("call_id"))

    async def _panel(self, request: Request) -> Response:
        panel = self._inspector.loaded.panels.get(request.path_params["name"])
        if panel is None:
            return self._missing(request, "The console has no page of this name.")
        found = request.query_params.get("id")
        title = panel.title if found is None else f"{panel.thing} {found}".strip()
        return self._page(request, "panel", title=title, panel=panel, id=found)

    def _missing(self, request: Request, text: str) -> Response:
        return self._page(
            request, "missing", HTTPStatus.NOT_FOUND, title="There is no such page", text=text
        )

    def _histories(
        self, request: Request, name: str | None = None
    ) -> tuple[int, int, dict[str, list[Any]]]:
        """Return minutes of the window, seconds of a point, and the points of each or one name."""
        asked = request.query_params.get("minutes")
        minutes = next((each for each in _MINUTES if str(each) == asked), _MINUTES[0])
        merge, seconds = window(minutes)
        return minutes, seconds, self._telemetry.history.periods(POINTS, merge, name)

    def _page(
        self, request: Request, name: str, status: int = HTTPStatus.OK, **content: Any
    ) -> Response:
        inspector, dispatcher = self._inspector, self._inspector.dispatcher
        checks = {name: check() for name, check in self._checks.items()}
        text = self._templates.get_template(f"{name}.html.j2").render(
            path=request.url.path,
            version=version("sidecypher"),
            pid=os.getpid(),
            generation=dispatcher.generation,
            catalogue=inspector.loaded.registry.catalogue.hash,
            started_at=inspector.started_at,
            now=datetime.now(UTC),
            open_calls=len(dispatcher.calls),
            checks=checks,
            failed=any(wrong is not None for wrong in checks.values()),
            panels=sorted(inspector.loaded.panels.values(), key=lambda each: each.title),
            all_minutes=_MINUTES,
            **content,
        )
        return Response(text, status, _HEADERS, "text/html")


def _host(request: Request) -> str:
    """Return the host by which the page was requested, as an address has it."""
    host = request.url.hostname or LOOPBACK
    # `hostname` has lost the brackets of IPv6.
    return f"[{host}]" if ":" in host else host


def _read(name: str) -> str:
    return (files("sidecypher.operations.console") / "static" / name).read_text(encoding="utf-8")


async def _part(text: str, kind: str, _request: Request) -> Response:
    return Response(text, headers=_HEADERS, media_type=kind)
