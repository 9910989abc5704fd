"""`python -m benchmarks.sync`: how fast events of Redis reach the graph."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

import neo4j
import psutil
import redis

from benchmarks.appending import BATCH, EVENT, Runs
from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, installed
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.report import table
from sidecypher_procedures.sync.changes.watching import NAME
from sidecypher_procedures.sync.publisher import RunPublisher
from sidecypher_procedures.sync.streams import events_key, lease_key

_TURN = 20


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        batches: Batches of 100 events.
        latencies: Events that are published one by one.
        commits: Commits that change nothing watched, with the trigger of the outbox and without.
        backlog: Events that wait when a consumer starts.
        runs: Repetitions of the whole measurement.
    """

    batches: int = 50
    latencies: int = 100
    commits: int = 1000
    backlog: int = 100_000
    runs: int = 3


QUICK = Scale(batches=2, latencies=3, commits=20, backlog=500, runs=1)

FIGURES = (
    Figure(
        "redis_to_many",
        "Redis to graph / `runs.appendMany`",
        "x",
        ratio("many", "redis"),
        Bar(0.8, at_least=True),
    ),
    Figure("redis_rate", "Redis to graph", "events/s", lambda s: 1 / s["redis"]),
    Figure("many_rate", "`runs.appendMany` of 100", "events/s", lambda s: 1 / s["many"]),
    Figure("latency", "published to visible, idle, p50", "ms", bar=Bar(50)),
    Figure("take_over", "kill to the next write", "s", bar=Bar(5)),
    Figure("growth", "memory more than idle, backlog", "MB", bar=Bar(50)),
    Figure("backlog_rate", "backlog", "events/s"),
    Figure(
        "trigger",
        "trigger of the outbox, unconcerned commit",
        "ms",
        lambda s: (s["watched_commit"] - s["free_commit"]) * 1e3,
        Bar(0.3),
    ),
    Figure("free_commit", "commit without that trigger", "ms"),
)


class Bench(Runs):
    """A Redis, an installation, and consumers between them."""

    def __init__(self, installation: Installation, folder: Path, session: neo4j.Session) -> None:
        super().__init__(installation, session)
        self.url = f"unix://{folder / 'redis.sock'}"
        self.redis = redis.Redis.from_url(self.url, decode_responses=True)
        self.use_partitions(1)
        self._log = folder / "sync.log"

    def use_partitions(self, count: int) -> None:
        """Begin anew, with so many partitions."""
        self.redis.flushall()
        self.publisher = RunPublisher.connect(self.url, partitions=count)
        self._partitions = count

    def consume(self, **variables: str) -> psutil.Popen:
        """Start a consumer."""
        return self.launch(
            "sync",
            "run",
            log=self._log,
            SIDECYPHER_REDIS_URL=self.url,
            SIDECYPHER_SYNC_PARTITIONS=str(self._partitions),
            **variables,
        )

    def order(self, what: Literal["stop", "start"]) -> None:
        """Stop or start the trigger of the outbox, and wait until Neo4j has done it."""
        order = f"CALL apoc.trigger.{what}('neo4j', $name)"
        with self.installation.driver.session(database="system") as system:
            system.run(order, name=NAME).consume()
        listed = "CALL apoc.trigger.list() YIELD name, paused WHERE name = $name RETURN paused"
        is_stopped = what == "stop"
        wait(lambda: self.session.run(listed, name=NAME).single()["paused"] == is_stopped)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("sync", main.__doc__, QUICK, Scale())
    if shutil.which("redis-server") is None:
        sys.exit("not measured: redis-server is not installed")
    with (
        installed() as installation,
        running_redis() as folder,
        installation.driver.session() as session,
    ):
        installation.command("migrate")
        installation.command("sync", "watch")
        bench = Bench(installation, folder, session)
        if scale is not QUICK:
            _take(bench, QUICK)
        print(table(summarise([_take(bench, scale) for _ in range(scale.runs)], FIGURES)))


@contextmanager
def running_redis() -> Iterator[Path]:
    """Start a Redis that keeps what it confirms; yield its folder."""
    with TemporaryDirectory(prefix="sidecypher-bench-") as name:
        folder = Path(name)
        options = ("--port", "0", "--unixsocket", str(folder / "redis.sock"), "--dir", name)
        kept = ("--appendonly", "yes", "--save", "")
        with subprocess.Popen(
            ["redis-server", *options, *kept], stdout=subprocess.DEVNULL
        ) as process:
            wait((folder / "redis.sock").exists)
            try:
                yield folder
            finally:
                process.terminate()


def _take(bench: Bench, scale: Scale) -> Samples:
    samples = {"many": bench.append_many(scale.batches)}
    run, count = bench.new_run(), scale.batches * BATCH
    for _ in range(count):
        bench.publisher.publish(run, EVENT)
    consumer = bench.consume()
    try:
        samples |= {"redis": bench.await_carried(run, count), "latency": _latency(bench, scale)}
        samples["take_over"] = _take_over(bench, consumer)
    finally:
        consumer.kill()
        consumer.wait()
    return samples | _backlog(bench, scale) | _commits(bench, scale)


def _latency(bench: Bench, scale: Scale) -> float:
    """Return the median of the seconds until a published event is in the graph."""
    run, taken = bench.new_run(), []
    for number in range(1, scale.latencies + 1):
        begun = time.perf_counter()
        bench.publisher.publish(run, EVENT)
        bench.await_event(run, number)
        taken.append(time.perf_counter() - begun)
    return median(taken)


def _take_over(bench: Bench, consumer: psutil.Popen) -> float:
    """Return the seconds from the kill of a consumer until another one has written an event."""
    other = bench.consume()
    try:
        wait(lambda: bench.redis.zcard("wf:consumers") == 2)
        run = bench.new_run()
        consumer.kill()
        begun = time.perf_counter()
        bench.publisher.publish(run, EVENT)
        bench.await_event(run, 1)
        return time.perf_counter() - begun
    finally:
        other.kill()
        other.wait()


def _backlog(bench: Bench, scale: Scale) -> Samples:
    """Return the rate of a consumer that catches up, and its memory above that of an idle one."""
    wait(lambda: not bench.redis.exists(lease_key(0)))
    idle = bench.consume()
    try:
        wait(lambda: bench.redis.exists(lease_key(0)))
        time.sleep(2)
        base = idle.memory_info().rss
        idle.suspend()
        runs = [bench.new_run() for _ in range(20)]
        for number in range(scale.backlog):
            bench.publisher.publish(runs[number % 20], EVENT)
        idle.resume()
        begun, most = time.perf_counter(), base
        while bench.redis.xinfo_groups(events_key(0))[0]["lag"]:
            most = max(most, idle.memory_info().rss)
            time.sleep(0.2)
        for run in runs:
            bench.await_event(run, scale.backlog // 20, pause=0.05)
        seconds = time.perf_counter() - begun
        return {"growth": float(most - base), "backlog_rate": scale.backlog / seconds}
    finally:
        idle.terminate()
        idle.wait()


def _commits(bench: Bench, scale: Scale) -> Samples:
    """Commit changes that nobody watches, in turns with the trigger and without it."""
    taken: dict[str, list[float]] = {"watched_commit": [], "free_commit": []}
    for _ in range(scale.commits // _TURN):
        taken["watched_commit"] += _run_commits(bench, _TURN)
        bench.order("stop")
        taken["free_commit"] += _run_commits(bench, _TURN)
        bench.order("start")
    return {name: median(each) for name, each in taken.items()}


def _run_commits(bench: Bench, count: int) -> list[float]:
    statement = "CREATE (:Task {type: 'issue'})"
    return [seconds_of(lambda: bench.session.run(statement).consume()) for _ in range(count)]


def wait(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    while not condition():
        time.sleep(0.01)


if __name__ == "__main__":
    main()
