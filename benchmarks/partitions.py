"""`python -m benchmarks.partitions`: what more partitions, consumers and cores would bring.

A model with the measured costs of a batch, compared with runs of one and two consumers so that it
can be wrong.
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.appending import BATCH, EVENT
from benchmarks.installation import installed
from benchmarks.measures import scale_of
from benchmarks.report import aligned, number
from benchmarks.sync import Bench, running_redis, wait
from sidecypher.runtime.process.state import read_state
from sidecypher_procedures.sync.streams import lease_key, partition_of

MOST_WRONG = 0.3
"""How far a prediction may be off."""

_RUNS = 5
_WARM_UPS = 5
_COMPILERS = ("C1 Compiler", "C2 Compiler")
"""Threads of a JVM that compile, which they have done in the end."""


@dataclass(frozen=True)
class Costs:
    """What one batch costs, in seconds.

    Attributes:
        neo4j: CPU time of Neo4j, on any core, without that of its compilers.
        sidecar: CPU time of the sidecar, which runs on one core at a time.
        redis: CPU time of Redis.
        consumer: CPU time of the consumer, which runs on one core at a time.
        waiting: The rest of the time that a batch takes when it is alone.
    """

    neo4j: float
    sidecar: float
    redis: float
    consumer: float
    waiting: float


@dataclass(frozen=True)
class Layout:
    """Processes between Redis and one graph.

    Attributes:
        cores: Cores of the machine of Neo4j, the sidecars and the consumers.
    """

    partitions: int
    consumers: int
    cores: int
    sidecars: int = 1


MEASURED = ((1, 1), (4, 1), (4, 2))
"""Partitions and consumers that are measured; the first of them gives the costs."""

PREDICTED = (
    Layout(8, 1, cores=4),
    Layout(8, 2, cores=4),
    Layout(8, 2, cores=8),
    Layout(8, 4, cores=8, sidecars=2),
    Layout(16, 8, cores=16, sidecars=4),
    Layout(64, 16, cores=32, sidecars=8),
)


def predicted_rate(costs: Costs, layout: Layout) -> float:
    """Return the events per second that a layout writes while events never run out.

    By mean value analysis of a closed network with a batch of each partition in it (Reiser and
    Lavenberg, 1980). A station of several servers is one that is as many times faster, and a delay
    (Seidmann, Schweitzer and Shalev-Oren, 1987).

    Example:
        >>> round(predicted_rate(Costs(0.1, 0, 0, 0, 0), Layout(1, 1, cores=1)))
        1000
    """
    computing = costs.neo4j + costs.sidecar + costs.redis + costs.consumer
    stations = (
        (computing, layout.cores),
        (costs.sidecar, layout.sidecars),
        (costs.consumer, layout.consumers),
    )
    # What a process computes on its own core is time on a core already.
    demands = [seconds / servers for seconds, servers in stations]
    alone = computing + costs.waiting
    delay = max(0.0, alone - sum(demands))
    queues = [0.0] * len(demands)
    rate = 0.0
    for batches in range(1, layout.partitions + 1):
        stays = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        rate = batches / (delay + sum(stays))
        queues = [rate * stay for stay in stays]
    return rate * BATCH


def main() -> None:
    """Measure, predict and print both tables; end with 1 if a prediction is too far off."""
    is_quick = scale_of("partitions", __doc__, quick=True, full=False)
    cores = psutil.cpu_count() or 1
    with installed() as installation, installation.driver.session() as session:
        installation.command("migrate")
        with running_redis() as folder:
            bench = Bench(installation, folder, session)
            batches = 2 if is_quick else 50
            for _ in range(0 if is_quick else _WARM_UPS):
                _measure(bench, 4, 1, batches)
            found = [_measure(bench, *each, batches) for each in MEASURED]
    rates, costs = [rate for rate, _ in found], found[0][1]
    guesses = [predicted_rate(costs, Layout(*each, cores)) for each in MEASURED]
    parts = {name: f"{seconds * 1e3:.1f} ms" for name, seconds in vars(costs).items()}
    print("a batch of 100:", ", ".join(f"{name} {part}" for name, part in parts.items()))
    compared = [
        (*map(str, each), number(guess), number(rate), f"{guess / rate:.2f}")
        for each, guess, rate in zip(MEASURED, guesses, rates, strict=True)
    ]
    print(aligned([("partitions", "consumers", "predicted", "measured", "ratio"), *compared]))
    print(aligned([("cores", "sidecars", "partitions", "consumers", "events/s"), *_beyond(costs)]))
    wrong = max(abs(guess / rate - 1) for guess, rate in zip(guesses, rates, strict=True))
    if not is_quick and wrong > MOST_WRONG:
        sys.exit(f"a prediction is {wrong:.0%} off")


def _beyond(costs: Costs) -> list[Sequence[str]]:
    return [
        (
            *(str(each) for each in (at.cores, at.sidecars, at.partitions, at.consumers)),
            number(predicted_rate(costs, at)),
        )
        for at in PREDICTED
    ]


def _measure(bench: Bench, partitions: int, consumers: int, batches: int) -> tuple[float, Costs]:
    """Publish batches of each partition, let consumers write them; return rate and costs."""
    bench.use_partitions(partitions)
    runs = _runs_by_turns(bench, partitions)
    events = batches * BATCH * partitions
    # Stopped while events are published, they keep their partitions.
    processes = [bench.consume(SIDECYPHER_SYNC_LEASE_SECONDS="60") for _ in range(consumers)]
    try:
        wait(lambda: _shares(bench, partitions) == [partitions // consumers] * consumers)
        for process in processes:
            process.suspend()
        for place in range(events):
            bench.publisher.publish(runs[place % len(runs)], EVENT)
        for process in processes:
            process.resume()
        bench.await_event(runs[0], 1)
        written = sum(map(bench.last_event, runs))
        before, begun = _cpu_seconds(bench, processes), time.perf_counter()
        for run in runs:
            bench.await_event(run, events // len(runs), pause=0.05)
        elapsed = time.perf_counter() - begun
        after = _cpu_seconds(bench, processes)
    finally:
        for process in processes:
            process.terminate()
        psutil.wait_procs(processes)
    done = (events - written) / BATCH
    used = [(late - early) / done for early, late in zip(before, after, strict=True)]
    return done * BATCH / elapsed, Costs(*used, waiting=max(0.0, elapsed / done - sum(used)))


def _shares(bench: Bench, partitions: int) -> list[int]:
    """Return the number of partitions of each consumer."""
    leases = bench.redis.mget([lease_key(partition) for partition in range(partitions)])
    return [*Counter(filter(None, leases)).values()]


def _runs_by_turns(bench: Bench, partitions: int) -> list[str]:
    """Create runs, as many in each partition, one of each in turns."""
    found: dict[int, list[str]] = {partition: [] for partition in range(partitions)}
    while any(len(each) < _RUNS for each in found.values()):
        run = bench.new_run()
        found[partition_of(run, partitions)].append(run)
    turns = zip(*(each[:_RUNS] for each in found.values()), strict=True)
    return [run for turn in turns for run in turn]


def _cpu_seconds(bench: Bench, consumers: Sequence[psutil.Process]) -> tuple[float, ...]:
    """Return the CPU seconds so far of Neo4j, of the sidecar, of Redis and of the consumers."""
    state = read_state(bench.installation.home)
    named = {each.name: psutil.Process(each.pid) for each in state.processes}
    return (
        _seconds_without_compilers(named["neo4j"]),
        _seconds_of(named["sidecar"]),
        _seconds_of(psutil.Process(bench.redis.info("server")["process_id"])),
        sum(map(_seconds_of, consumers)),
    )


def _seconds_without_compilers(process: psutil.Process) -> float:
    total = 0.0
    for thread in process.threads():
        name = Path(f"/proc/{process.pid}/task/{thread.id}/comm")
        if not name.exists() or not name.read_text().startswith(_COMPILERS):
            total += thread.user_time + thread.system_time
    return total


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
