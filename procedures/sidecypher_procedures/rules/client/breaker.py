"""Asking nothing of what has failed again and again, until some time has passed."""

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Counts failures in a row; after too many of them it is open, and lets one try at a time.

    Safe for several threads.

    Args:
        failures: How many failures in a row open it.
        seconds: How long it stays open before somebody may try again, and between two tries.
        clock: Gives seconds; it only ever goes forward.

    Example:
        >>> breaker = CircuitBreaker(1, 30.0, clock=lambda: 0.0)
        >>> breaker.failed()
        >>> breaker.admits()
        False
    """

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody may try now."""
        with self._lock:
            return self._refuses()

    def admits(self) -> bool:
        """Tell whether to try; who is admitted tells afterwards how it went.

        Of those who ask while it is open one is admitted each time that the seconds have passed:
        if that one never tells, the next one is admitted as long after it.
        """
        with self._lock:
            if self._refuses():
                return False
            if self._open_until is not None:
                self._open_until = self._clock() + self._seconds
            return True

    def succeeded(self) -> None:
        """Tell that it went well."""
        with self._lock:
            self._failures, self._open_until = 0, None

    def failed(self) -> None:
        """Tell that it did not."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._open_until = self._clock() + self._seconds

    def _refuses(self) -> bool:
        return self._open_until is not None and self._clock() < self._open_until
