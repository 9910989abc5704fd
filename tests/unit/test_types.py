"""`DateTime` keeps nanoseconds; `Deadline` follows the clock it was given."""

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from sidecypher import DateTime, Deadline
from sidecypher.types import Limits

PLAIN = datetime(2024, 2, 29, 10, 11, 12, 123456, UTC)
VALUE = DateTime.of(PLAIN, 789)
FOLDED = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)


def test_nanoseconds_are_those_within_the_second():
    """Microseconds and the nanoseconds below them are one number."""
    assert VALUE.nanosecond == 123_456_789
    assert DateTime.of(PLAIN, 0).nanosecond == 123_456_000


def test_everything_else_is_the_datetime():
    """A `DateTime` is a `datetime` with the same fields, zone and fold."""
    made = DateTime.of(FOLDED, 1)

    assert isinstance(made, datetime)
    assert (made.timetuple(), made.tzinfo, made.fold) == (FOLDED.timetuple(), FOLDED.tzinfo, 1)


def test_equality_looks_at_the_nanoseconds():
    """Two are equal when instant and nanoseconds are."""
    assert DateTime.of(PLAIN, 789) == VALUE
    assert DateTime.of(PLAIN, 788) != VALUE
    assert DateTime.of(PLAIN + timedelta(hours=1), 789) != VALUE
    assert not DateTime.of(PLAIN, 789) != VALUE  # noqa: SIM202 - `!=` is a method of its own


def test_equality_with_a_plain_datetime():
    """A plain `datetime` has no nanoseconds below its microsecond, on either side of `==`."""
    assert DateTime.of(PLAIN, 0) == PLAIN
    assert PLAIN == DateTime.of(PLAIN, 0)  # noqa: SIM300
    assert VALUE != PLAIN
    assert PLAIN != VALUE


@pytest.mark.parametrize("other", [None, "text", 0, date(2024, 2, 29), object()])
def test_nothing_else_is_equal(other):
    """A value of another type is never equal, and comparing is no error."""
    for value in (DateTime.of(PLAIN, 0), VALUE):
        assert value != other
        assert not value == other  # noqa: SIM201 - `==` is a method of its own


def test_equal_values_have_equal_hashes():
    """A `DateTime` finds itself in a set, also in another zone."""
    elsewhere = VALUE.astimezone(ZoneInfo("Asia/Tokyo"))

    assert elsewhere == VALUE
    assert hash(elsewhere) == hash(VALUE)
    assert {VALUE: "found"}[DateTime.of(PLAIN, 789)] == "found"


@pytest.mark.parametrize("value", [VALUE, DateTime.of(FOLDED, 999), DateTime.of(PLAIN, 0)], ids=str)
@pytest.mark.parametrize("protocol", range(4, pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_keeps_everything(value, protocol):
    """A pickled `DateTime` has nanoseconds, zone and, as `datetime` from protocol 4 on, fold."""
    back = pickle.loads(pickle.dumps(value, protocol))

    assert (back, type(back), back.tzinfo, back.fold) == (
        value,
        DateTime,
        value.tzinfo,
        value.fold,
    )


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_equal(duplicate):
    """Both kinds of copy keep the nanoseconds."""
    assert duplicate(VALUE) == VALUE


def test_another_zone_is_the_same_instant():
    """`astimezone` keeps instant and nanoseconds."""
    there = VALUE.astimezone(timezone(timedelta(hours=2)))

    assert (there.hour, there.nanosecond, type(there)) == (12, 123_456_789, DateTime)
    assert there == VALUE


def test_arithmetic_and_replace_give_microseconds():
    """What computes a new time does so by microseconds, as `datetime` does."""
    assert (VALUE + timedelta(0)).nanosecond == 123_456_000
    assert VALUE.replace(microsecond=5).nanosecond == 5_000
    assert not PLAIN - VALUE


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_deadline_counts_down_to_zero():
    """Seconds left fall with the clock and never below none."""
    clock = Clock()
    deadline = Deadline.after(5.0, clock)

    assert (deadline.remaining(), deadline.expired()) == (5.0, False)
    clock.now = 104.5
    assert (deadline.remaining(), deadline.expired()) == (0.5, False)
    clock.now = 105.0
    assert (deadline.remaining(), deadline.expired()) == (0.0, True)
    clock.now = 1_000.0
    assert (deadline.remaining(), deadline.expired()) == (0.0, True)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_deadline_without_time_has_expired(seconds):
    """No time at all is over at once."""
    assert Deadline.after(seconds, Clock()).expired()


def test_the_wall_clock_moves_no_deadline():
    """A deadline lies on the monotonic clock unless another is given."""
    deadline = Deadline.after(60.0)

    assert 59.0 < deadline.remaining() <= 60.0
    assert "clock" not in repr(deadline)


def test_both_sides_have_the_same_limit_of_a_message():
    """The default limit of a message is the 16 MiB that the Java side has as well."""
    assert Limits().message_bytes == 16 * 1024 * 1024
