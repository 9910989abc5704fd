"""Answers kept in memory, and one request for many callers who want the same."""

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

from sidecypher_procedures.github.errors import GithubError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clock:
    """The two kinds of time: one that only grows, in seconds, and the one people read."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer of GitHub's: an entity's fields, or that there is none.

    Attributes:
        fields: The entity's columns, read only; empty when `missing` is set.
        missing: The error that says why there is no entity.
        etag: The validator as received, quotes and weakness included.
        fetched_at: When GitHub last gave or confirmed it.
        checked_at: The same on the growing clock, seconds.
        lifetime: Seconds after which it must be confirmed, however patient the caller.
        size: What it counts for in the cache, bytes.
    """

    fields: Mapping[str, Any]
    missing: type[GithubError] | None
    etag: str | None
    fetched_at: datetime
    checked_at: float
    lifetime: float = math.inf
    size: int = 1

    def is_fresh(self, max_age: float, now: float) -> bool:
        """Tell whether it may be given to a caller who accepts an age of `max_age` seconds."""
        return now - self.checked_at < min(max_age, self.lifetime)


class EntityCache:
    """Entries by key, the least recently used dropped when their sizes exceed a number of bytes.

    Example:
        >>> cache = EntityCache(max_bytes=1024)
        >>> cache.get(("anonymous", "/repos/o/r")) is None
        True
    """

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[Hashable, Entry] = LRUCache(max_bytes, lambda entry: entry.size)

    def get(self, key: Hashable) -> Entry | None:
        """Give the entry, fresh or not."""
        return self._entries.get(key)

    def put(self, key: Hashable, entry: Entry) -> None:
        """Keep the entry, unless it alone is larger than the whole cache."""
        if entry.size <= self._entries.maxsize:
            self._entries[key] = entry
        else:
            self._entries.pop(key, None)


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Callers of one key at one time share one run of the work.

    A cancelled caller leaves the others alone; the work is cancelled with its last caller. All
    callers must be on one event loop, so there is nothing to lock.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Join the run for `key`, or start it, and give its result.

        Raises:
            Exception: Whatever the work raises, to every caller.
        """
        flight = self._flights.get(key) or self._start(key, work)
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                self._forget(key, flight)
                flight.task.cancel()

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        # An empty context: the work serves many calls and must not log or trace as the first.
        task = asyncio.create_task(work(), context=contextvars.Context())
        flight = _Flight(task)
        self._flights[key] = flight
        task.add_done_callback(lambda _: self._forget(key, flight))
        return flight

    def _forget(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
