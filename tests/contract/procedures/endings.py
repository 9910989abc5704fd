"""Bodies that end, or do not end, when their call is cancelled; `state` tells what they saw."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sidecypher import Context, Row, function, procedure


class State:
    """What the bodies below have seen, and what they wait for."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.begun = threading.Event()
        self.cleaning = threading.Event()
        self.go = threading.Event()
        self.ended = threading.Event()
        self.seen: list[str] = []
        self.kept: list[Any] = []


state = State()


class Text(Row):
    value: str


@procedure("ending.spin", timeout=60.0)
def spin() -> Text:
    """Compute for ever, and look at nothing."""
    try:
        state.begun.set()
        while True:
            pass
    except BaseException as error:
        state.seen.append(type(error).__name__)
        raise
    finally:
        state.ended.set()


@procedure("ending.spinInStream", timeout=60.0)
def spin_in_stream() -> Iterator[Text]:
    """Yield a page of rows, then compute for ever."""
    try:
        for _ in range(16):
            yield Text(value="row")
        state.begun.set()
        while True:
            pass
    finally:
        state.ended.set()


@procedure("ending.swallow", timeout=60.0)
def swallow() -> Text:
    """Compute until the test says so, whatever is raised."""
    state.begun.set()
    while not state.go.is_set():
        try:
            _compute()
        except BaseException as error:  # noqa: BLE001
            state.seen.append(type(error).__name__)
    state.ended.set()
    return Text(value="never sent")


def _compute() -> None:
    # A loop of a function of its own: where one ends the `try`, Python 3.13 may pass by its
    # `except`, see https://github.com/python/cpython/issues/130279.
    while not state.go.is_set():
        pass


@procedure("ending.block", timeout=60.0)
def block() -> Text:
    """Wait in C code, where nothing can be raised."""
    state.begun.set()
    state.go.wait(60)
    state.ended.set()
    return Text(value="never sent")


@procedure("ending.blockAsync", timeout=60.0)
async def block_async() -> Text:
    """Swallow every cancellation until the test says so."""
    state.begun.set()
    while not state.go.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            state.seen.append("CancelledError")
    state.ended.set()
    return Text(value="never sent")


@procedure("ending.cleanUpAsync", timeout=60.0, batch=True)
async def clean_up_async(how: str = "slow") -> Text:
    """Fail, or wait until cancelled and clean up, which may last until the test says so."""
    state.begun.set()
    if how == "fail":
        raise ValueError
    try:
        await asyncio.Event().wait()
    finally:
        if how == "slow":
            await _clean_up()
        else:
            state.seen.append(how)
    return Text(value="never sent")


@procedure("ending.cleanUpStream", timeout=60.0)
async def clean_up_stream() -> AsyncIterator[Text]:
    """Stream for ever from the event loop, and clean up until the test says so."""
    try:
        while True:
            yield Text(value="more")
    finally:
        await _clean_up()


async def _clean_up() -> None:
    state.cleaning.set()
    try:
        await asyncio.to_thread(state.go.wait, 30)
    except BaseException as error:
        state.seen.append(type(error).__name__)
        raise
    state.ended.set()


@procedure("ending.cleanUp")
def clean_up() -> Iterator[Text]:
    """Stream for ever, and clean up until the test says so."""
    try:
        while True:
            yield Text(value="more")
    finally:
        state.begun.set()
        while not state.go.is_set():
            time.sleep(0.001)
        state.ended.set()


@procedure("ending.stream")
def stream() -> Iterator[Text]:
    """Stream for ever."""
    try:
        while True:
            yield Text(value="more")
    finally:
        state.ended.set()


@procedure("ending.streamAsync")
async def stream_async() -> AsyncIterator[Text]:
    """Stream for ever, from the event loop."""
    try:
        while True:
            yield Text(value="more")
    finally:
        state.ended.set()


@procedure("ending.progress", timeout=60.0)
def progress(ctx: Context) -> Iterator[Text]:
    """Tell how far it is, then wait for the test."""
    state.kept.append(ctx)
    ctx.progress(3)
    for _ in range(16):
        yield Text(value="row")
    ctx.progress(40, 80.5)
    state.begun.set()
    state.go.wait(30)
    yield Text(value="last")


@procedure("ending.outlive")
async def outlive(ctx: Context) -> Text:
    """Leave a task behind that uses the context after the call."""

    async def late() -> None:
        await asyncio.to_thread(state.go.wait, 30)
        for use in (lambda: ctx.run("RETURN 1 AS one"), ctx.check, lambda: ctx.progress(1)):
            try:
                used = use()
                if used is not None:
                    await used
            except Exception as error:  # noqa: BLE001
                state.seen.append(type(error).__name__)
        state.ended.set()

    state.kept.append(asyncio.create_task(late()))
    return Text(value=ctx.call_id)


@procedure("ending.hurry")
async def hurry(ctx: Context) -> Text:
    """Ask for a statement in a task, and return before it is answered."""

    async def ask() -> None:
        try:
            await ctx.run("RETURN 1 AS one")
        except Exception as error:  # noqa: BLE001
            state.seen.append(type(error).__name__)
        finally:
            state.ended.set()

    state.kept.append(asyncio.create_task(ask()))
    return Text(value="done")


@procedure("ending.giveUp", mode="WRITE")
async def give_up(ctx: Context) -> Text:
    """Give up a statement that is under way and one that waits behind it; then ask for another."""

    async def ask(cypher: str) -> None:
        await ctx.run(cypher)  # type: ignore[arg-type]

    given_up = [asyncio.create_task(ask(cypher)) for cypher in ("UNDER WAY", "GIVEN UP")]
    await asyncio.to_thread(state.begun.wait, 30)
    for task in given_up:
        task.cancel()
    await asyncio.wait(given_up)
    state.go.set()
    await ask("ANOTHER")
    return Text(value=" ".join(str(task.cancelled()) for task in given_up))


@procedure("ending.nothing")
def void(ctx: Context, value: str) -> None:
    """Return no rows."""
    state.seen.append(value)


@procedure("ending.nothingAsync")
async def void_async(value: str) -> None:
    """Return no rows, from the event loop."""
    state.seen.append(value)


@procedure("ending.notNothing")
def void_not() -> None:
    """Return something where nothing is expected."""
    return "something"  # type: ignore[return-value]


@function("ending.join")
def join(first: str, second: str = "b") -> str:
    """Return both."""
    return first + second


@function("ending.run")
def run(ctx: Context) -> int:
    """Try to run a statement."""
    return len(ctx.run("RETURN 1 AS one"))


@procedure("ending.brief", timeout=0.2)
def brief() -> Text:
    """Compute for ever, with little time."""
    state.begun.set()
    while True:
        pass


@procedure("ending.briefAsync", timeout=0.2)
async def brief_async() -> Text:
    """Wait for ever, with little time."""
    state.begun.set()
    await asyncio.Event().wait()
    return Text(value="never sent")


class Seconds(Row):
    left: float


@procedure("ending.countDown", timeout=5.0)
def count_down(ctx: Context, rows: int) -> Iterator[Seconds]:
    """Tell how much time is left, row by row."""
    for _ in range(rows):
        yield Seconds(left=ctx.deadline.remaining())
