"""The reported figures and their limits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.measures import Samples

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "kB": 1e3, "MB": 1e6, "MiB": 2**20, "%": 0.01}
"""Units that are not those of samples, in seconds, bytes or shares."""


@dataclass(frozen=True)
class Bar:
    """Limit of a figure."""

    limit: float
    at_least: bool = False

    def share(self, value: float) -> float:
        """Return a value as a share of the limit; up to 1 the limit is met."""
        if self.limit == 0:
            return math.inf if value else 0.0
        return self.limit / value if self.at_least else value / self.limit


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    Attributes:
        name: Its name in the JSON.
        title: Its name in table and picture.
        unit: Unit of its value.
        of: Computes its value from the samples of one run; by default it is the one of its name.
        bar: Its limit; None if it is only reported.
    """

    name: str
    title: str
    unit: str
    of: Callable[[Samples], float] | None = None
    bar: Bar | None = None

    def value(self, samples: Samples) -> float:
        """Return its value in one run."""
        if self.of is not None:
            return self.of(samples)
        return samples[self.name] / _UNITS.get(self.unit, 1)


def ratio(one: str, other: str) -> Callable[[Samples], float]:
    """Return what divides a sample by another one of the same run."""
    return lambda samples: samples[one] / samples[other]


@dataclass(frozen=True)
class Result:
    """A figure over all runs: the median, the least and the most."""

    figure: Figure
    value: float
    least: float
    most: float

    @property
    def share(self) -> float | None:
        """Its share of the limit; None without one."""
        return None if self.figure.bar is None else self.figure.bar.share(self.value)

    @property
    def met(self) -> bool | None:
        """Whether it meets its limit; None without one."""
        return None if self.share is None else self.share <= 1


FIGURES = (
    Figure("echo_to_bare", "echo per row / bare Py4J", "x", ratio("echo_row", "bare_row"), Bar(1)),
    Figure("echo_to_native", "echo per row / native Java", "x", ratio("echo_row", "native_row")),
    Figure("native_row", "native Java per row", "us"),
    Figure("bare_row", "bare Py4J per row", "us"),
    Figure("echo_row", "echo per row", "us"),
    Figure("async_row", "async echo per row", "us"),
    Figure("async_to_sync", "async echo / echo", "x", ratio("async_row", "echo_row"), Bar(2.5)),
    Figure(
        "batch_to_native",
        "`.batch` per row / native Java",
        "x",
        ratio("batch_row", "native_row"),
        Bar(3),
    ),
    Figure("batch_row", "`.batch` per row", "us"),
    Figure(
        "columns_to_native",
        "`.batch` of columns per row / native Java",
        "x",
        ratio("columns_row", "native_row"),
        Bar(1.5),
    ),
    Figure("columns_row", "`.batch` of columns per row", "us"),
    Figure(
        "callback_to_bare",
        "call with callback / bare Py4J",
        "x",
        ratio("callback", "bare_callback"),
        Bar(1),
    ),
    Figure("callback", "call with callback", "us"),
    Figure("bare_callback", "the same, bare Py4J", "us"),
    Figure("text_9000_to_bare", "9 000 bytes / bare Py4J", "x", ratio("echo_9000", "bare_9000")),
    Figure("text_9000", "9 000 bytes there and back", "us", lambda s: s["echo_9000"] * 1e6),
    Figure("mebibyte", "1 MiB there and back", "ms", lambda s: s["echo_mebibyte"] * 1e3, Bar(25)),
    Figure(
        "escapes", "1 MiB of quotes, backslashes", "ms", lambda s: s["echo_escapes"] * 1e3, Bar(150)
    ),
    Figure(
        "generator",
        "generator, 3 columns",
        "rows/s",
        lambda s: s["generator_rate"],
        Bar(400_000, at_least=True),
    ),
    Figure(
        "callers_rate",
        "64 callers / one, rate",
        "x",
        ratio("many_rate", "single_rate"),
        Bar(1, at_least=True),
    ),
    Figure("callers_p99", "64 callers, p99 / p50", "x", ratio("many_p99", "many_p50"), Bar(4)),
    Figure("single_rate", "one caller, rate", "calls/s"),
    Figure("many_rate", "64 callers, rate", "calls/s"),
    Figure("many_p50", "64 callers, p50", "ms"),
    Figure("many_p99", "64 callers, p99", "ms"),
    Figure("first_calls", "first 16 calls after a start", "ms", bar=Bar(60)),
    Figure("busy_p99", "8 callers by a busy body, p99", "ms", bar=Bar(10)),
    Figure("busy_rate", "8 callers by a busy body", "calls/s"),
    Figure("idle_memory", "idle sidecar, resident", "MB", bar=Bar(100)),
    Figure("ready", "start until ready", "s", bar=Bar(2)),
)


def summarise(runs: Sequence[Samples], figures: Sequence[Figure] = FIGURES) -> list[Result]:
    """Return every figure over all runs; a ratio is computed within each run."""
    results = []
    for figure in figures:
        values = [figure.value(samples) for samples in runs]
        results.append(Result(figure, median(values), min(values), max(values)))
    return results
