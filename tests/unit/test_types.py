"""`DateTime` and `Time` keep nanoseconds; `Deadline` follows the clock it was given."""

import copy
import itertools
import pickle
import pkgutil
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from sidecypher import DateTime, Deadline, Duration, Node, Path, Point, Relationship, Time
from sidecypher.host.limits import Limits
from sidecypher.values.kinds import KINDS

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
    """A value of another type is never equal, and comparing is not an error."""
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


ORDERED = [
    [DateTime.of(PLAIN, extra) for extra in (1, 2, 999)] + [PLAIN + timedelta(microseconds=1)],
    [PLAIN - timedelta(microseconds=1), DateTime.of(PLAIN, 0), VALUE],
    [PLAIN, VALUE],
    [time(10, 11), Time.of(time(10, 11), 1), Time.of(time(10, 11), 2), time(10, 12)],
    [Time.of(time(9, tzinfo=UTC), 5), time(9, tzinfo=timezone(-timedelta(hours=1)))],
]


@pytest.mark.parametrize("values", ORDERED, ids=str)
def test_order_looks_at_the_nanoseconds(values):
    """Times are ordered by their nanoseconds too, beside those that have none as well."""
    assert sorted([*values[1:], values[0]]) == values
    for before, after in itertools.pairwise(values):
        assert before < after
        assert before <= after
        assert after > before
        assert after >= before
        assert not after < before
        assert not before >= after
        assert before != after


def test_values_that_are_equal_are_neither_before_nor_after():
    """`<=` and `>=` hold for equal times, `<` and `>` do not."""
    one, other = DateTime.of(PLAIN, 789), VALUE

    assert one <= other
    assert one >= other
    assert not one < other
    assert not one > other


def test_what_cannot_be_ordered_is_a_type_error():
    """A time without a zone is neither before nor after one that has it."""
    naive = VALUE.replace(tzinfo=None)

    with pytest.raises(TypeError):
        assert naive > VALUE
    with pytest.raises(TypeError):
        assert Time.of(time(1), 1) < "text"  # type: ignore[operator]


AT = Time.of(time(2, 30, 12, 123456, tzinfo=UTC, fold=1), 789)


def test_a_time_is_a_time_with_nanoseconds():
    """A `Time` is a `time` with the same fields, zone and fold, and compares by nanoseconds."""
    assert isinstance(AT, time)
    assert (AT.nanosecond, AT.tzinfo, AT.fold) == (123_456_789, UTC, 1)
    assert Time.of(AT, 789) == AT
    assert Time.of(AT, 788) != AT
    assert Time.of(AT, 0) == time(2, 30, 12, 123456, UTC)
    assert hash(AT) == hash(Time.of(AT, 1))
    assert AT.replace(microsecond=5).nanosecond == 5_000


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_of_a_time_keep_everything(duplicate):
    """Copied and pickled, a `Time` has nanoseconds, zone and fold."""
    back = duplicate(AT)

    assert (back, type(back), back.tzinfo, back.fold) == (AT, Time, UTC, 1)


def test_nanoseconds_of_a_duration_are_within_the_second():
    """What exceeds a second is carried over, so that equal durations are equal values."""
    assert Duration(seconds=1, nanoseconds=-1) == Duration(nanoseconds=999_999_999)
    assert Duration(nanoseconds=-1) == Duration(seconds=-1, nanoseconds=999_999_999)
    assert Duration(1, 2, 3, 2_000_000_004) == Duration(1, 2, 5, 4)
    assert Duration(months=1) != Duration(days=30)


def test_entities_are_equal_as_in_cypher():
    """Two snapshots of one entity are equal and hash alike; of two entities they are not."""
    node = Node("4:a:1", frozenset({"A"}), {"a": []})

    assert len({node, Node("4:a:1"), Node("4:a:2")}) == 2
    assert Relationship("5:a:1", "T", {}, "4:a:1", "4:a:2") == Relationship("5:a:1")
    assert Node("1") != Relationship("1")
    assert Path((node,)) == Path((Node("4:a:1"),))
    assert Path((node,)) != Path((node, node), (Relationship("5:a:1"),))


@pytest.mark.parametrize(
    "value", [Node("1"), Relationship("1"), Path(()), Point(7203, 1, 2), Duration()], ids=repr
)
def test_values_cannot_be_changed(value):
    """The bridge's own values are frozen, take no other attribute, and can be copied."""
    with pytest.raises(AttributeError):
        setattr(value, next(iter(value.__slots__)), 1)
    with pytest.raises((AttributeError, TypeError)):
        value.other = 1
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


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


@pytest.mark.parametrize("kind", [each for each in KINDS.values() if each.driver_class])
def test_each_class_of_the_driver_exists_and_is_read(kind):
    """The table names classes of Neo4j's driver as text, so that nothing imports it early."""
    assert isinstance(pkgutil.resolve_name(kind.driver_class), type)
    assert kind.from_driver is not None
