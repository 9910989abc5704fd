"""Procedures that run on a Ray cluster."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from sidecypher import Context, Row, procedure


class Number(Row):
    value: int


class Shape(Row):
    rows: int
    types: list[str]
    sum: float
    pid: int


# The first call loads all procedures in a process of Ray, which is slow while others work.
@procedure("cluster.twice", executor="ray", batch=True, timeout=60.0)
def twice(value: int) -> Number:
    """Return twice the number."""
    return Number(value=2 * value)


@procedure("cluster.stream", executor="ray", timeout=60.0)
def stream(to: int) -> Iterator[Number]:
    """Yield numbers."""
    for value in range(to):
        yield Number(value=value)


@procedure("cluster.optional", executor="ray", availability="OPTIONAL")
def optional(value: int) -> Number:
    """Return the number, or null without a cluster."""
    return Number(value=value)


@procedure(
    "cluster.project",
    executor="ray",
    project="MATCH (n) WHERE $label IN labels(n) RETURN n.i AS i, n.x AS x, n.name AS name",
    timeout=60.0,
)
def project(ctx: Context, label: str) -> Shape:
    """Describe the projection."""
    table = ctx.projection
    return Shape(
        rows=table.num_rows,
        types=[str(each) for each in table.schema.types],
        sum=float(sum(each or 0 for each in table["x"].to_pylist())) if table.num_rows else 0.0,
        pid=os.getpid(),
    )


@procedure("cluster.wrong", executor="ray", project="MATCH (n:Projected) RETURN n LIMIT 1")
def wrong(ctx: Context) -> Number:
    """Need a node where a table has none."""
    return Number(value=ctx.projection.num_rows)


@procedure("cluster.write", executor="ray", project="CREATE (n:Projected) RETURN 1 AS one")
def write(ctx: Context) -> Number:
    """Have a statement that needs a higher mode."""
    return Number(value=ctx.projection.num_rows)


@procedure("cluster.wait", executor="ray", timeout=60.0)
def wait(mark: str) -> Number:
    """Write a mark, wait, and write another one in the clean-up."""
    try:
        Path(mark).write_text(str(os.getpid()), encoding="utf-8")
        while True:
            time.sleep(0.01)
    finally:
        Path(mark + ".ended").write_text("", encoding="utf-8")
