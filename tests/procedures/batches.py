"""Procedures with batches, one for each shape of body."""

import asyncio
import contextlib
import math
from array import array
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sidecypher import Columns, Context, ProcedureError, Row, procedure


class Length(Row):
    length: float
    vector: list[float]


class Ratio(Row):
    value: float
    note: str


class Part(Row):
    part: str


class Checked(Row):
    """A row with an error column of its own."""

    error: dict[str, Any] | None
    value: int | None


class Left(Row):
    count: int


class Anything(Row):
    value: Any


state: dict[str, Any] = {"alive": 0, "most": 0, "closed": [], "tally": 0}
"""What the bodies have noted."""


def _divide(a: float, b: float) -> Ratio:
    if b == 0:
        raise ProcedureError("`b` is 0", code="test.zero", hint="Give another number.")
    return Ratio(value=a / b, note=f"{a:g}/{b:g}")


@procedure("test.lengths", batch="columns")
def lengths(x: list[float], y: list[float]) -> Columns[Length]:
    """Return the length of vectors, and the vectors themselves."""
    vectors = [list(each) for each in zip(x, y, strict=True)]
    return Columns(Length, length=array("d", map(math.hypot, x, y)), vector=vectors)


@procedure("test.divide", batch=True)
def divide(a: float, b: float = 2.0) -> Ratio:
    """Divide; by 2 unless told otherwise."""
    return _divide(a, b)


@procedure("test.divideAsync", batch=True)
async def divide_async(ctx: Context, a: float, b: float = 2.0) -> Ratio:
    """Divide on the event loop; the larger `a` the sooner."""
    state["alive"] += 1
    state["most"] = max(state["most"], state["alive"])
    try:
        for _ in range(max(1, 20 - int(a))):
            await asyncio.sleep(0)
        return _divide(a, b)
    finally:
        state["alive"] -= 1


@procedure("test.divideWriting", mode="WRITE", batch=True)
async def divide_writing(a: float, b: float = 2.0) -> Ratio:
    """Divide, and say that it writes."""
    state["alive"] += 1
    state["most"] = max(state["most"], state["alive"])
    await asyncio.sleep(0)
    state["alive"] -= 1
    return _divide(a, b)


@procedure("test.even", batch=True)
def even(value: int) -> Part | None:
    """Give a row for an even number, and none for an odd one."""
    if value % 2:
        return None
    return Part(part=str(value))


@procedure("test.partsList", batch=True)
def parts_list(text: str) -> list[Part]:
    """Give the parts of a text between commas."""
    return [Part(part=part) for part in text.split(",") if part]


@procedure("test.parts", batch=True)
def parts(text: str) -> Iterator[Part]:
    """Give the parts one by one; a part `!` is an error."""
    try:
        for part in text.split(","):
            if part == "!":
                raise ProcedureError("A part is `!`", code="test.bang")
            yield Part(part=part)
    finally:
        state["closed"].append(text)


@procedure("test.partsAsync", batch=True)
async def parts_async(text: str) -> AsyncIterator[Part]:
    """Give the parts from the event loop."""
    for part in text.split(","):
        await asyncio.sleep(0)
        if part == "!":
            raise ProcedureError("A part is `!`", code="test.bang")
        yield Part(part=part)


@procedure("test.same", batch=True)
def same(value: Any) -> Anything:
    """Return any value."""
    return Anything(value=value)


@procedure("test.tally", batch=True)
def tally(value: int) -> Left:
    """Count how often this was called."""
    state["tally"] += 1
    return Left(count=value)


@procedure("test.tallied")
def tallied() -> Left:
    """Return how often `test.tally` was called."""
    return Left(count=state["tally"])


@procedure("test.checked", batch=True)
def checked(value: int) -> Checked:
    """Give a value, or an error of its own in the row."""
    if value == 0:
        return Checked(error={"own": True}, value=None)
    if value < 0:
        raise ProcedureError("The value is negative", code="test.negative")
    return Checked(error=None, value=value)


@procedure("test.touch", mode="WRITE", batch=True)
def touch(ctx: Context, name: str) -> None:
    """Make sure that a node is there."""
    ctx.run("MERGE (n:Touched {name: $name})", name=name)


@procedure("test.find", batch=True)
def find(ctx: Context, cypher: str, refuse: bool = False) -> Part:
    """Run a statement; swallow its failure, and raise another error if told to."""
    with contextlib.suppress(Exception):
        ctx.run(cypher)  # type: ignore[arg-type]
    if refuse:
        raise ProcedureError("Refused", code="test.refused")
    return Part(part=cypher)


@procedure("test.findAsync", batch=True)
async def find_async(ctx: Context, name: str) -> Left:
    """Run a statement on the event loop."""
    found = await ctx.run("RETURN $name AS given, 1 AS one", name=name)
    return Left(count=next(iter(found))["one"])


@procedure("test.wrongRow", batch=True)
def wrong_row(kind: str) -> Part:
    """Return what is not a row, or raise what is not an error of a row."""
    match kind:
        case "exit":
            raise SystemExit(3)
        case "bug":
            raise ValueError(kind)
        case "type":
            return Part(part=7)  # type: ignore[arg-type]
        case "none":
            return None  # type: ignore[return-value]
    return Part(part=kind)


@procedure("test.wrongRowAsync", batch=True)
async def wrong_row_async(kind: str) -> Part:
    """Do the same on the event loop."""
    await asyncio.sleep(0)
    return wrong_row(kind)


def double_all(ctx: Context, rows: list[tuple[int]]) -> list[Any]:
    """Double each value, all at once."""
    state["given"] = rows
    return [_entry(value) for (value,) in rows]


async def double_all_async(ctx: Context, rows: list[tuple[int]]) -> list[Any]:
    """Double each value, all at once, on the event loop."""
    await asyncio.sleep(0)
    return double_all(ctx, rows)


def _entry(value: int) -> Any:
    match value:
        case 0:
            return None
        case -1:
            return ProcedureError("It is -1", code="test.minus")
        case -2:
            return [Left(count=-2), Left(count=-4)]
        case -3:
            return "no row"
    return Left(count=2 * value)


@procedure("test.twice", batch=double_all)
def double(value: int) -> Left | None:
    """Double a value."""
    return Left(count=2 * value)


@procedure("test.twiceAsync", batch=double_all_async)
def double_async(value: int) -> Left | None:
    """Double a value; many of them on the event loop."""
    return Left(count=2 * value)


@procedure("test.shortBatch", batch=lambda _ctx, rows: rows[1:])
def short_batch(value: int) -> Left:
    """Double a value; its batch forgets one."""
    return Left(count=2 * value)
