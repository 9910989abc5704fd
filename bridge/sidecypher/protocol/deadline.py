"""The point in time by which a call must have answered."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self


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

    def at_most(self, seconds: float) -> "Deadline":
        """Return this one, or the one that lies `seconds` from now if that is earlier."""
        other = self.clock() + seconds
        return self if self.at <= other else Deadline(other, self.clock)

    def remaining(self) -> float:
        """Return the seconds left, 0.0 when none are."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        """Tell whether no time is left."""
        return self.clock() >= self.at

    def is_past_by(self, seconds: float) -> bool:
        """Tell whether it has been over for at least `seconds`."""
        return self.clock() >= self.at + seconds
