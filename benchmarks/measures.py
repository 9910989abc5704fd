"""Samples of one run.

Each run measures every sample once. Compared samples are measured in turns, so that a busy moment
of the machine affects both.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from benchmarks.installation import Installation, wait_until

Samples = dict[str, float]
"""Figures of one run by name; times in seconds, memory in bytes."""

ROW_PROCEDURES = {
    "native_row": "bench.native",
    "bare_row": "bench.bareEcho",
    "echo_row": "bench.echo",
    "async_row": "bench.echoAsync",
}
CALLBACK_PROCEDURES = {"bare_callback": "bench.bareCallback()", "callback": "bench.callback()"}
_T = TypeVar("_T")
_LONG = "x" * 9_000
_MEBIBYTE = "x" * 2**20
_ESCAPES = '"\\' * 2**19
_ONE_BY_ONE = "UNWIND range(1, 1000000000) AS n CALL bench.echo('x') YIELD value RETURN value"


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        rows: Calls of one statement that is timed as a whole.
        callbacks: The same for calls with a callback.
        turns: Turns of such statements within one run.
        generated: Rows of the generator.
        repeats: Calls with a long text.
        load_seconds: Duration of concurrent calls.
        sampled: Calls that are sampled for the breakdown of their time.
        warm_up: Rounds before the first run, without results.
    """

    rows: int = 20_000
    callbacks: int = 5_000
    turns: int = 3
    generated: int = 100_000
    repeats: int = 20
    load_seconds: float = 3.0
    sampled: int = 100_000
    warm_up: int = 3


QUICK = Scale(
    rows=2_000,
    callbacks=500,
    turns=1,
    generated=20_000,
    repeats=3,
    load_seconds=0.5,
    sampled=2_000,
    warm_up=1,
)


def scale_of(module: str, about: str | None, quick: _T, full: _T) -> _T:
    """Return `quick` or `full`, as the command line of a module of benchmarks says."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=about)
    parser.add_argument("--quick", action="store_true", help="one small run, to see that it works")
    return quick if parser.parse_args().quick else full


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def take(installation: Installation, scale: Scale) -> Samples:
    """Measure every sample once."""
    samples: Samples = {}
    for measure in _MEASURES:
        samples |= measure(installation, scale)
    return samples


def warm_up(installation: Installation, scale: Scale) -> None:
    """Let the JVM compile the measured code, and Neo4j plan the statements."""
    for _ in range(scale.warm_up):
        take(installation, scale)


def _rows(installation: Installation, scale: Scale) -> Samples:
    calls = {name: f"{procedure}('x')" for name, procedure in ROW_PROCEDURES.items()}
    return _in_turns(installation, calls, scale.rows, scale.turns)


def _batch(installation: Installation, scale: Scale) -> Samples:
    calls = {"batch_row": "bench.echo.batch", "columns_row": "bench.size.batch"}
    arguments = {"batch_row": "'x'", "columns_row": "0.5 * n"}
    return {
        name: median(
            installation.seconds(
                f"CALL {procedure}([n IN range(1, $rows) | [{arguments[name]}]]) "
                "YIELD value, error RETURN count(value) AS rows",
                scale.turns,
                rows=scale.rows,
            )
        )
        / scale.rows
        for name, procedure in calls.items()
    }


def _callbacks(installation: Installation, scale: Scale) -> Samples:
    return _in_turns(installation, CALLBACK_PROCEDURES, scale.callbacks, scale.turns)


def _in_turns(
    installation: Installation, calls: Mapping[str, str], rows: int, turns: int
) -> Samples:
    """Return the seconds per row of each call: the median of its turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            query = f"UNWIND range(1, $rows) AS n CALL {call} YIELD value RETURN count(*) AS rows"
            taken[name] += installation.seconds(query, rows=rows)
    return {name: median(seconds) / rows for name, seconds in taken.items()}


def _texts(installation: Installation, scale: Scale) -> Samples:
    def there_and_back(procedure: str, text: str, repeats: int) -> float:
        query = f"CALL {procedure}($text) YIELD value RETURN size(value) AS size"
        return median(installation.seconds(query, repeats, text=text))

    return {
        "bare_9000": there_and_back("bench.bareEcho", _LONG, scale.repeats * 10),
        "echo_9000": there_and_back("bench.echo", _LONG, scale.repeats * 10),
        "echo_mebibyte": there_and_back("bench.echo", _MEBIBYTE, scale.repeats),
        "echo_escapes": there_and_back("bench.echo", _ESCAPES, scale.repeats),
    }


def _generator(installation: Installation, scale: Scale) -> Samples:
    query = "CALL bench.generate($rows) YIELD number, text, score RETURN count(*) AS rows"
    (seconds,) = installation.seconds(query, rows=scale.generated)
    return {"generator_rate": scale.generated / seconds}


def _callers(installation: Installation, scale: Scale) -> Samples:
    single = installation.load(_ONE_BY_ONE, callers=1, seconds=scale.load_seconds)
    many = installation.load(_ONE_BY_ONE, callers=64, seconds=scale.load_seconds)
    return {
        "single_rate": single.rate,
        "single_p50": single.p50,
        "single_p99": single.p99,
        "many_rate": many.rate,
        "many_p50": many.p50,
        "many_p99": many.p99,
    }


def _beside_busy_body(installation: Installation, scale: Scale) -> Samples:
    with _spinning(installation):
        found = installation.load(_ONE_BY_ONE, callers=8, seconds=scale.load_seconds)
    return {"busy_rate": found.rate, "busy_p50": found.p50, "busy_p99": found.p99}


@contextmanager
def _spinning(installation: Installation) -> Iterator[None]:
    def ask(procedure: str) -> bool:
        (row,) = installation.rows(f"CALL bench.{procedure}() YIELD spinning")
        return row["spinning"]

    busy = threading.Thread(target=ask, args=("spin",))
    busy.start()
    try:
        wait_until(lambda: ask("spinning"))
        yield
        if not ask("spinning"):
            raise SystemExit("error: the busy body ended too early")
    finally:
        ask("rest")
        busy.join()


def _start(installation: Installation, _scale: Scale) -> Samples:
    start = installation.start_another_sidecar()
    return {"ready": start.seconds, "idle_memory": float(start.idle_bytes)}


def _first_calls(installation: Installation, _scale: Scale) -> Samples:
    installation.restart_sidecar()
    found = installation.load(_ONE_BY_ONE, callers=16, calls=1)
    return {"first_calls": found.seconds}


# The restart comes first, so that the sidecar is warm again for all the others.
_MEASURES: tuple[Callable[[Installation, Scale], Samples], ...] = (
    _first_calls,
    _start,
    _rows,
    _batch,
    _callbacks,
    _texts,
    _generator,
    _callers,
    _beside_busy_body,
)
