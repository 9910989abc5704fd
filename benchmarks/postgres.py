"""`python -m benchmarks.postgres`: how fast events of PostgreSQL reach the graph."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import neo4j
import psutil
import psycopg

from benchmarks.figures import Bar, Figure, summarise
from benchmarks.installation import Installation, installed
from benchmarks.measures import Samples
from benchmarks.postgresql import postgresql
from benchmarks.report import table
from sidecypher_procedures.sync.postgres.connection import ask_postgres
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.postgres.schema import init

_CREATE = "CALL runs.create('benchmark', {id: $id}) YIELD id RETURN id"
_MANY = "CALL runs.appendMany($run, $events) YIELD seq RETURN count(*) AS events"
_LAST = "MATCH (r:WorkflowRun {id: $run}) RETURN r.lastSeq AS seq"
_BATCH = 100
_EVENT = {"type": "userMessage", "content": "some words of a message"}


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        batches: Batches of 100 events.
        latencies: Events that are added one by one.
        runs: Repetitions of the whole measurement.
    """

    batches: int = 50
    latencies: int = 100
    runs: int = 3


QUICK = Scale(batches=2, latencies=3, runs=1)

FIGURES = (
    Figure(
        "outbox_to_many",
        "outbox to graph / `runs.appendMany`",
        "x",
        lambda s: s["many"] / s["outbox"],
        Bar(0.6, at_least=True),
    ),
    Figure("outbox_rate", "outbox to graph", "events/s", lambda s: 1 / s["outbox"]),
    Figure("many_rate", "`runs.appendMany` of 100", "events/s", lambda s: 1 / s["many"]),
    Figure("add", "add and commit, p50", "ms", lambda s: s["add"] * 1e3),
    Figure("latency", "committed to visible, idle, p50", "ms", lambda s: s["latency"] * 1e3),
)


class Bench:
    """A PostgreSQL, an installation, and a worker between them."""

    def __init__(self, installation: Installation, url: str, session: neo4j.Session) -> None:
        self.url = url
        self.session = session
        self.outbox = PostgresOutbox("sidecypher")
        self._installation = installation

    @contextmanager
    def working(self, log: Path) -> Iterator[None]:
        """Let a worker run."""
        variables = {"SIDECYPHER_POSTGRES_URL": self.url}
        with log.open("ab") as output:
            worker = psutil.Popen(
                [sys.executable, "-m", "sidecypher", "sync", "postgres", "run"],
                env=self._installation.environ | variables,
                stdout=output,
                stderr=output,
            )
        try:
            yield
        finally:
            worker.terminate()
            worker.wait()

    def new_run(self) -> str:
        """Create a run; return its id."""
        name = f"outbox-{time.time_ns()}"
        self.session.run(_CREATE, id=name).consume()
        return name

    def await_event(self, run: str, seq: int) -> None:
        """Wait until a run has its event of this number."""
        while (self.session.run(_LAST, run=run).single(strict=True)["seq"] or 0) < seq:
            time.sleep(0.001)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="one small run, to see that it works")
    scale = QUICK if parser.parse_args().quick else Scale()
    with installed() as installation, postgresql() as server:
        if server is None:
            sys.exit("not measured: PostgreSQL is not installed")
        installation.command("migrate")
        ask_postgres(server.url, lambda conn: init(conn, "sidecypher"))
        with installation.driver.session() as session:
            bench = Bench(installation, server.url, session)
            if scale is not QUICK:
                _take(bench, QUICK)
            print(table(summarise([_take(bench, scale) for _ in range(scale.runs)], FIGURES)))


def _take(bench: Bench, scale: Scale) -> Samples:
    samples = {"many": _many(bench, scale)}
    run, count = bench.new_run(), scale.batches * _BATCH
    with psycopg.connect(bench.url) as conn:
        for _ in range(count):
            bench.outbox.add(conn, run, _EVENT)
    with tempfile.TemporaryDirectory() as folder, bench.working(Path(folder) / "worker.log"):
        samples["outbox"] = _through(bench, run, count)
        return samples | _latency(bench, scale)


def _many(bench: Bench, scale: Scale) -> float:
    """Return the seconds of an event that is appended in a batch."""
    run, events = bench.new_run(), [_EVENT] * _BATCH
    begun = time.perf_counter()
    for _ in range(scale.batches):
        bench.session.run(_MANY, run=run, events=events).consume()
    return (time.perf_counter() - begun) / (scale.batches * _BATCH)


def _through(bench: Bench, run: str, count: int) -> float:
    """Return the seconds of an event that was added before the worker has begun."""
    bench.await_event(run, 1)
    seen = bench.session.run(_LAST, run=run).single(strict=True)["seq"]
    begun = time.perf_counter()
    bench.await_event(run, count)
    return (time.perf_counter() - begun) / max(1, count - seen)


def _latency(bench: Bench, scale: Scale) -> Samples:
    """Return medians: the seconds to add and commit an event, and until it is in the graph."""
    run, added, visible = bench.new_run(), [], []
    with psycopg.connect(bench.url) as conn:
        for number in range(1, scale.latencies + 1):
            begun = time.perf_counter()
            bench.outbox.add(conn, run, _EVENT)
            conn.commit()
            added.append(time.perf_counter() - begun)
            committed = time.perf_counter()
            bench.await_event(run, number)
            visible.append(time.perf_counter() - committed)
    return {"add": median(added), "latency": median(visible)}


if __name__ == "__main__":
    main()
