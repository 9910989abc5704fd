"""The calls that failed last: what the log says of them, kept for requests to the sidecar."""

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

KEPT: Final = 50
"""How many failed calls are remembered."""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that ended in an error; nothing of what was in it.

    Attributes:
        call_id: Its identifier, the same in both logs.
        name: Cypher name of what was called, `unknown` where there is no such thing.
        seconds: How long it took in Python.
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
        """Remember a call, and forget the oldest one if there are too many."""
        with self._lock:
            self._calls.append(call)

    def latest(self) -> list[FailedCall]:
        """Return what is remembered, the latest first."""
        with self._lock:
            return list(reversed(self._calls))
