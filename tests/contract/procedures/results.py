"""Procedures that read results of many pages; the fake transaction's `COUNT` gives them."""

import weakref
from collections.abc import AsyncIterator, Iterator

from sidecypher import Context, Row, procedure


class Number(Row):
    value: int


@procedure("result.stream")
def stream(ctx: Context, to: int, page: int, size: int = 0) -> Iterator[Number]:
    """Yield what a statement counts."""
    for record in ctx.run("COUNT", to=to, page=page, size=size):
        yield Number(value=record["n"])


@procedure("result.streamAsync")
async def stream_async(ctx: Context, to: int, page: int, size: int = 0) -> AsyncIterator[Number]:
    """Yield what a statement counts, page by page."""
    async for record in ctx.run("COUNT", to=to, page=page, size=size):
        yield Number(value=record["n"])


@procedure("result.all")
async def take_all(ctx: Context, to: int, page: int, fail: int = -1) -> list[Number]:
    """Return what a statement counts, all at once."""
    records = await ctx.run("COUNT", to=to, page=page, fail=fail)
    return [Number(value=record["n"]) for record in records]


@procedure("result.first")
def first(ctx: Context, to: int, page: int) -> Number:
    """Return the first record, and leave the others."""
    for record in ctx.run("COUNT", to=to, page=page):
        return Number(value=record["n"])
    return Number(value=-1)


@procedure("result.interleaved")
def interleaved(ctx: Context, to: int, page: int) -> Iterator[Number]:
    """Run a statement for each record of another one."""
    for record in ctx.run("COUNT", to=to, page=page):
        inner = ctx.run("COUNT", to=record["n"], page=page)
        yield Number(value=len(inner))


@procedure("result.together")
async def together(ctx: Context, to: int, page: int) -> AsyncIterator[Number]:
    """Run a statement for each record of another one, from the event loop."""
    async for record in ctx.run("COUNT", to=to, page=page):
        inner = await ctx.run("COUNT", to=record["n"], page=page)
        yield Number(value=len(inner))


@procedure("result.broken")
def broken(ctx: Context, to: int, page: int, fail: int) -> Iterator[Number]:
    """Ignore that a statement breaks on its way."""
    try:
        for record in ctx.run("COUNT", to=to, page=page, fail=fail):
            yield Number(value=record["n"])
    except Exception:  # noqa: BLE001 - this is what is tested
        pass


class _Mark:
    """Something in a record that can be watched, as a dict cannot."""


@procedure("result.replaced")
def replaced(ctx: Context) -> Number:
    """Raise another error than that of a statement."""
    try:
        ctx.run("FAIL")
    except Exception:  # noqa: BLE001
        raise ValueError from None
    return Number(value=0)


@procedure("result.kept")
def kept(ctx: Context, to: int, page: int) -> Number:
    """Return how many records at most are alive at a time."""
    alive: weakref.WeakSet[_Mark] = weakref.WeakSet()
    most = 0
    for record in ctx.run("COUNT", to=to, page=page):
        record["mark"] = mark = _Mark()
        alive.add(mark)
        most = max(most, len(alive))
    return Number(value=most)
