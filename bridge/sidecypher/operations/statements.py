"""Statements that the sidecar runs over Bolt for its console, and what is sent of their answers.

The sidecar calls the procedures that ship, as the user of its settings, and does not import them:
where one is not in service, the console does not show what needs it.
"""

import asyncio
import contextvars
import re
from collections.abc import Mapping
from functools import partial
from html import unescape
from typing import Any, Final, LiteralString

import msgspec
from starlette.responses import Response

from sidecypher.calls.executors.loop import EventLoop
from sidecypher.errors import CypherError, DeadlineExceeded, SidecypherError, UnknownProcedure
from sidecypher.host.threads import in_thread
from sidecypher.operations.control import Inspector
from sidecypher.sdk.bolt import BoltClient

SECONDS: Final = 55.0
"""Longest time of a statement: after an answer a session goes on in the same call."""

_RAISED: Final = re.compile(r"\[(?P<code>SC-\d+)\] (?P<text>.*)", re.DOTALL)


class Statements:
    """Runs the statements of one part of the console.

    Args:
        inspector: What the sidecar serves.
        client: Its client of Neo4j.
        loop: Its event loop.
        needs: The procedure without which there is no such part.
    """

    def __init__(
        self, inspector: Inspector, client: BoltClient, loop: EventLoop, *, needs: str
    ) -> None:
        self._inspector = inspector
        self._client = client
        self._loop = loop
        self._needs = needs

    async def run(self, cypher: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run a statement on the sidecar's event loop; if that is blocked, this one goes on.

        Raises:
            UnknownProcedure: The sidecar does not serve the procedures.
            SidecypherError: The statement failed, or took too long.
        """
        if not is_served(self._inspector, self._needs):
            raise UnknownProcedure(f"The sidecar has no procedure `{self._needs}`")
        start = partial(self._client.run, cypher, **parameters)
        run = partial(self._loop.run, start, contextvars.Context(), SECONDS)
        try:
            found: list[dict[str, Any]] = await asyncio.wrap_future(
                in_thread(run, "sidecypher-console")
            )
        except TimeoutError:
            raise DeadlineExceeded(f"Neo4j did not answer within {SECONDS:.0f} s") from None
        except CypherError as error:
            raised = _RAISED.fullmatch(error.message)
            if raised is None:
                raise
            raise SidecypherError(raised["text"], code=raised["code"]) from None
        return found


def is_served(inspector: Inspector, procedure: str) -> bool:
    """Return whether the sidecar serves a procedure."""
    return any(each.name == procedure for each in inspector.loaded.registry)


def described(picture: str) -> str:
    """Return the words of a picture, as its SVG has them."""
    text = picture.partition("<desc")[2].partition(">")[2].partition("</desc>")[0]
    return unescape(text)


def json_response(content: Mapping[str, Any]) -> Response:
    """Return an answer that nobody keeps."""
    headers = {"Cache-Control": "no-store"}
    return Response(msgspec.json.encode(content), headers=headers, media_type="application/json")
