"""Memory for the arguments of calls, counted from before they are read."""

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Reservation:
    """Memory for the arguments of one call, released at its end, or at once if it does not begin.

    Attributes:
        size: Bytes that the arguments have as JSON; 0 if they did not come as JSON.
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
        """Give the memory back."""
        if self._release is not None:
            release, self._release = self._release, None
            release(self.size)

    def __enter__(self) -> Self:
        """Return the reservation."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release it, unless a call keeps it."""
        if not self._is_kept:
            self.release()
