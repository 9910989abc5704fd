"""The history of calls: what was counted in each period of the last hour."""

import sys

import pytest

from sidecypher.telemetry.history import History, Period, total
from sidecypher.telemetry.metrics import BUCKET_SECONDS, CallMetrics


class Clock:
    """A clock that tests set."""

    seconds = 1_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def metrics():
    return CallMetrics()


@pytest.fixture
def history(metrics, clock):
    return History(metrics, clock)


def call(metrics, name="a.b", outcome="ok", seconds=0.003, times=1):
    series = metrics.series(name)
    for _ in range(times):
        with series.lock:
            series.end(outcome, seconds)


def counts(history, name="a.b", count=5, merge=1):
    return [(each.calls, each.errors) for each in history.periods(count, merge)[name]]


def test_calls_are_in_the_period_in_which_they_ended(metrics, history, clock):
    """A period has its own calls and errors, and the last one is that of now."""
    call(metrics, times=3)
    clock.seconds += 10
    history.sample()
    call(metrics, outcome="SC-207")
    call(metrics, outcome="closed")
    clock.seconds += 20
    history.sample()
    call(metrics)

    assert counts(history) == [(0, 0), (0, 0), (3, 0), (2, 1), (0, 0), (1, 0)]
    assert counts(history, count=2, merge=2) == [(3, 0), (2, 1), (1, 0)]


def test_what_is_older_than_an_hour_is_gone(metrics, history, clock):
    """A ring is used again without what was in it, also after a pause of hours."""
    call(metrics)
    clock.seconds += 3600
    assert sum(calls for calls, _ in counts(history, count=360)) == 1

    clock.seconds += 10
    assert sum(calls for calls, _ in counts(history, count=360)) == 0

    call(metrics)
    clock.seconds += 86_400
    assert sum(calls for calls, _ in counts(history, count=360)) == 0


def test_a_procedure_takes_as_much_memory_as_promised(metrics, history):
    """A ring is about 20 kB, however many calls there were; what was never called has none."""
    metrics.series("never.called")
    call(metrics, times=100)
    history.periods(1)

    assert list(history._rings) == ["a.b"]
    assert sys.getsizeof(history._rings["a.b"]) < 21_000


@pytest.mark.parametrize(
    ("seconds", "share", "expected"),
    [
        ([0.003], 0.5, 0.003),
        ([0.0001] * 19 + [0.2], 0.95, 0.0005),
        ([0.0001] * 18 + [0.2] * 2, 0.95, 0.3),
        ([60.0], 0.5, BUCKET_SECONDS[-1]),
    ],
)
def test_quantiles_are_within_their_bucket(metrics, history, seconds, share, expected):
    """They are interpolated as Prometheus does, and never above the last bound."""
    for each in seconds:
        call(metrics, seconds=each)

    period = history.periods(1)["a.b"][-1]

    assert period.quantile(share) == pytest.approx(expected)


def test_a_period_without_calls_has_no_quantile(metrics, history, clock):
    """Nothing is drawn where nothing was measured."""
    call(metrics)
    clock.seconds += 10

    assert [each.quantile(0.5) is None for each in history.periods(1)["a.b"]] == [False, True]


def test_all_procedures_are_added_up(metrics, history):
    """The sum has the calls, errors and durations of each, also when nothing was called."""
    call(metrics, "a.b", times=2)
    call(metrics, "c.d", outcome="SC-201", seconds=0.0001)

    found = total(history.periods(1).values(), 2)[-1]

    assert (found.calls, found.errors, found.buckets[:3]) == (3, 1, (1, 0, 2))
    empty = Period(0, 0, (0,) * (len(BUCKET_SECONDS) + 1))
    assert total([], 2) == [empty, empty]


def test_one_name_is_read_alone(metrics, history):
    """With a name there are only its periods, and none of a name that was not called."""
    call(metrics, "a.b")
    call(metrics, "c.d")

    assert history.periods(1, name="a.b") == {"a.b": history.periods(1)["a.b"]}
    assert history.periods(1, name="x.y") == {}
