"""The latest failed calls, with the fields of their log lines, for requests to the sidecar."""

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

KEPT: Final = 50
"""Number of failed calls that are kept."""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that ended in an error, without its contents.

    Attributes:
        call_id: Its identifier, the same in both logs.
        name: Cypher name of the procedure or function, or `unknown` if there is none.
        seconds: Its time in Python.
    """

    call_id: str
    name: str
    code: str
    user: str
    database: str
    seconds: float = 0.0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class FailedCalls:
    """The last `KEPT` failed calls.

    Example:
        >>> failed = FailedCalls()
        >>> failed.add(FailedCall("call-1", "kg.score", "SC-213", "neo4j", "neo4j"))
        >>> [each.code for each in failed.latest()]
        ['SC-213']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[FailedCall] = deque(maxlen=KEPT)

    def add(self, call: FailedCall) -> None:
        """Add a call, and drop the oldest one if there are too many."""
        with self._lock:
            self._calls.append(call)

    def latest(self) -> list[FailedCall]:
        """Return the calls, the latest first."""
        with self._lock:
            return list(reversed(self._calls))
