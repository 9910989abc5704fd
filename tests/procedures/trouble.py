"""Procedures that misbehave, for the tests of faults."""

import asyncio
import contextlib
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from sidecypher import Context, ProcedureError, Row, procedure


class Text(Row):
    value: str


class Anything(Row):
    value: Any


class Number(Row):
    value: int


_running: list[str] = []
_ended: list[str] = []
_never = threading.Event()
_gates: list[SimpleQueue[None]] = []


@contextlib.contextmanager
def _noted(mark: str) -> Iterator[None]:
    """Note when a body has begun, and when it has ended however it did."""
    _running.append(mark)
    try:
        yield
    finally:
        _running.remove(mark)
        _ended.append(mark)


class Stopping(ProcedureError):
    """Says what only a sidecar that is stopping may say, whatever the bridge does against it."""

    def __init__(self) -> None:
        super().__init__("The sidecar is stopping", retryable=True)
        self.code = "SC-210"


@procedure("trouble.stopping", mode="WRITE")
def stopping(ctx: Context, log: str) -> Text:
    """Write to the graph and to a file, then fail as if the call had not begun."""
    return _stopping(ctx, log)


@procedure("trouble.optionalStopping", mode="WRITE", availability="OPTIONAL")
def optional_stopping(ctx: Context, log: str) -> Text:
    """Do the same, though callers can do without."""
    return _stopping(ctx, log)


def _stopping(ctx: Context, log: str) -> Text:
    ctx.run("CREATE (:Begun)")
    with Path(log).open("a", encoding="utf-8") as file:
        file.write("begun\n")
    raise Stopping


@procedure("trouble.running")
def running() -> list[Text]:
    """Return the marks of the bodies that have begun and not ended."""
    return [Text(value=mark) for mark in _running]


@procedure("trouble.ended")
def ended() -> list[Text]:
    """Return the marks of the bodies that have ended."""
    return [Text(value=mark) for mark in _ended]


@procedure("trouble.work", timeout=60.0)
def work(ctx: Context, mark: str) -> Text:
    """Work for ever, and look now and then whether anybody still waits."""
    with _noted(mark):
        while True:
            ctx.check()
            _never.wait(0.005)


@procedure("trouble.progress", timeout=60.0)
def progress(ctx: Context, mark: str) -> Text:
    """Work for ever, and report how often it has looked whether anybody still waits."""
    with _noted(mark):
        for done in itertools.count(1):
            ctx.progress(done, 1_000_000)
            ctx.check()
            _never.wait(0.005)
    return Text(value="never")


@procedure("trouble.workAsync", timeout=60.0)
async def work_async(mark: str) -> Text:
    """Wait for ever, on the event loop."""
    with _noted(mark):
        await asyncio.Event().wait()
    return Text(value="never")


@procedure("trouble.wait", timeout=0.3)
def wait() -> Text:
    """Wait in C code, where no exception ends it, until it is let go."""
    gate: SimpleQueue[None] = SimpleQueue()
    _gates.append(gate)
    gate.get(timeout=60)
    return Text(value="late")


@procedure("trouble.waitLong", timeout=60.0)
def wait_long(mark: str) -> Text:
    """Do the same, with a long time for it."""
    with _noted(mark):
        gate: SimpleQueue[None] = SimpleQueue()
        _gates.append(gate)
        gate.get(timeout=60)
    return Text(value="late")


@procedure("trouble.waitAsync", timeout=0.3)
async def wait_async() -> Text:
    """Wait for ever, on the event loop."""
    await asyncio.Event().wait()
    return Text(value="never")


@procedure("trouble.letGo")
def let_go() -> None:
    """End the waiting of those who wait in C code now."""
    while _gates:
        _gates.pop().put(None)


@procedure("trouble.hold", mode="WRITE", timeout=60.0)
def hold(ctx: Context, cypher: str, mark: str) -> Text:
    """Run a statement that takes locks, then work for ever."""
    ctx.run(cypher)  # type: ignore[arg-type]
    with _noted(mark):
        while True:
            ctx.check()
            _never.wait(0.005)


@procedure("trouble.stream", timeout=60.0)
def stream(ctx: Context, mark: str) -> Iterator[Number]:
    """Give a few rows, then work for ever."""
    with _noted(mark):
        for value in range(20):
            yield Number(value=value)
        while True:
            ctx.check()
            _never.wait(0.005)


@procedure("trouble.oneRow", timeout=2.0)
def one_row(mark: str) -> Iterator[Number]:
    """Give a row, then compute for ever."""
    with _noted(mark):
        yield Number(value=0)
        while True:
            pass


@procedure("trouble.oneRowAsync", timeout=2.0)
async def one_row_async(mark: str) -> AsyncIterator[Number]:
    """Give a row, then wait for ever, on the event loop."""
    with _noted(mark):
        yield Number(value=0)
        await asyncio.Event().wait()


@procedure("trouble.oneRowProcess", timeout=60.0, executor="process")
def one_row_process() -> Iterator[Number]:
    """Give a row, then compute for ever, in a worker process."""
    yield Number(value=0)
    while True:
        pass


@procedure("trouble.raise")
def raise_(kind: str, text: str) -> Text:
    """Raise something that no body should."""
    raise _make(kind, text)


@procedure("trouble.raiseAsync")
async def raise_async(kind: str, text: str) -> Text:
    """Raise something that no body should, on the event loop."""
    raise _make(kind, text)


@procedure("trouble.raiseLate")
def raise_late(kind: str, text: str) -> Iterator[Number]:
    """Raise something in the middle of a stream."""
    yield Number(value=1)
    raise _make(kind, text)


def _make(kind: str, text: str) -> BaseException:
    match kind:
        case "str":
            return _Unprintable(text)
        case "name":
            return type(text, (Exception,), {})(text)
        case "recursion":
            return _recurse(text)
        case "exit at once":
            os._exit(3)
    types: dict[str, type[BaseException]] = {
        "ValueError": ValueError,
        "SystemExit": SystemExit,
        "KeyboardInterrupt": KeyboardInterrupt,
        "GeneratorExit": GeneratorExit,
        "MemoryError": MemoryError,
        "BaseException": BaseException,
        "StopIteration": StopIteration,
        "CancelledError": asyncio.CancelledError,
        "TimeoutError": TimeoutError,
    }
    return types[kind](text)


def _recurse(text: str) -> BaseException:
    return _recurse(text)


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError(self.args[0])

    __repr__ = __str__


class _Thing:
    def __repr__(self) -> str:
        raise RuntimeError("nobody asks what this is")


@procedure("trouble.give")
def give(kind: str, text: str) -> Anything:
    """Return something that has no Cypher type."""
    return Anything(value=_VALUES[kind](text))


def _cyclic_list(text: str) -> list[Any]:
    items: list[Any] = [text]
    items.append(items)
    return items


def _cyclic_map(text: str) -> dict[str, Any]:
    entries: dict[str, Any] = {"text": text}
    entries["self"] = entries
    return entries


def _too_deep(text: str) -> list[Any]:
    value: list[Any] = [text]
    for _ in range(100_000):
        value = [value]
    return value


_VALUES: dict[str, Callable[[str], Any]] = {
    "object": lambda _text: _Thing(),
    "class": lambda text: type(text, (), {}),
    "function": lambda text: text.upper,
    "set": lambda text: {text},
    "complex": lambda _text: 1j,
    "huge integer": lambda _text: 2**63,
    "deep inside": lambda text: {"a": [1, {"b": {text}}]},
    "lone surrogate": lambda text: text + "\ud800",
    "surrogate key": lambda text: {text + "\ud800": 1},
    "number as key": lambda text: {1: text},
    "cyclic list": _cyclic_list,
    "cyclic map": _cyclic_map,
    "too deep": _too_deep,
}


@procedure("trouble.big")
def big(length: int) -> Text:
    """Return a text of that many characters."""
    return Text(value="x" * length)


@procedure("trouble.length")
def length_of(value: str) -> Number:
    """Return how long a text is."""
    return Number(value=len(value))
