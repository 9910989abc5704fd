"""`python -m benchmarks.postgres`: how fast events of PostgreSQL reach the graph."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import neo4j
import psycopg

from benchmarks.appending import BATCH, EVENT, Runs
from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, installed
from benchmarks.measures import Samples, scale_of
from benchmarks.postgresql import postgresql
from benchmarks.report import table
from sidecypher_procedures.sync.postgres.connection import ask_postgres
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.postgres.schema import init


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
        ratio("many", "outbox"),
        Bar(0.6, at_least=True),
    ),
    Figure("outbox_rate", "outbox to graph", "events/s", lambda s: 1 / s["outbox"]),
    Figure("many_rate", "`runs.appendMany` of 100", "events/s", lambda s: 1 / s["many"]),
    Figure("add", "add and commit, p50", "ms"),
    Figure("latency", "committed to visible, idle, p50", "ms"),
)


class Bench(Runs):
    """A PostgreSQL, an installation, and a worker between them."""

    def __init__(self, installation: Installation, url: str, session: neo4j.Session) -> None:
        super().__init__(installation, session)
        self.url = url
        self.outbox = PostgresOutbox("sidecypher")

    @contextmanager
    def working(self, log: Path) -> Iterator[None]:
        """Let a worker run."""
        command = ("sync", "postgres", "run")
        worker = self.launch(*command, log=log, SIDECYPHER_POSTGRES_URL=self.url)
        try:
            yield
        finally:
            worker.terminate()
            worker.wait()


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("postgres", main.__doc__, QUICK, Scale())
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
    samples = {"many": bench.append_many(scale.batches)}
    run, count = bench.new_run(), scale.batches * BATCH
    with psycopg.connect(bench.url) as conn:
        for _ in range(count):
            bench.outbox.add(conn, run, EVENT)
    with tempfile.TemporaryDirectory() as folder, bench.working(Path(folder) / "worker.log"):
        samples["outbox"] = bench.await_carried(run, count)
        return samples | _latency(bench, scale)


def _latency(bench: Bench, scale: Scale) -> Samples:
    """Return medians: the seconds to add and commit an event, and until it is in the graph."""
    run, added, visible = bench.new_run(), [], []
    with psycopg.connect(bench.url) as conn:
        for number in range(1, scale.latencies + 1):
            begun = time.perf_counter()
            bench.outbox.add(conn, run, EVENT)
            conn.commit()
            added.append(time.perf_counter() - begun)
            committed = time.perf_counter()
            bench.await_event(run, number)
            visible.append(time.perf_counter() - committed)
    return {"add": median(added), "latency": median(visible)}


if __name__ == "__main__":
    main()
