"""The charts of the console, as paths of SVG."""

import re

import pytest

from sidecypher.operations.console.charts import POINTS, charts, merged, spark, table
from sidecypher.telemetry.history import Period
from sidecypher.telemetry.metrics import BUCKET_SECONDS

NONE = (0,) * (len(BUCKET_SECONDS) + 1)


def period(calls=0, errors=0, **buckets):
    """A period whose calls are in the bucket of up to 5 ms, or in those that are named."""
    counts = list(NONE)
    counts[2] = calls
    for place, count in buckets.items():
        counts[int(place[1:])] = count
    return Period(calls, errors, tuple(counts))


def points(path):
    return [tuple(map(int, each)) for each in re.findall(r"(\d+) (\d+)", path)]


def test_rates_begin_at_zero():
    """The highest point is below the round number of the axis, and nothing is at the bottom."""
    calls, errors, _ = charts([period(), period(120), period(60, 30)], 10)

    assert (calls.top, calls.now) == ("12/s", "6/s")
    assert points(calls.lines[0].path) == [(0, 100), (1, 0), (2, 50)]
    assert (errors.top, points(errors.lines[0].path)) == ("3/s", [(0, 100), (1, 100), (2, 0)])
    assert calls.words == "Calls per second: 6/s at last, 12/s at most."


def test_durations_have_gaps_and_a_logarithmic_axis():
    """A period without calls is not drawn; a point without neighbours is a dot."""
    _, _, durations = charts([period(4), period(), period(4, b6=4), period(4)], 10)

    half, most = durations.lines
    assert (durations.bottom, durations.top) == ("1 ms", "1 s")
    assert half.path.count("M") == 2
    assert half.path.startswith("M0 ")
    assert "h0M2 " in half.path
    assert points(most.path)[1][1] < points(half.path)[1][1]
    assert durations.now == "p50 3 ms, p95 4.8 ms"


@pytest.mark.parametrize("periods", [[], [period()] * POINTS])
def test_without_calls_there_are_axes(periods):
    """A chart has its axis and its words before the first call, and is no error."""
    for chart in charts(periods, 10):
        assert chart.top
        assert chart.words
    assert charts(periods, 10)[2].now == "p50 -, p95 -"
    assert spark(periods) == ("", "")


def test_a_spark_shows_a_single_error():
    """A small number is one unit high, so that it is seen next to large ones."""
    calls, errors = spark([period(100_000), period(100_000), period(1, 1), period()])

    assert calls == "M0 20H0V0H1V19H2V20Z"
    assert errors == "M0 20H1V19H2V20Z"


def test_a_table_adds_up_what_charts_draw():
    """It has a row for each minute, the latest first."""
    rows = table([period(2, 1)] * 12, 10)

    assert [(row.ago, row.numbers[:2]) for row in rows] == [
        ("1 min ago", ("12", "6")),
        ("2 min ago", ("12", "6")),
    ]
    assert merged([period(1)] * 5, 2)[-1].calls == 1
