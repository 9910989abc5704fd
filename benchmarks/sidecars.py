"""`python -m benchmarks.sidecars`: what more sidecars bring, and what restarting them costs.

A simulation with the measured costs of a call predicts the rate and the slowest calls of 1, 2 and 4
sidecars, and is compared with runs so that it can be wrong.
"""

import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import simpy

from benchmarks.installation import Installation, Load, ended, installed, wait_until
from benchmarks.measures import scale_of
from benchmarks.report import aligned, number
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.runtime.process.restart import restart_process

MOST_WRONG = 0.3
"""How far a predicted rate may be off."""

CALLERS = 32
MEASURED = (1, 2, 4)
"""Numbers of sidecars that are measured; the first of them gives the costs."""

_CALLS = 20_000
"""Calls of a simulation."""

_SLICE = 0.001
"""Seconds for which the simulation gives a core to one call at a time."""

_COMPUTE = """
    UNWIND range(1, 1000000000) AS n
    CALL bench.compute(20000) YIELD value
    RETURN value
"""
_ANY_MEMORY = "dbms.memory.transaction.total.max=0\n"
"""Each transaction reserves two MiB, and 200 of them more than Neo4j allows with its heap here."""

_SECONDS = 15.0


@dataclass(frozen=True)
class Costs:
    """What one call costs, in seconds of CPU time.

    Attributes:
        neo4j: Of Neo4j, on any core.
        sidecar: Of a sidecar, which computes on one core at a time.
    """

    neo4j: float
    sidecar: float


@dataclass(frozen=True)
class Layout:
    """Sidecars behind one Neo4j on a machine, and callers that call all the time."""

    sidecars: int
    cores: int
    callers: int


PREDICTED = (
    Layout(2, cores=4, callers=64),
    Layout(4, cores=8, callers=128),
    Layout(16, cores=32, callers=512),
)


@dataclass(frozen=True)
class Prediction:
    """What a layout does: calls per second, and the seconds of the slowest of a hundred."""

    rate: float
    p99: float


def predict(costs: Costs, layout: Layout, calls: int = _CALLS) -> Prediction:
    """Simulate calls whose costs vary as if by chance around their mean.

    Example:
        >>> found = predict(Costs(0.0, 0.01), Layout(2, cores=2, callers=2), 1000)
        >>> 150 < found.rate < 250
        True
    """
    chance = random.Random(1)
    environment = simpy.Environment()
    cores = simpy.Resource(environment, layout.cores)
    # A thread of Python computes while it has its interpreter's lock.
    locks = [simpy.Resource(environment, 1) for _ in range(layout.sidecars)]
    times: list[float] = []

    def compute(seconds: float, lock: simpy.Resource | None) -> Iterator[Any]:
        while seconds > 0:
            part = min(seconds, _SLICE)
            with ExitStack() as stack:
                for needed in (lock, cores):
                    if needed is not None:
                        yield stack.enter_context(needed.request())
                yield environment.timeout(part)
            seconds -= part

    def caller(sidecar: int) -> Iterator[Any]:
        while len(times) < calls:
            begun = environment.now
            # A call is long or short in all of its parts.
            size = chance.gammavariate(9, 1 / 9)
            yield from compute(costs.neo4j * size / 2, None)
            yield from compute(costs.sidecar * size, locks[sidecar])
            yield from compute(costs.neo4j * size / 2, None)
            times.append(environment.now - begun)

    for each in range(layout.callers):
        environment.process(caller(each % layout.sidecars))
    environment.run()
    times.sort()
    return Prediction(len(times) / environment.now, times[int(len(times) * 0.99)])


def main() -> None:
    """Measure, predict and print the tables; end with 1 if a prediction is too far off."""
    is_quick = scale_of("sidecars", __doc__, quick=True, full=False)
    seconds = 1.0 if is_quick else _SECONDS
    cores = psutil.cpu_count() or 1
    with installed(_ANY_MEMORY) as installation:
        _load(installation, seconds)
        found = [_measure(installation, count, seconds) for count in MEASURED]
        costs = found[0][1]
        quiet, restarted, restarts = _rolling_restart(installation, seconds)
    guesses = [predict(costs, Layout(count, cores, CALLERS)) for count in MEASURED]
    print(f"a call: Neo4j {costs.neo4j * 1e3:.2f} ms, sidecar {costs.sidecar * 1e3:.2f} ms")
    compared = [
        (
            str(count),
            number(guess.rate),
            number(load.rate),
            f"{guess.rate / load.rate:.2f}",
            f"{guess.p99 * 1e3:.0f} ms",
            f"{load.p99 * 1e3:.0f} ms",
        )
        for count, guess, (load, _) in zip(MEASURED, guesses, found, strict=True)
    ]
    print(aligned([("sidecars", "predicted", "measured", "ratio", "p99", "measured"), *compared]))
    print(aligned([("cores", "sidecars", "callers", "calls/s", "p99"), *_beyond(costs)]))
    print(
        f"{restarts} restarts under 200 callers: {restarted.calls} calls, "
        f"p99 {restarted.p99 * 1e3:.0f} ms, {restarted.p99 / quiet.p99:.1f} x that without"
    )
    wrong = max(
        abs(guess.rate / load.rate - 1) for guess, (load, _) in zip(guesses, found, strict=True)
    )
    if not is_quick and wrong > MOST_WRONG:
        sys.exit(f"a prediction is {wrong:.0%} off")


def _beyond(costs: Costs) -> list[tuple[str, ...]]:
    rows = []
    for at in PREDICTED:
        guess = predict(costs, at)
        parts = (at.cores, at.sidecars, at.callers)
        rows.append((*map(str, parts), number(guess.rate), f"{guess.p99 * 1e3:.0f} ms"))
    return rows


def _load(installation: Installation, seconds: float, callers: int = CALLERS) -> Load:
    return installation.load(_COMPUTE, callers=callers, seconds=seconds)


def _measure(installation: Installation, count: int, seconds: float) -> tuple[Load, Costs]:
    with _more_sidecars(installation, count - 1):
        before = _cpu_seconds(installation)
        load = _load(installation, seconds)
        after = _cpu_seconds(installation)
    used = [(late - early) / load.calls for early, late in zip(before, after, strict=True)]
    return load, Costs(*used)


def _cpu_seconds(installation: Installation) -> tuple[float, float]:
    """Return the CPU seconds so far of Neo4j and of all sidecars."""
    times = [installation.process("neo4j").cpu_times()]
    times += [
        psutil.Process(each.pid).cpu_times() for each in running_sidecars(installation.home / "run")
    ]
    neo4j, *sidecars = (each.user + each.system for each in times)
    return neo4j, sum(sidecars)


@contextmanager
def _more_sidecars(installation: Installation, count: int) -> Iterator[None]:
    """Start so many sidecars beside the first; stop them when the block ends."""
    folder = installation.home / "run"
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(ended(installation.serve()))
        wait_until(lambda: len(running_sidecars(folder)) == count + 1)
        yield


def _rolling_restart(installation: Installation, seconds: float) -> tuple[Load, Load, int]:
    """Restart one of two sidecars again and again while 200 callers call; none may get an error."""
    with _more_sidecars(installation, 1):
        quiet = _load(installation, seconds, 200)
        is_over = threading.Event()
        restarts = 0

        def restart() -> None:
            nonlocal restarts
            while not is_over.is_set():
                restart_process(installation.home, "sidecar")
                restarts += 1
                is_over.wait(1.0)

        thread = threading.Thread(target=restart)
        thread.start()
        time.sleep(0.5)
        try:
            restarted = _load(installation, seconds, 200)
        finally:
            is_over.set()
            thread.join()
    return quiet, restarted, restarts


if __name__ == "__main__":
    main()
