"""Streams whose next row takes its time, or never comes."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sidecypher import Context, ProcedureError, Row, procedure


class State:
    """What the bodies below have seen."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.asking = threading.Event()
        self.ended = threading.Event()
        self.seen: list[str] = []


state = State()


class Number(Row):
    value: int


@contextlib.contextmanager
def _noted() -> Iterator[None]:
    # A generator of an earlier test may end during a later one, whose state is another by then.
    seen, ended = state.seen, state.ended
    try:
        yield
    except BaseException as error:
        seen.append(type(error).__name__)
        raise
    finally:
        ended.set()


def _wait(gate: str) -> None:
    while not Path(gate).exists():
        time.sleep(0.002)


@procedure("stream.pause", timeout=60.0)
def pause(rows: int, gate: str) -> Iterator[Number]:
    """Yield some rows, wait for a file, and yield as many again."""
    with _noted():
        for value in range(2 * rows):
            if value == rows:
                _wait(gate)
            yield Number(value=value)


@procedure("stream.pauseAsync", timeout=60.0)
async def pause_async(rows: int, gate: str) -> AsyncIterator[Number]:
    """Do the same on the event loop."""
    with _noted():
        for value in range(2 * rows):
            if value == rows:
                await asyncio.to_thread(_wait, gate)
            yield Number(value=value)


@procedure("stream.pauseProcess", timeout=60.0, executor="process")
def pause_process(rows: int, gate: str) -> Iterator[Number]:
    """Do the same in a worker process."""
    yield from pause(rows, gate)


@procedure("stream.spin", timeout=60.0)
def spin() -> Iterator[Number]:
    """Yield one row, then compute for ever, and look at nothing."""
    with _noted():
        yield Number(value=0)
        while True:
            pass


@procedure("stream.wrongAsync", timeout=60.0)
async def wrong_async() -> AsyncIterator[Number]:
    """Yield a row of a wrong type, then wait for ever."""
    with _noted():
        yield Number(value="none")  # type: ignore[arg-type]
        await asyncio.Event().wait()


@procedure("stream.breaks")
def breaks(rows: int) -> Iterator[Number]:
    """Yield some rows, then fail."""
    for value in range(rows):
        yield Number(value=value)
    raise ProcedureError("The stream broke", code="test.broken")


@procedure("stream.breaksAsync")
async def breaks_async(rows: int) -> AsyncIterator[Number]:
    """Do the same on the event loop."""
    for value in range(rows):
        yield Number(value=value)
    raise ProcedureError("The stream broke", code="test.broken")


@procedure("stream.breaksProcess", executor="process")
def breaks_process(rows: int) -> Iterator[Number]:
    """Do the same in a worker process."""
    yield from breaks(rows)


@procedure("stream.breaksList")
def breaks_list(rows: int) -> list[Number]:
    """Return a list whose last row is none."""
    return [*(Number(value=value) for value in range(rows)), "no row"]  # type: ignore[list-item]


@procedure("stream.breaksWriting", mode="WRITE")
def breaks_writing(rows: int) -> Iterator[Number]:
    """Do what a procedure that writes must not have half done."""
    yield from breaks(rows)


@procedure("stream.breaksInCypher")
def breaks_in_cypher(ctx: Context, rows: int) -> Iterator[Number]:
    """Yield some rows, then run a statement that fails."""
    for value in range(rows):
        yield Number(value=value)
    ctx.run("FAIL")


@procedure("stream.ask", timeout=60.0)
def ask(ctx: Context, gate: str) -> Iterator[Number]:
    """Yield a row, then what a statement gives."""
    with _noted():
        yield Number(value=0)
        _wait(gate)
        state.asking.set()
        yield Number(value=ctx.run("RETURN 1 AS one").single()["one"])


@procedure("stream.askAsync", timeout=60.0)
async def ask_async(ctx: Context, gate: str) -> AsyncIterator[Number]:
    """Do the same on the event loop."""
    with _noted():
        yield Number(value=0)
        await asyncio.to_thread(_wait, gate)
        state.asking.set()
        yield Number(value=(await ctx.run("RETURN 1 AS one")).single()["one"])


@procedure("stream.check", timeout=60.0)
def check(ctx: Context, gate: str) -> Iterator[Number]:
    """Yield a row, look all the time whether it may go on, and yield another."""
    with _noted():
        yield Number(value=0)
        while not Path(gate).exists():
            ctx.check()
            time.sleep(0.002)
        yield Number(value=1)
