"""`python -m benchmarks.runs`: the cost of an event of a run."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import neo4j

from benchmarks.clients import rate
from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import installed
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.postgresql import Postgresql, postgresql
from benchmarks.report import table
from sidecypher_procedures.runs.drawing import draw_lines, draw_svg, read_timeline

_CREATE = "CALL runs.create('benchmark') YIELD id RETURN id"
_APPEND = "CALL runs.append($run, $event) YIELD seq RETURN seq"
_MANY = "CALL runs.appendMany($run, $events) YIELD seq RETURN count(*) AS events"
_BARE = "CREATE (:Bare {id: randomUUID()})"
# The same nodes and relationships, without order and digests.
_RAW = """
    MATCH (r:WorkflowRun {id: $run})
    UNWIND $events AS event
    CREATE (e:Event:Message {id: randomUUID(), runId: r.id + '-raw', seq: event.seq,
        type: event.type, content: event.content, role: 'user', timestamp: datetime(),
        createdAt: datetime(), contentDigest: $digest, digest: $digest})-[:PART_OF]->(r)
    WITH e ORDER BY e.seq WITH collect(e) AS events
    UNWIND range(1, size(events) - 1) AS i
    WITH events[i - 1] AS before, events[i] AS after
    CREATE (before)-[:NEXT]->(after)
"""
_SCAN = """
    MATCH (e:Event) WHERE e.runId = $run AND e.seq > 0 WITH e ORDER BY e.runId, e.seq
    RETURN count([properties(e), [(p)-[:NEXT]->(e) | p.id]]) AS events
"""
_EVENTS = "CALL runs.events($run) YIELD seq, event RETURN count(event) AS events"
_CARRY = "CALL bench.carry($run) YIELD seq, event RETURN count(event) AS events"
_FORK = "CALL runs.fork($run, $seq) YIELD id RETURN id"
_STATES = "CALL runs.state.batch($rows) YIELD state RETURN count(state) AS states"
_GET = "CALL runs.get($run)"
_TIMELINE = "CALL runs.timeline($run)"
_TURN = 20


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        appends: Events that are appended one by one, in turns with bare nodes.
        batches: Batches of 500 events.
        seconds: Duration of concurrent appends.
        long: Events of the long run.
        states: Runs whose states are read at once.
        reads: Reads of each kind.
        runs: Repetitions of the whole measurement.
    """

    appends: int = 300
    batches: int = 10
    seconds: float = 5.0
    long: int = 10_000
    states: int = 1000
    reads: int = 10
    runs: int = 3


QUICK = Scale(appends=20, batches=1, seconds=0.3, long=500, states=50, reads=2, runs=1)

FIGURES = (
    Figure("append_to_bare", "append / bare node", "x", ratio("append", "bare"), Bar(3)),
    Figure("append", "`runs.append`", "ms"),
    Figure("bare", "bare one-node write", "ms"),
    Figure("postgresql", "locked append of PostgreSQL", "ms"),
    Figure(
        "many_to_raw",
        "`runs.appendMany` of 500 / raw UNWIND",
        "x",
        ratio("raw", "many"),
        Bar(0.5, at_least=True),
    ),
    Figure("many_rate", "`runs.appendMany`", "events/s", lambda s: 500 / s["many"]),
    Figure(
        "eight_to_one",
        "8 clients on 8 runs / one",
        "x",
        ratio("eight_rate", "one_rate"),
        Bar(2, at_least=True),
    ),
    Figure("one_rate", "one client", "events/s"),
    Figure(
        "late_to_early",
        "append at event 10 000 / at event 10",
        "x",
        ratio("late", "early"),
        Bar(1.2),
    ),
    Figure("events", "`runs.events` of 10 000", "ms"),
    Figure("scan", "raw scan of 10 000", "ms"),
    Figure("bridge", "10 000 rows over the bridge", "ms", lambda s: _bridge(s) * 1e3),
    Figure(
        "events_to_scan",
        "`runs.events` without the bridge / scan",
        "x",
        lambda s: max(s["events"] - _bridge(s), 0) / s["scan"],
        Bar(2),
    ),
    Figure("fork", "`runs.fork` of 10 000", "ms", bar=Bar(10)),
    Figure("states", "states of 1 000 runs", "ms", bar=Bar(50)),
    Figure("timeline", "`runs.timeline` of 1 000", "ms"),
    Figure("picture", "the same as text and SVG", "ms", bar=Bar(1000)),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("runs", main.__doc__, QUICK, Scale())
    with installed() as installation, postgresql() as server:
        installation.command("migrate")
        runs = measure(installation.driver, server, scale)
    figures = FIGURES
    if server is None:
        print("not measured: the append of PostgreSQL, which is not installed", file=sys.stderr)
        figures = tuple(each for each in FIGURES if not each.name.startswith("postgresql"))
    print(table(summarise(runs, figures)))


def measure(driver: neo4j.Driver, server: Postgresql | None, scale: Scale) -> list[Samples]:
    """Measure after a small run that warms everything up, unless the measurement is small too."""
    if scale is not QUICK:
        _take(driver, server, QUICK)
    return [_take(driver, server, scale) for _ in range(scale.runs)]


def _take(driver: neo4j.Driver, server: Postgresql | None, scale: Scale) -> Samples:
    samples = _appends(driver, server, scale)
    for sample in (_batches, _clients, _long, _states, _pictures):
        samples |= sample(driver, scale)
    return samples


def _appends(driver: neo4j.Driver, server: Postgresql | None, scale: Scale) -> Samples:
    """Append to a run, in turns with bare nodes, and with rows of PostgreSQL."""
    taken: dict[str, list[float]] = {"append": [], "bare": []}
    with driver.session() as session:
        run = _new(session)
        for _ in range(scale.appends // _TURN):
            taken["append"] += _timed(session, _TURN, _APPEND, **_one(run))
            taken["bare"] += _timed(session, _TURN, _BARE)
            if server is not None:
                rows = taken.setdefault("postgresql", [])
                rows += [seconds_of(lambda: server.append("some words")) for _ in range(_TURN)]
    return {name: median(each) for name, each in taken.items()}


def _batches(driver: neo4j.Driver, scale: Scale) -> Samples:
    events = [{"type": "userMessage", "content": f"text {number}"} for number in range(500)]
    taken: dict[str, list[float]] = {"many": [], "raw": []}
    with driver.session() as session:
        for _ in range(scale.batches):
            run = _new(session)
            raw = [{**event, "seq": number} for number, event in enumerate(events)]
            taken["many"] += _timed(session, 1, _MANY, run=run, events=events)
            taken["raw"] += _timed(session, 1, _RAW, run=run, events=raw, digest=64 * "0")
    return {name: median(each) for name, each in taken.items()}


def _clients(driver: neo4j.Driver, scale: Scale) -> Samples:
    return {
        "one_rate": rate(driver, 1, scale.seconds, _append_events),
        "eight_rate": rate(driver, 8, scale.seconds, _append_events),
    }


def _append_events(session: neo4j.Session) -> Iterator[None]:
    """Append events to a new run."""
    run = _new(session)
    while True:
        session.run(_APPEND, _one(run)).consume()
        yield


def _long(driver: neo4j.Driver, scale: Scale) -> Samples:
    """Append to a long run in turns with a short one, and read the long one."""
    names = ("late", "early", "events", "scan", "carry", "fork")
    taken: dict[str, list[float]] = {name: [] for name in names}
    with driver.session() as session:
        run = _new(session)
        events = [{"type": "userMessage", "content": f"text {number}"} for number in range(500)]
        for _ in range(scale.long // 500):
            session.run(_MANY, run=run, events=events).consume()
        for _ in range(scale.reads):
            taken["events"] += _timed(session, 1, _EVENTS, run=run)
            taken["scan"] += _timed(session, 1, _SCAN, run=run)
            taken["carry"] += _timed(session, 1, _CARRY, run=run)
            taken["fork"] += _timed(session, 1, _FORK, run=run, seq=scale.long)
        for _ in range(scale.appends // _TURN):
            short = _new(session)
            session.run(_MANY, run=short, events=events[:10]).consume()
            taken["late"] += _timed(session, _TURN, _APPEND, **_one(run))
            taken["early"] += _timed(session, _TURN, _APPEND, **_one(short))
    return {name: median(each) for name, each in taken.items()}


def _states(driver: neo4j.Driver, scale: Scale) -> Samples:
    with driver.session() as session:
        rows = [[_new(session)] for _ in range(scale.states)]
        return {"states": median(_timed(session, scale.reads, _STATES, rows=rows))}


def _row(record: neo4j.Record) -> dict[str, Any]:
    """Return a row of `runs.timeline` with a time of the standard library."""
    return {**record, "createdAt": record["createdAt"].to_native()}


def _pictures(driver: neo4j.Driver, scale: Scale) -> Samples:
    """Read and draw a run in which every third event has another child."""
    taken: dict[str, list[float]] = {"timeline": [], "picture": []}
    with driver.session() as session:
        run = _new(session)
        events = [{"id": f"{run}-{number}", "type": "status"} for number in range(1000)]
        branches = [
            {**event, "parentIds": [f"{run}-{number - 3}"]}
            if number > 3 and not number % 3
            else event
            for number, event in enumerate(events)
        ]
        session.run(_MANY, run=run, events=branches).consume()
        for _ in range(scale.reads):
            taken["timeline"] += _timed(session, 1, _TIMELINE, run=run)
            found = session.run(_GET, run=run).single(strict=True)["run"]
            rows = [_row(record) for record in session.run(_TIMELINE, run=run)]
            begun = time.perf_counter()
            timeline = read_timeline(found, rows)
            drawn = [*draw_lines(timeline), draw_svg(timeline)]
            taken["picture"].append(time.perf_counter() - begun)
            assert len(drawn) > len(rows)
    return {name: median(each) for name, each in taken.items()}


def _new(session: neo4j.Session) -> str:
    run: str = session.run(_CREATE).single(strict=True)["id"]
    return run


def _one(run: str) -> dict[str, Any]:
    return {"run": run, "event": {"type": "userMessage", "content": "some words"}}


def _timed(session: neo4j.Session, times: int, statement: str, **parameters: Any) -> list[float]:
    """Return the seconds of each call, answer and commit included."""
    return [seconds_of(lambda: session.run(statement, parameters).consume()) for _ in range(times)]


def _bridge(samples: Samples) -> float:
    """Return the seconds to send the rows of the long run to Python and back."""
    return max(samples["carry"] - samples["scan"], 0)


if __name__ == "__main__":
    main()
