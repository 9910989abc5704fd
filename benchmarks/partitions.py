"""`python -m benchmarks.partitions`: what more partitions, consumers and machines would bring.

A simulation with the measured costs of a batch. It is compared with runs of one and two consumers,
so that it can be wrong.
"""

import argparse
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import simpy
from rich.console import Console
from rich.table import Table

from benchmarks.installation import Installation, installed
from benchmarks.sync import BATCH, Bench, running_redis
from sidecypher.runtime.process.state import read_state
from sidecypher_procedures.sync.streams import partition_of

_EVENT = {"type": "userMessage", "content": "some words of a message"}
_RUNS = 5
"""Runs of each partition: a batch of more runs costs more."""

_SIMULATED_SECONDS = 60.0


@dataclass(frozen=True)
class Costs:
    """What one batch costs, in seconds.

    Attributes:
        consumer: CPU time of the consumer, which is one Python process.
        sidecar: CPU time of the sidecar, which is one Python process.
        neo4j: CPU time of Neo4j, which uses all cores.
        wait: The rest of its elapsed time when it is alone: disk and network.
    """

    consumer: float
    sidecar: float
    neo4j: float
    wait: float


@dataclass(frozen=True)
class Layout:
    """What is simulated.

    Attributes:
        partitions: Partitions, spread evenly.
        consumers: Consumers, spread evenly.
        cores: Cores of each machine.
        machines: Machines, each with a Neo4j and a sidecar for its share of the runs.
    """

    partitions: int
    consumers: int
    cores: int
    machines: int = 1


MEASURED = ((1, 1), (4, 1), (4, 2))
"""Partitions and consumers that are measured; the first one gives the costs."""

PREDICTED = (
    Layout(8, 1, cores=4),
    Layout(8, 2, cores=4),
    Layout(8, 4, cores=8),
    Layout(8, 8, cores=16),
    Layout(16, 8, cores=8, machines=2),
    Layout(32, 16, cores=8, machines=4),
)


def simulated_rate(costs: Costs, layout: Layout) -> float:
    """Return the events per second that a layout would write while events never run out."""
    env = simpy.Environment()
    cores = [simpy.Resource(env, layout.cores) for _ in range(layout.machines)]
    sidecars = [simpy.Resource(env) for _ in range(layout.machines)]
    consumers = [simpy.Resource(env) for _ in range(layout.consumers)]
    done = 0

    def compute(process: simpy.Resource, core: simpy.Resource, seconds: float) -> Generator[Any]:
        with process.request() as turn:
            yield turn
            with core.request() as place:
                yield place
                yield env.timeout(seconds)

    def work(number: int) -> Generator[Any]:
        nonlocal done
        machine, consumer = number % layout.machines, number % layout.consumers
        while True:
            yield from compute(
                consumers[consumer], cores[consumer % layout.machines], costs.consumer
            )
            yield from compute(sidecars[machine], cores[machine], costs.sidecar)
            with cores[machine].request() as place:
                yield place
                yield env.timeout(costs.neo4j)
            yield env.timeout(costs.wait)
            done += 1

    for number in range(layout.partitions):
        env.process(work(number))
    env.run(until=_SIMULATED_SECONDS)
    return done * BATCH / _SIMULATED_SECONDS


def main() -> None:
    """Measure, simulate and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partitions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few events, to see that it works")
    batches = 4 if parser.parse_args().quick else 100
    cores = psutil.cpu_count() or 1
    compared = Table("partitions", "consumers", "simulated events/s", "measured", "ratio")
    costs = None
    with installed() as installation:
        installation.command("migrate")
        _measure(installation, 1, 1, batches)  # warms up
        for partitions, consumers in MEASURED:
            rate, found = _measure(installation, partitions, consumers, batches)
            costs = costs or found
            guess = simulated_rate(costs, Layout(partitions, consumers, cores))
            row = (partitions, consumers, f"{guess:.0f}", f"{rate:.0f}", f"{guess / rate:.2f}")
            compared.add_row(*map(str, row))
    assert costs is not None
    console = Console()
    shares = (costs.consumer, costs.sidecar, costs.neo4j, costs.wait)
    names = ("consumer", "sidecar", "Neo4j", "wait")
    console.print("batch of 100: " + _listed(names, shares))
    console.print(compared)
    predicted = Table("machines", "cores of each", "partitions", "consumers", "simulated events/s")
    for each in PREDICTED:
        rate = simulated_rate(costs, each)
        row = (each.machines, each.cores, each.partitions, each.consumers, f"{rate:.0f}")
        predicted.add_row(*map(str, row))
    console.print(predicted)


def _listed(names: tuple[str, ...], seconds: tuple[float, ...]) -> str:
    return ", ".join(
        f"{name} {each * 1e3:.1f} ms" for name, each in zip(names, seconds, strict=True)
    )


def _measure(
    installation: Installation, partitions: int, consumers: int, batches: int
) -> tuple[float, Costs]:
    """Publish events, then let consumers write them; return the rate and the costs of a batch."""
    with running_redis() as folder, installation.driver.session() as session:
        bench = Bench(installation, folder, session, partitions=partitions)
        runs = _balanced_runs(bench, partitions)
        events = batches * BATCH * partitions
        for number in range(events):
            bench.publisher.publish(runs[number % len(runs)], _EVENT)
        with _consuming(bench, consumers) as processes:
            bench.await_event(runs[0], 1)
            before, begun = _cpu_seconds(installation.home, processes), time.perf_counter()
            for run in runs:
                bench.await_event(run, events // len(runs))
            elapsed = time.perf_counter() - begun
            after = _cpu_seconds(installation.home, processes)
    used = [
        (late - early) / (batches * partitions) for early, late in zip(before, after, strict=True)
    ]
    consumer, sidecar, neo4j = used
    wait = max(0.0, elapsed / batches - sum(used)) if partitions == 1 else 0.0
    return events / elapsed, Costs(consumer, sidecar, neo4j, wait)


def _balanced_runs(bench: Bench, partitions: int) -> list[str]:
    """Create runs, as many in each partition, in turns."""
    by_partition: dict[int, list[str]] = {number: [] for number in range(partitions)}
    while any(len(each) < _RUNS for each in by_partition.values()):
        name = f"partitions-{time.time_ns()}"
        found = by_partition[partition_of(name, partitions)]
        if len(found) < _RUNS:
            found.append(bench.new_run(name))
    return [run for turn in zip(*by_partition.values(), strict=True) for run in turn]


@contextmanager
def _consuming(bench: Bench, count: int) -> Iterator[list[psutil.Process]]:
    processes = [bench.consume() for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        psutil.wait_procs(processes)


def _cpu_seconds(home: Path, consumers: list[psutil.Process]) -> tuple[float, float, float]:
    """Return the CPU seconds so far of all consumers, of the sidecar and of Neo4j."""
    named = {each.name: psutil.Process(each.pid) for each in read_state(home).processes}
    return (
        sum(map(_seconds_of, consumers)),
        _seconds_of(named["sidecar"]),
        _seconds_of(named["neo4j"]),
    )


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
