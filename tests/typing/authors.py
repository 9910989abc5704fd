"""What authors write must type-check under `mypy --strict`; this file is checked, never run."""

from collections.abc import AsyncIterator, Iterator
from typing import Literal, assert_type

from sidecypher import Context, Duration, Node, Row, function, procedure


class Similar(Row):
    other: Node
    score: float


@procedure("kg.similar", timeout=5.0, availability="OPTIONAL", batch=True)
def similar(ctx: Context, node: Node, order: Literal["asc", "desc"] = "asc") -> Iterator[Similar]:
    for record in ctx.run("MATCH (o) WHERE o <> $n RETURN o", n=node):
        yield Similar(other=record["o"], score=0.5)


@procedure("kg.stream", mode="WRITE", executor="async", deprecated_by="kg.similar")
async def stream(ctx: Context) -> AsyncIterator[Similar]:
    yield Similar(other=Node("4:a:1"), score=float(len(await ctx.run("RETURN 1"))))


@procedure("kg.forget", mode="WRITE", executor="thread", admin=True, eager=True)
def forget(ctx: Context) -> None:
    ctx.run("MATCH (n) DETACH DELETE n")


@function("kg.twice", timeout=1.0, availability="OFF", deprecated_by="")
def twice(value: Duration) -> Duration:
    return Duration(seconds=2 * value.seconds)


assert_type(twice(Duration()), Duration)
similar(Similar, Node("4:a:1"))  # type: ignore[arg-type]
Similar(Node("4:a:1"), 0.5)  # type: ignore[call-arg]
procedure("kg.x", mode="DBMS")  # type: ignore[arg-type]
procedure("kg.x", executor="gpu")  # type: ignore[arg-type]
procedure("kg.x", readonly=True)  # type: ignore[arg-type]
function("kg.x", admin=True)  # type: ignore[arg-type]
