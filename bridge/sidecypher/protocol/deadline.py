"""The point in time by which a call must have answered."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock by which a call must have answered.

    A change of the wall clock does not move a deadline.

    Example:
        >>> Deadline.after(5.0).remaining() > 4.0
        True
    """

    at: float
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Self:
        """Return the deadline `seconds` from now."""
        return cls(clock() + seconds, clock)

    def at_most(self, seconds: float) -> "Deadline":
        """Return this deadline, or the one `seconds` from now if that is earlier."""
        other = self.clock() + seconds
        return self if self.at <= other else Deadline(other, self.clock)

    def remaining(self) -> float:
        """Return the seconds left, at least 0.0."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        """Return whether no time is left."""
        return self.clock() >= self.at

    def is_past_by(self, seconds: float) -> bool:
        """Return whether it expired at least `seconds` ago."""
        return self.clock() >= self.at + seconds
