"""Procedures that run statements in every mode, and read their results in every way."""

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sidecypher import Context, Row, procedure


class Sum(Row):
    rows: int
    total: int


class Number(Row):
    value: int


@procedure("test.runRead")
def run_read(ctx: Context, cypher: str) -> Number:
    """Run a statement in mode READ."""
    return Number(value=len(ctx.run(cypher)))  # type: ignore[arg-type]


@procedure("test.runWrite", mode="WRITE")
def run_write(ctx: Context, cypher: str) -> Number:
    """Run a statement in mode WRITE."""
    return Number(value=len(ctx.run(cypher)))  # type: ignore[arg-type]


@procedure("test.runWide", mode="WRITE", timeout=120.0)
def run_wide(ctx: Context, records: int, size: int, read: int) -> Number:
    """Write, let the statement return that many records of that size, and read some of them."""
    wide = ctx.run(
        "CREATE (:Written) WITH 1 AS one UNWIND range(1, $records) AS i RETURN i, $text AS text",
        records=records,
        text="x" * size,
    )
    return Number(value=len(list(itertools.islice(wide, read))))


@procedure("test.runSchema", mode="SCHEMA")
def run_schema(ctx: Context, cypher: str) -> Number:
    """Run a statement in mode SCHEMA."""
    return Number(value=len(ctx.run(cypher)))  # type: ignore[arg-type]


@procedure("test.runAfter", mode="WRITE")
def run_after(ctx: Context, first: str, then: str) -> Number:
    """Write, then run what may fail, whatever comes of it."""
    ctx.run(first)  # type: ignore[arg-type]
    try:
        ctx.run(then)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - the point of it
        return Number(value=-1)
    return Number(value=0)


@procedure("test.sumOf", timeout=300.0)
def sum_of(ctx: Context, cypher: str) -> Sum:
    """Add the numbers `n` of a statement's records, page by page."""
    rows = total = 0
    for record in ctx.run(cypher):  # type: ignore[arg-type]
        rows += 1
        total += record["n"]
    return Sum(rows=rows, total=total)


@procedure("test.sumOfAsync", timeout=300.0)
async def sum_of_async(ctx: Context, cypher: str) -> Sum:
    """Add the numbers `n` of a statement's records, page by page, on the event loop."""
    rows = total = 0
    async for record in ctx.run(cypher):  # type: ignore[arg-type]
        rows += 1
        total += record["n"]
    return Sum(rows=rows, total=total)


@procedure("test.passOn")
def pass_on(ctx: Context, cypher: str) -> Iterator[Number]:
    """Yield the numbers `n` of a statement's records as they are read."""
    for record in ctx.run(cypher):  # type: ignore[arg-type]
        yield Number(value=record["n"])


@procedure("test.passOnAsync")
async def pass_on_async(ctx: Context, cypher: str) -> AsyncIterator[Number]:
    """Yield the numbers `n` of a statement's records as they are read, from the event loop."""
    async for record in ctx.run(cypher):  # type: ignore[arg-type]
        yield Number(value=record["n"])


@procedure("test.copyEach", mode="WRITE")
def copy_each(ctx: Context, rows: int) -> Sum:
    """Read nodes, and create one for each while the result is open."""
    copied = 0
    found = ctx.run("MATCH (s:Source) RETURN s.n AS n ORDER BY n LIMIT $rows", rows=rows)
    for record in found:
        ctx.run("CREATE (:Source {n: $n})", n=record["n"])
        copied += 1
    return Sum(rows=copied, total=ctx.run("MATCH (s:Source) RETURN count(s) AS n").single()["n"])


@procedure("test.readSome", mode="WRITE")
def read_some(ctx: Context, cypher: str, rows: int) -> list[Number]:
    """Read only the first records of a statement, and forget it."""
    records = itertools.islice(ctx.run(cypher), rows)  # type: ignore[arg-type]
    return [Number(value=record["n"]) for record in records]


@procedure("test.asked")
def asked(ctx: Context, cypher: str, params: dict[str, Any]) -> list[Number]:
    """Run a statement with parameters."""
    found = ctx.run(cypher, **params)  # type: ignore[arg-type]
    return [Number(value=record["n"]) for record in found]
