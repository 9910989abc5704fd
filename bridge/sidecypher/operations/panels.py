"""The panels of the console over HTTP: their blocks, and answers to questions."""

import asyncio
import contextvars
import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.calls.executors.loop import EventLoop, LoopTimeout
from sidecypher.errors import (
    CypherError,
    DeadlineExceeded,
    Neo4jUnavailable,
    ProcedureFailed,
    RowError,
    SidecypherError,
    UnknownProcedure,
    split_code,
)
from sidecypher.host.threads import in_thread
from sidecypher.sdk.panels import (
    Panel,
    PanelAnswer,
    PanelBlock,
    PanelMeter,
    PanelPicture,
    PanelQuestion,
    PanelRequest,
    PanelTable,
    PanelText,
)
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import log_unexpected
from sidecypher.transport.http.problems import RequestRefused
from sidecypher.transport.http.request_bodies import check_content, read_body
from sidecypher.transport.http.server import PANELS
from sidecypher.transport.http.tokens import TokenCheck

ANSWER_BYTES: Final = 1_000_000
"""Largest body of a request that answers."""

SECONDS: Final = 55.0
"""Longest time of a panel: after an answer a session goes on in the same call."""

MOST_ROWS: Final = 500
"""Most rows of a table that are sent."""

_EXACT: Final = 2**53 - 1
"""Largest integer that JavaScript, and so the page, does not round:
https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Global_Objects/Number/MAX_SAFE_INTEGER"""

_KINDS: Final = {
    PanelText: "text",
    PanelTable: "table",
    PanelMeter: "meter",
    PanelPicture: "picture",
    PanelQuestion: "question",
}


class _Answer(msgspec.Struct):
    """The body of a request that answers."""

    id: str
    question: str
    text: str


_decode: Final = msgspec.json.Decoder(_Answer).decode


class PanelApi:
    """The routes under `/v1/panels`; each request must carry the token.

    Args:
        panels: Returns those in service now, by name.
        home: The sidecar's data directory.
    """

    def __init__(
        self,
        panels: Callable[[], Mapping[str, Panel]],
        loop: EventLoop,
        resources: Resources,
        authorize: TokenCheck,
        *,
        home: Path,
    ) -> None:
        self._panels = panels
        self._loop = loop
        self._resources = resources
        self._authorize = authorize
        self._home = home

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route(PANELS + "{name}", self._show, methods=["GET"]),
            Route(PANELS + "{name}/answer", self._answer, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        panel = self._panel(request)
        asked = PanelRequest(self._home, self._resources, request.query_params.get("id"))
        content: dict[str, Any] = {"blocks": None, "problem": None}
        try:
            content["blocks"] = await self._run(panel, partial(_blocks, panel, asked))
        except (CypherError, Neo4jUnavailable, DeadlineExceeded) as error:
            # The console requests it again every few seconds, also while Neo4j is not running.
            content["problem"] = error.message
        headers = {"Cache-Control": "no-store"}
        return Response(msgspec.json.encode(content), 200, headers, "application/json")

    async def _answer(self, request: Request) -> Response:
        panel = self._panel(request)
        check_content(request)
        body = await read_body(request, ANSWER_BYTES)
        try:
            given = _decode(body)
        except (msgspec.MsgspecError, UnicodeError):
            raise RequestRefused("The request's body is not an answer") from None
        if panel.answer is None:
            raise RequestRefused(f"The panel `{panel.name}` has no questions")
        answer = PanelAnswer(self._home, self._resources, given.id, given.question, given.text)
        message = await self._run(panel, partial(panel.answer, answer))
        headers = {"Cache-Control": "no-store"}
        return Response(
            msgspec.json.encode({"message": str(message)}), 200, headers, "application/json"
        )

    def _panel(self, request: Request) -> Panel:
        self._authorize(request)
        panel = self._panels().get(request.path_params["name"])
        if panel is None:
            raise UnknownProcedure("The console has no panel of this name")
        return panel

    async def _run(self, panel: Panel, start: Callable[[], Awaitable[Any]]) -> Any:
        """Run a function on the sidecar's event loop; if that is blocked, this one goes on."""
        return await asyncio.wrap_future(
            in_thread(partial(self._outcome, panel, start), "sidecypher-console")
        )

    def _outcome(self, panel: Panel, start: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return self._loop.run(start, contextvars.Context(), SECONDS)
        except LoopTimeout:
            raise DeadlineExceeded(
                f"The panel `{panel.name}` did not answer within {SECONDS:.0f} s"
            ) from None
        except CypherError as error:
            code, text = split_code(error.message)
            if not code.startswith("SC-"):
                raise
            raise SidecypherError(text, code=code) from None
        except SidecypherError:
            raise
        # An author's function may raise SystemExit too, which would end the HTTP server.
        except BaseException as error:  # noqa: BLE001
            log_unexpected(error, panel=panel.name)
            raise ProcedureFailed(
                f"The panel `{panel.name}` failed with {type(error).__name__}",
                hint="The log has the place.",
            ) from None


async def _blocks(panel: Panel, asked: PanelRequest) -> msgspec.Raw:
    """Return the blocks of a panel as JSON."""
    blocks = await panel.function(asked)
    return msgspec.Raw(msgspec.json.encode([_block(panel, each) for each in blocks]))


def _block(panel: Panel, block: PanelBlock) -> dict[str, Any]:
    """Return a block as JSON has it.

    Raises:
        RowError: It is not a block, or the page cannot show a value of it.
    """
    kind = _KINDS.get(type(block))
    if kind is None:
        raise RowError(f"The panel `{panel.name}` returned a {type(block).__name__}")
    content = {name: getattr(block, name) for name in block.__slots__}
    if isinstance(block, PanelTable):
        content["rows"] = [[_cell(panel, each) for each in row] for row in block.rows[:MOST_ROWS]]
        content["left_out"] = max(0, len(block.rows) - MOST_ROWS)
    if isinstance(block, PanelMeter):
        for each in (block.value, block.limit):
            if not isinstance(each, int | float) or not math.isfinite(each):
                raise _unfit(panel, "meter", each)
    if isinstance(block, PanelPicture):
        content["description"] = described(block.svg)
    return {"kind": kind, **content}


def _cell(panel: Panel, value: object) -> Any:
    """Return a cell as JSON has it.

    Raises:
        RowError: It is not a `PanelCell`.
    """
    if isinstance(value, datetime):
        # Marked, so that the page shows it as a time and a text that looks like one as it is.
        utc = value if value.tzinfo is None else value.astimezone(UTC)
        return {"at": utc.isoformat()}
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _unfit(panel, "table", value)


def _unfit(panel: Panel, block: str, value: object) -> RowError:
    shown = f"the float `{value}`" if isinstance(value, float) else f"a {type(value).__name__}"
    return RowError(
        f"A {block} of the panel `{panel.name}` has {shown}",
        hint="A cell is a str, int, finite float, bool, datetime or None; a meter has finite "
        "numbers.",
    )


def described(picture: str) -> str:
    """Return the text of a picture for screen readers.

    Example:
        >>> described('<svg><desc id="d">Two &amp; three</desc></svg>')
        'Two & three'
    """
    text = picture.partition("<desc")[2].partition(">")[2].partition("</desc>")[0]
    return unescape(text)
