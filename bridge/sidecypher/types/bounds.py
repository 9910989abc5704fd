"""What bounds a call and a sidecar: time, sizes, numbers."""

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


@dataclass(frozen=True)
class Limits:
    """What one sidecar accepts.

    Attributes:
        message_bytes: Longest line, either way, in bytes. The Java side has the same default.
        connections: Most connections of JVMs for calls; a further one is told that the sidecar is
            busy. Half of them are for nested calls, since a pool has half of it at most.
        strangers: Most connections that have not shown the token yet; the oldest is closed for a
            further one.
        handshake_seconds: Time a new connection has for TLS and token together, and again for each
            read of its hello.
        page_bytes: A page of rows is sent when its rows are estimated to exceed this.
        lease_seconds: How long a call may wait for its next page to be asked for.
    """

    message_bytes: int = 16 * 1024 * 1024
    connections: int = 512
    strangers: int = 64
    handshake_seconds: float = 5.0
    page_bytes: int = 1024 * 1024
    lease_seconds: float = 60.0

    @property
    def argument_bytes(self) -> int:
        """Bytes of large messages whose arguments may be in memory at a time, for all calls.

        There they take ten to twenty times as much.
        """
        return 4 * self.message_bytes
