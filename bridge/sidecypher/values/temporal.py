"""Times as Neo4j stores them: with nanoseconds, and in years that Python's own types lack."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from typing import Any, Literal, Self, SupportsIndex

_SECOND = 1_000_000_000


class _Nanoseconds:
    """Nanoseconds below the microsecond of a `datetime` or `time`.

    The common part of the two classes: comparing and hashing.
    """

    __slots__ = ()
    _extra: int
    microsecond: int

    @property
    def nanosecond(self) -> int:
        """Nanoseconds within the second, 0 to 999 999 999."""
        return self.microsecond * 1000 + self._extra

    def __eq__(self, other: object) -> bool:
        """Compare as Python's own class does, then by the nanoseconds below the microsecond."""
        same = super().__eq__(other)
        return same if same is not True else self._extra == _extra_of(other)

    def __ne__(self, other: object) -> bool:
        """Return the opposite of `==`; the inherited one ignores the nanoseconds."""
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __lt__(self, other: Any) -> bool:
        return self._ordered("__lt__", other)

    def __le__(self, other: Any) -> bool:
        return self._ordered("__le__", other)

    def __gt__(self, other: Any) -> bool:
        return self._ordered("__gt__", other)

    def __ge__(self, other: Any) -> bool:
        return self._ordered("__ge__", other)

    def _ordered(self, name: str, other: Any) -> bool:
        """Compare as Python's own class does; if that finds no difference, by nanoseconds."""
        if super().__eq__(other) is True:
            ordered: bool = getattr(self._extra, name)(_extra_of(other))
        else:
            ordered = getattr(super(), name)(other)
        return ordered

    # Equal values have equal hashes, since the inherited one ignores the nanoseconds.
    def __hash__(self) -> int:
        return super().__hash__()


def _extra_of(value: object) -> int:
    return value._extra if isinstance(value, _Nanoseconds) else 0  # noqa: SLF001 - of this module


class DateTime(_Nanoseconds, datetime):
    """A `datetime` that keeps the nanoseconds Neo4j stores.

    Arithmetic and `replace` have microsecond precision, as for `datetime` itself.

    Attributes:
        nanosecond: Nanoseconds within the second, 0 to 999 999 999.

    Example:
        >>> DateTime.of(datetime(2024, 2, 29, 10, 11, 12, 123456), 789).nanosecond
        123456789
    """

    _extra = 0

    @classmethod
    def of(cls, value: datetime, extra: int) -> Self:
        """Return `value` with `extra` nanoseconds (0 to 999) below its microsecond."""
        # `combine` leaves out the fold in a subclass.
        made = cls.combine(value.date(), value.timetz()).replace(fold=value.fold)
        made._extra = extra  # noqa: SLF001 - of this class
        return made

    def astimezone(self, tz: tzinfo | None = None) -> Self:
        """Return the same instant in zone `tz`, with its nanoseconds."""
        return type(self).of(super().astimezone(tz), self._extra)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        """Pickle and copy with the nanoseconds."""
        plain = datetime.combine(self.date(), self.timetz())
        return (type(self).of, (plain, self._extra))


class Time(_Nanoseconds, time):
    """A `time` that keeps the nanoseconds Neo4j stores.

    `replace` has microsecond precision, as for `time` itself.

    Attributes:
        nanosecond: Nanoseconds within the second, 0 to 999 999 999.

    Example:
        >>> Time.of(time(10, 11, 12, 123456), 789).nanosecond
        123456789
    """

    _extra = 0

    @classmethod
    def of(cls, value: time, extra: int) -> Self:
        """Return `value` with `extra` nanoseconds (0 to 999) below its microsecond."""
        made = cls(
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.tzinfo,
            fold=value.fold,
        )
        made._extra = extra
        return made

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        """Pickle and copy with the nanoseconds."""
        plain = time(
            self.hour, self.minute, self.second, self.microsecond, self.tzinfo, fold=self.fold
        )
        return (type(self).of, (plain, self._extra))


@dataclass(frozen=True, slots=True)
class Duration:
    """A DURATION: months, days and seconds, of which none has a fixed length in the others.

    As in Neo4j, nanoseconds beyond a second are carried over to the seconds, so that equal
    durations are equal values.

    Attributes:
        months: Months; a year is 12 of them.
        days: Days; a week is 7 of them.
        seconds: Seconds, also those of hours and minutes.
        nanoseconds: 0 to 999 999 999, also if `seconds` is negative.

    Example:
        >>> Duration(months=14, seconds=1, nanoseconds=-1)
        Duration(months=14, days=0, seconds=0, nanoseconds=999999999)
    """

    months: int = 0
    days: int = 0
    seconds: int = 0
    nanoseconds: int = 0

    def __post_init__(self) -> None:
        """Carry nanoseconds over to the seconds."""
        carried, nanoseconds = divmod(self.nanoseconds, _SECOND)
        object.__setattr__(self, "seconds", self.seconds + carried)
        object.__setattr__(self, "nanoseconds", nanoseconds)


@dataclass(frozen=True, slots=True)
class OpaqueTemporal:
    """A date or date and time outside the years 1 to 9999, which Python's own types do not have.

    It returns to Cypher unchanged.

    Attributes:
        type: Its Cypher type.
        text: Its text in ISO 8601, the year with a sign.

    Example:
        >>> OpaqueTemporal("DATE", "-0044-03-15").text
        '-0044-03-15'
    """

    type: Literal["DATE", "LOCAL DATETIME", "ZONED DATETIME"]
    text: str


class FixedZone(tzinfo):
    """A zone with its id and a fixed offset, for zones that Python has not, or with other offsets.

    A value with it is the right instant and keeps the zone's id, but follows no clock changes.

    Example:
        >>> datetime(1900, 1, 1, tzinfo=FixedZone("Moon/Base", timedelta(hours=1))).isoformat()
        '1900-01-01T00:00:00+01:00'
    """

    def __init__(self, key: str, offset: timedelta) -> None:
        self.key = key
        self._offset = offset

    def utcoffset(self, _at: datetime | None) -> timedelta:
        """Return the offset from UTC."""
        return self._offset

    def dst(self, _at: datetime | None) -> None:
        """Return None, since it is not known."""

    def tzname(self, _at: datetime | None) -> str:
        """Return the zone's id."""
        return self.key

    def __eq__(self, other: object) -> bool:
        """Compare id and offset."""
        return isinstance(other, FixedZone) and (self.key, self._offset) == (
            other.key,
            other._offset,
        )

    def __hash__(self) -> int:
        return hash((self.key, self._offset))

    def __repr__(self) -> str:
        return f"FixedZone({self.key!r}, {self._offset!r})"

    def __getinitargs__(self) -> tuple[str, timedelta]:
        """Return the arguments with which `tzinfo.__reduce__` pickles and copies it."""
        return (self.key, self._offset)
