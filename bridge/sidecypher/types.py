"""Values that cross the bridge, and the small value objects that bound a call.

Cypher types map to Python's own types wherever Python has one. The exceptions live here:
`LocalDateTime` (an annotation, since `datetime` alone means ZONED DATETIME) and `DateTime`
(a `datetime` that keeps nanoseconds).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Annotated, Final, Self, SupportsIndex

INTEGER_MIN: Final = -(2**63)
"""Smallest Cypher INTEGER (Cypher manual, *Property, structural and constructed values*)."""

INTEGER_MAX: Final = 2**63 - 1
"""Largest Cypher INTEGER."""


@dataclass(frozen=True, slots=True)
class Description:
    """Describe a column: `score: Annotated[float, Description("0..1, cosine")]`."""

    text: str


@dataclass(frozen=True, slots=True)
class CypherTypeName:
    """Name the Cypher type of an annotation that Python's type alone leaves open."""

    name: str


LocalDateTime = Annotated[datetime, CypherTypeName("LOCAL DATETIME")]
"""A `datetime` without a time zone; annotate with it where Cypher shall say LOCAL DATETIME."""


class DateTime(datetime):
    """A `datetime` that keeps the nanoseconds Neo4j stores.

    Arithmetic and `replace` give microsecond precision, as `datetime` itself does.

    Attributes:
        nanosecond: Nanoseconds within the second, 0 to 999 999 999.

    Example:
        >>> DateTime.of(datetime(2024, 2, 29, 10, 11, 12, 123456), 789).nanosecond
        123456789
    """

    _extra: int = 0

    @classmethod
    def of(cls, value: datetime, extra: int) -> Self:
        """Return `value` with `extra` nanoseconds (0 to 999) below its microsecond."""
        made = cls(
            value.year,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.tzinfo,
            fold=value.fold,
        )
        made._extra = extra
        return made

    @property
    def nanosecond(self) -> int:
        """Nanoseconds within the second, 0 to 999 999 999."""
        return self.microsecond * 1000 + self._extra

    def astimezone(self, tz: tzinfo | None = None) -> Self:
        """Return the same instant in zone `tz`, nanoseconds kept."""
        return type(self).of(super().astimezone(tz), self._extra)

    def __eq__(self, other: object) -> bool:
        """Compare as `datetime` does, and by the nanoseconds below the microsecond."""
        same = super().__eq__(other)
        if same is not True:
            return same
        return self._extra == (other._extra if isinstance(other, DateTime) else 0)

    def __ne__(self, other: object) -> bool:
        """Be the opposite of `==`; the inherited one leaves out the nanoseconds."""
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = datetime.__hash__

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        """Pickle and copy with the nanoseconds."""
        plain = datetime(
            self.year,
            self.month,
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.microsecond,
            self.tzinfo,
            fold=self.fold,
        )
        return (type(self).of, (plain, self._extra))


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock by which a call must have answered.

    A change of the wall clock moves no deadline.

    Example:
        >>> Deadline.after(5.0).remaining() > 4.0
        True
    """

    at: float
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Self:
        """Return the deadline that lies `seconds` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds left, 0.0 when none are."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        """Tell whether no time is left."""
        return self.clock() >= self.at


@dataclass(frozen=True)
class Limits:
    """What one sidecar accepts.

    Attributes:
        message_bytes: Longest line, either way, in bytes. The Java side has the same default.
        connections: Most sockets accepted at a time; further ones are closed at once.
        handshake_seconds: Time a new connection has for TLS and token together, and again for each
            read of its hello.
        page_bytes: A page of rows is sent when its rows are estimated to exceed this.
    """

    message_bytes: int = 16 * 1024 * 1024
    connections: int = 256
    handshake_seconds: float = 5.0
    page_bytes: int = 1024 * 1024
