"""Procedures that are cut off, or misuse their context; `state` tells the tests what they saw."""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

from sidecypher import Context, Row, procedure
from sidecypher.errors import CallError


class State:
    """What the bodies below have seen, and what they wait for."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.ended = threading.Event()
        self.kept: list[Context] = []
        self.seen: list[str] = []


state = State()


class Text(Row):
    value: str


class Child(Row):
    pid: int


@procedure("fault.fork")
def fork() -> Child:
    """Return twice: here, and in a child that it has not ended."""
    return Child(pid=os.fork())


@procedure("fault.forkStream")
def fork_stream() -> Iterator[Child]:
    """Go on twice."""
    yield Child(pid=os.fork())


@procedure("fault.forkAtClose")
def fork_at_close() -> Iterator[Child]:
    """Fork when nobody reads on."""
    try:
        while True:
            yield Child(pid=0)
    finally:
        state.seen.append(str(os.fork()))


@procedure("fault.statement")
def statement(ctx: Context, kind: str) -> Text:
    """Run what is not a statement."""
    statements: Any = {"null": None, "number": 5, "surrogate": "RETURN '\ud800'"}
    ctx.run(statements[kind])
    return Text(value=kind)


@procedure("fault.loop", timeout=60.0)
def loop(ctx: Context) -> Text:
    """Work until the call is cancelled."""
    state.begun.set()
    try:
        while True:
            ctx.check()
            state.go.wait(0.002)
    finally:
        state.ended.set()


@procedure("fault.lingering")
def lingering() -> Iterator[Text]:
    """Stream for ever, and take its time to be closed."""
    try:
        while True:
            yield Text(value="more")
    finally:
        state.begun.set()
        state.go.wait(30)
        state.ended.set()


@procedure("fault.wait", timeout=60.0)
async def wait(ctx: Context) -> Text:
    """Wait until the call is cancelled."""
    state.begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        state.ended.set()
    return Text(value="never")


@procedure("fault.stubborn", timeout=60.0)
async def stubborn(ctx: Context) -> Text:
    """Be cancelled, and take its time to clean up."""
    state.begun.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.to_thread(state.go.wait, 30)
        state.ended.set()
        raise
    return Text(value="never")


@procedure("fault.keep")
def keep(ctx: Context) -> Text:
    """Let the context escape."""
    state.kept.append(ctx)
    return Text(value="kept")


@procedure("fault.keepAsync")
async def keep_async(ctx: Context) -> Text:
    """Let the context escape."""
    state.kept.append(ctx)
    return Text(value="kept")


@procedure("fault.foreign")
def foreign(ctx: Context) -> Text:
    """Use the context from another thread."""

    def use() -> None:
        try:
            ctx.run("RETURN 1 AS one")
        except CallError as error:
            state.seen.append(error.code)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return Text(value=state.seen[-1])


@procedure("fault.foreignLoop")
async def foreign_loop(ctx: Context) -> Text:
    """Use the context on an event loop of another thread."""

    async def use() -> None:
        await ctx.run("RETURN 1 AS one")

    def elsewhere() -> str:
        try:
            asyncio.run(use())
        except CallError as error:
            return error.code
        return "none"

    return Text(value=await asyncio.to_thread(elsewhere))


@procedure("fault.callback")
def callback(ctx: Context) -> Text:
    """Ask the caller, and remember how that ended."""
    try:
        ctx.run("RETURN 1 AS one")
    except CallError as error:
        state.seen.append(error.code)
        raise
    finally:
        state.ended.set()
    return Text(value="answered")


@procedure("fault.callbackAsync")
async def callback_async(ctx: Context) -> Text:
    """Ask the caller from the event loop, and remember how that ended."""
    try:
        await ctx.run("RETURN 1 AS one")
    except CallError as error:
        state.seen.append(error.code)
        raise
    finally:
        state.ended.set()
    return Text(value="answered")


@procedure("fault.bigCallback")
def big_callback(ctx: Context, size: int) -> Text:
    """Run a statement with a parameter of that many characters."""
    return Text(value=str(len(ctx.run("RETURN 1 AS one", text="x" * size))))


@procedure("fault.big")
def big(size: int) -> Iterator[Text]:
    """Yield one row of that many characters."""
    yield Text(value="x" * size)


@procedure("fault.held")
def held(size: int) -> Text:
    """Answer that many characters once a test lets it."""
    state.begun.set()
    state.go.wait(30)
    return Text(value="x" * size)
