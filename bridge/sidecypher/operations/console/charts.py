"""Charts of the history of calls, as the numbers and paths of inline SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sidecypher.operations.console.formats import duration, rate
from sidecypher.telemetry.history import PERIOD_SECONDS, Period

POINTS: Final = 90
"""Points of a chart: 15 minutes of sampled periods, or an hour of four merged ones each."""

HEIGHT: Final = 100
"""Height of a chart in its own units; its width is one unit for each point."""

_SPARK_MERGE: Final = 2
_SPARK_HEIGHT: Final = 20
_TABLE_MERGE: Final = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart.

    Attributes:
        name: Its name in the legend.
        style: CSS class.
        path: The line as SVG's path data.
        area: The area below it; empty if it is not filled.
    """

    name: str
    style: str
    path: str
    area: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over time.

    Attributes:
        key: Its name in ids.
        grid: The lines behind it as path data.
        top: Label of the upper end of its axis.
        bottom: Label of the lower end; empty for zero.
        now: The latest values in words.
        words: What it shows, for screen readers.
    """

    key: str
    title: str
    lines: tuple[Line, ...]
    grid: str
    top: str
    bottom: str
    now: str
    words: str


@dataclass(frozen=True, slots=True)
class Values:
    """The charts' numbers as rows of a table.

    Attributes:
        ago: Begin of the span of time, such as `15 min ago`.
        numbers: Formatted calls, errors, and the two durations.
    """

    ago: str
    numbers: tuple[str, ...]


def merged(periods: Sequence[Period], count: int) -> list[Period]:
    """Return fewer periods, each the sum of `count` of them.

    Example:
        >>> [each.calls for each in merged([Period(n, 0, ()) for n in range(4)], 2)]
        [1, 5]
    """
    starts = range(0, len(periods), count)
    return [Period.sum(periods[start : start + count]) for start in starts]


def spark(periods: Sequence[Period]) -> tuple[str, str]:
    """Return the path of calls and that of errors in a small chart; both are empty without calls.

    Its lines are steps, since numbers of calls are sums of a span of time.
    """
    found = merged(periods, _SPARK_MERGE)
    top = max((each.calls for each in found), default=0)
    if not top:
        return "", ""
    errors = [each.errors for each in found]
    calls = _steps([each.calls / top for each in found], _SPARK_HEIGHT)
    return calls, _steps([each / top for each in errors], _SPARK_HEIGHT) if any(errors) else ""


def charts(periods: Sequence[Period], seconds: int) -> list[Chart]:
    """Return the charts of calls, errors and durations.

    Args:
        periods: The periods that have ended, the earliest first.
        seconds: Length of each one.
    """
    return [
        _rates("calls", "Calls per second", [each.calls / seconds for each in periods]),
        _rates("errors", "Errors per second", [each.errors / seconds for each in periods]),
        _durations(
            ("p50", "half", [each.quantile(0.5) for each in periods]),
            ("p95", "most", [each.quantile(0.95) for each in periods]),
        ),
    ]


def table(periods: Sequence[Period], seconds: int) -> list[Values]:
    """Return the numbers of the charts, the latest first, for people who do not see them."""
    rows = merged(periods, _TABLE_MERGE)
    length = seconds * _TABLE_MERGE
    return [
        Values(
            f"{(len(rows) - index) * length // 60} min ago",
            (
                str(each.calls),
                str(each.errors),
                duration(each.quantile(0.5)),
                duration(each.quantile(0.95)),
            ),
        )
        for index, each in reversed(list(enumerate(rows)))
    ]


_Numbers = Sequence[float | None]


def _rates(key: str, title: str, values: Sequence[float]) -> Chart:
    """Return a chart of rates, from zero."""
    highest = max(values, default=0.0)
    top = _ceiling(highest)
    path, area = _line([each / top for each in values])
    now = rate(values[-1] if values else 0.0)
    return Chart(
        key=key,
        title=title,
        lines=(Line(key, key, path, area),),
        grid=_grid(2),
        top=rate(top),
        bottom="",
        now=now,
        words=f"{title}: {now} at last, {rate(highest)} at most.",
    )


def _durations(*lines: tuple[str, str, _Numbers]) -> Chart:
    """Return a chart of durations with a logarithmic axis, since p95 is often many times p50."""
    found = [each for *_, values in lines for each in values if each]
    low = math.floor(math.log10(min(found, default=0.001)))
    high = max(math.ceil(math.log10(max(found, default=0.01))), low + 1)
    drawn = []
    for name, style, values in lines:
        shares = [(math.log10(v) - low) / (high - low) if v else None for v in values]
        drawn.append(Line(name, style, _line(shares)[0], ""))
    now = ", ".join(f"{name} {_latest(values)}" for name, _, values in lines)
    return Chart(
        key="durations",
        title="Duration",
        lines=tuple(drawn),
        grid=_grid(high - low),
        top=duration(10.0**high),
        bottom=duration(10.0**low),
        now=now,
        words=f"Duration, on a logarithmic axis: {now} at last, "
        f"{duration(max(found, default=None))} at most.",
    )


def _latest(values: _Numbers) -> str:
    found = next((each for each in reversed(values) if each), None)
    # An estimate from a histogram has no third digit.
    return duration(None if found is None else float(f"{found:.2g}"))


def _grid(steps: int) -> str:
    return "".join(f"M0 {round(HEIGHT * each / steps)}H{POINTS - 1}" for each in range(steps + 1))


def _ceiling(value: float) -> float:
    """Return the next round number above."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(value))
    steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    # A value that is exactly one of them may be a little above it as a product of floats.
    return next(step * power for step in steps if step * power >= value * 0.999)


def _line(shares: _Numbers) -> tuple[str, str]:
    """Return the path of a line with gaps, and that of the area below it."""
    path, area = "", ""
    runs: list[list[tuple[int, int]]] = []
    previous = None
    for place, share in enumerate(shares):
        if share is None:
            continue
        if previous != place - 1:
            runs.append([])
        runs[-1].append((place, round(HEIGHT * (1 - min(share, 1.0)))))
        previous = place
    for run in runs:
        # A point without neighbours is drawn as a dot.
        points = "L".join(f"{x} {y}" for x, y in run) + ("h0" if len(run) == 1 else "")
        path += f"M{points}"
        area += f"M{run[0][0]} {HEIGHT}L{points}V{HEIGHT}Z"
    return path, area


def _steps(shares: Sequence[float], height: int) -> str:
    """Return the path of an area whose upper edge has a step for each number."""
    path, level = f"M0 {height}", height
    for place, share in enumerate(shares):
        # A small number is still seen.
        y = min(round(height * (1 - share)), height - 1) if share else height
        if y != level:
            path += f"H{place}V{y}"
            level = y
    return f"{path}H{len(shares)}V{height}Z"


def window(minutes: int) -> tuple[int, int]:
    """Return how many sampled periods make a point, and the seconds of a point.

    Example:
        >>> window(15), window(60)
        ((1, 10), (4, 40))
    """
    merge = minutes * 60 // PERIOD_SECONDS // POINTS
    return merge, merge * PERIOD_SECONDS
