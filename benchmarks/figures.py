"""The reported figures and their limits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measures import Samples


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
        of: Computes its value from the samples of one run.
        bar: Its limit; None if it is only reported.
    """

    name: str
    title: str
    unit: str
    of: Callable[[Samples], float]
    bar: Bar | None = None


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
    Figure(
        "echo_to_bare",
        "echo per row / bare Py4J",
        "x",
        lambda s: s["echo_row"] / s["bare_row"],
        Bar(1),
    ),
    Figure(
        "echo_to_native",
        "echo per row / native Java",
        "x",
        lambda s: s["echo_row"] / s["native_row"],
    ),
    Figure("native_row", "native Java per row", "us", lambda s: s["native_row"] * 1e6),
    Figure("bare_row", "bare Py4J per row", "us", lambda s: s["bare_row"] * 1e6),
    Figure("echo_row", "echo per row", "us", lambda s: s["echo_row"] * 1e6),
    Figure("async_row", "async echo per row", "us", lambda s: s["async_row"] * 1e6),
    Figure(
        "async_to_sync",
        "async echo / echo",
        "x",
        lambda s: s["async_row"] / s["echo_row"],
        Bar(2.5),
    ),
    Figure(
        "batch_to_native",
        "`.batch` per row / native Java",
        "x",
        lambda s: s["batch_row"] / s["native_row"],
        Bar(3),
    ),
    Figure("batch_row", "`.batch` per row", "us", lambda s: s["batch_row"] * 1e6),
    Figure(
        "columns_to_native",
        "`.batch` of columns per row / native Java",
        "x",
        lambda s: s["columns_row"] / s["native_row"],
        Bar(1.5),
    ),
    Figure("columns_row", "`.batch` of columns per row", "us", lambda s: s["columns_row"] * 1e6),
    Figure(
        "callback_to_bare",
        "call with callback / bare Py4J",
        "x",
        lambda s: s["callback"] / s["bare_callback"],
        Bar(1),
    ),
    Figure("callback", "call with callback", "us", lambda s: s["callback"] * 1e6),
    Figure("bare_callback", "the same, bare Py4J", "us", lambda s: s["bare_callback"] * 1e6),
    Figure(
        "text_9000_to_bare",
        "9 000 bytes / bare Py4J",
        "x",
        lambda s: s["echo_9000"] / s["bare_9000"],
    ),
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
        lambda s: s["many_rate"] / s["single_rate"],
        Bar(1, at_least=True),
    ),
    Figure(
        "callers_p99",
        "64 callers, p99 / p50",
        "x",
        lambda s: s["many_p99"] / s["many_p50"],
        Bar(4),
    ),
    Figure("single_rate", "one caller, rate", "calls/s", lambda s: s["single_rate"]),
    Figure("many_rate", "64 callers, rate", "calls/s", lambda s: s["many_rate"]),
    Figure("many_p50", "64 callers, p50", "ms", lambda s: s["many_p50"] * 1e3),
    Figure("many_p99", "64 callers, p99", "ms", lambda s: s["many_p99"] * 1e3),
    Figure(
        "first_calls",
        "first 16 calls after a start",
        "ms",
        lambda s: s["first_calls"] * 1e3,
        Bar(60),
    ),
    Figure(
        "busy_p99",
        "8 callers by a busy body, p99",
        "ms",
        lambda s: s["busy_p99"] * 1e3,
        Bar(10),
    ),
    Figure("busy_rate", "8 callers by a busy body", "calls/s", lambda s: s["busy_rate"]),
    Figure(
        "idle_memory",
        "idle sidecar, resident",
        "MB",
        lambda s: s["idle_memory"] / 1e6,
        Bar(100),
    ),
    Figure("ready", "start until ready", "s", lambda s: s["ready"], Bar(2)),
)


def summarise(runs: Sequence[Samples], figures: Sequence[Figure] = FIGURES) -> list[Result]:
    """Return every figure over all runs; a ratio is computed within each run."""
    results = []
    for figure in figures:
        values = [figure.of(samples) for samples in runs]
        results.append(Result(figure, median(values), min(values), max(values)))
    return results
