"""The Python procedures that are measured."""

import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sidecypher import Columns, Context, Row, procedure

_EVENTS = """
    MATCH (e:Event) WHERE e.runId = $run AND e.seq > 0 WITH e ORDER BY e.runId, e.seq
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | p.id] AS parentIds
"""

_spinning = threading.Event()


class Text(Row):
    value: str


class Size(Row):
    value: float


class Answer(Row):
    value: int


class State(Row):
    spinning: bool


class Event(Row):
    seq: int
    id: str
    type: str
    event: dict[str, Any]
    parent_ids: list[str]
    created_at: datetime


class Scored(Row):
    number: int
    text: str
    score: float


@procedure("bench.echo", batch=True)
def echo(value: str) -> Text:
    """Return the text."""
    return Text(value=value)


@procedure("bench.echoAsync")
async def echo_async(value: str) -> Text:
    """Return the text from the event loop, without waiting."""
    return Text(value=value)


@procedure("bench.size", batch="columns")
def size(number: list[float]) -> Columns[Size]:
    """Return the size of numbers, by numpy."""
    # Not above: the memory of an idle sidecar is measured too.
    import numpy as np  # noqa: PLC0415

    return Columns(Size, value=np.abs(np.array(number)))


@procedure("bench.callback")
def callback(ctx: Context) -> Answer:
    """Query a number in the caller's transaction."""
    return Answer(value=ctx.run("RETURN 1 AS one").single()["one"])


@procedure("bench.generate")
def generate(to: int) -> Iterator[Scored]:
    """Yield rows of three columns."""
    for number in range(to):
        yield Scored(number=number, text="text", score=0.5)


@procedure("bench.spin", timeout=60.0)
def spin(ctx: Context) -> State:
    """Keep a thread busy in pure Python until `bench.rest`."""
    _spinning.set()
    total = 0
    while _spinning.is_set():
        for number in range(1000):
            total += number
        ctx.check()
    return State(spinning=False)


@procedure("bench.spinning")
def spinning() -> State:
    """Return whether `bench.spin` is running."""
    return State(spinning=_spinning.is_set())


@procedure("bench.rest")
def rest() -> State:
    """End `bench.spin`."""
    _spinning.clear()
    return State(spinning=False)


@procedure("bench.carry")
def carry(ctx: Context, run_id: str) -> Iterator[Event]:
    """Read the events of a run from Neo4j and return them unchanged."""
    for record in ctx.run(_EVENTS, run=run_id):
        event = record["event"]
        yield Event(
            seq=event["seq"],
            id=event["id"],
            type=event["type"],
            event=event,
            parent_ids=record["parentIds"],
            created_at=event["createdAt"],
        )


@procedure("bench.compute", timeout=60.0)
def compute(rounds: int) -> Answer:
    """Compute in Python, which one thread of a process does at a time."""
    value = 1
    for _ in range(rounds):
        value = value * 1_103_515_245 % 2_147_483_647
    return Answer(value=value)
