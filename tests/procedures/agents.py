"""Procedures whose tools have the names that the conformance suite of MCP calls."""

import itertools
import threading
import time

from sidecypher import Context, ProcedureError, Row, procedure

_never = threading.Event()


class Text(Row):
    value: str


@procedure("test.simple.text")
def simple_text() -> Text:
    """Return a text."""
    return Text(value="This is a simple text response for testing.")


@procedure("test.error.handling")
def error_handling() -> Text:
    """Fail."""
    raise ProcedureError("This tool intentionally returns an error for testing")


@procedure("test.tool.with.progress")
def tool_with_progress(ctx: Context) -> Text:
    """Report progress for as long as the suite needs to see three numbers."""
    begun = time.monotonic()
    for done in itertools.takewhile(
        lambda _: time.monotonic() - begun < 5,
        itertools.count(),  # 10 looks
    ):
        ctx.progress(done, 1_000_000)
        ctx.check()
        _never.wait(0.005)
    return Text(value="done")
