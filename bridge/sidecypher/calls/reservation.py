"""Memory for the arguments of calls, reserved before they are read."""

from collections.abc import Callable
from typing import Self


class Reservation:
    """Memory for the arguments of one call, released when it ends or does not start.

    Attributes:
        size: Bytes of the arguments as JSON; 0 if they did not arrive as JSON.
    """

    __slots__ = ("_is_kept", "_release", "size")

    def __init__(self, size: int = 0, release: Callable[[int], None] | None = None) -> None:
        self.size = size
        self._release = release
        self._is_kept = False

    def keep(self) -> None:
        """Keep the memory beyond the `with` block, until `release`."""
        self._is_kept = True

    def release(self) -> None:
        """Release the memory; do nothing if it was released before."""
        if self._release is not None:
            release, self._release = self._release, None
            release(self.size)

    def __enter__(self) -> Self:
        """Return the reservation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release it, unless a call keeps it."""
        if not self._is_kept:
            self.release()
