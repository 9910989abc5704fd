"""Answers kept in memory, and one request for all callers who want the same."""

import asyncio
import contextvars
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
from cachetools import TTLCache

from sidecypher import EncodedRow
from sidecypher_procedures.github.entities import Identity
from sidecypher_procedures.github.errors import GithubError

Key = tuple[str, str]
"""Who asked, and the path in GitHub's REST API, in lower case."""

# Of an entry of `MemoryStore`, beside its row and ETag; measured on CPython 3.11.
_OVERHEAD_BYTES: Final = 920


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One answer of GitHub's: an entity's row, or that there is none.

    Attributes:
        row: The row as Neo4j gets it, so that giving it again takes next to no work; None when
            `missing` is set.
        missing: The error that says why there is no entity.
        etag: The validator as received, quotes and weakness included; GraphQL gives none.
        checked_at: When GitHub last gave or confirmed it, on the growing clock, seconds.
        lifetime: Seconds after which it must be confirmed, however patient the caller.
        path: Where GitHub says that it is, if that is not where it was asked for.
        node: Its kind and node id, which stay when it is renamed or moved, if GitHub tells.
        identity: What the columns do not have, for those who write it into the graph.
    """

    row: EncodedRow[Any] | None
    missing: type[GithubError] | None
    etag: str | None
    checked_at: float
    lifetime: float = math.inf
    path: str | None = None
    node: str | None = None
    identity: Identity | None = None

    @property
    def size(self) -> int:
        """What it counts for, bytes: its row and what Python needs to keep it."""
        row = b"" if self.row is None else self.row.json
        return len(row) + len(self.etag or "") + _OVERHEAD_BYTES

    def is_fresh(self, max_age: float, now: float) -> bool:
        """Tell whether it may be given to a caller who accepts an age of `max_age` seconds."""
        return now - self.checked_at < min(max_age, self.lifetime)


class MemoryStore:
    """Entries in memory, the least recently used dropped when their sizes exceed a bound.

    An `OrderedDict` and not `cachetools.LRUCache`, whose three dicts cost 300 bytes an entry.

    Example:
        >>> store = MemoryStore(max_bytes=1024)
        >>> store.get(("anonymous", "/repos/o/r")) is None
        True
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._paths: dict[tuple[str, str], str] = {}
        self._credentials: set[str] = set()
        self.bytes = 0
        """The sizes of all entries together."""

    def get(self, key: Key) -> Entry | None:
        """Give the entry, fresh or not."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Key, entry: Entry) -> None:
        """Keep the entry in place of the one it has, unless it is larger than the whole store."""
        self._remove(key)
        if entry.size > self._max_bytes:
            return
        while self.bytes + entry.size > self._max_bytes:
            self._remove(next(iter(self._entries)))
        credential, path = key
        self._credentials.add(credential)
        self._entries[key] = entry
        self.bytes += entry.size
        if entry.node is not None:
            self._paths[credential, entry.node] = path

    def drop(self, path: str) -> int:
        """Forget what each credential has at a path, and return how many entries that were."""
        return sum(self._remove((credential, path)) for credential in self._credentials)

    def below(self, path: str) -> set[str]:
        """Return the paths of all entries at a path and below it."""
        return {
            found for _, found in self._entries if found == path or found.startswith(f"{path}/")
        }

    def path_of(self, credential: str, node: str) -> str | None:
        """Return the path of the credential's entry with a node id."""
        return self._paths.get((credential, node))

    def _remove(self, key: Key) -> bool:
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self.bytes -= entry.size
        if entry.node is not None and self._paths.get((key[0], entry.node)) == key[1]:
            del self._paths[key[0], entry.node]
        return True


T = TypeVar("T")

_NAME_SECONDS: Final = 3600.0
_MAX_NAMES: Final = 4096
_MAX_MARKS: Final = 65_536
# How many parts `/repos/OWNER/NAME` and `/repos/OWNER/NAME/pulls` have, split at each slash.
_INVALIDATED_WHOLE: Final = (4, 5)


@dataclass(frozen=True, slots=True)
class Clock:
    """The two kinds of time: one that only grows, in seconds, and the one people read."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class EntityCache:
    """Entries by credential and path, wherever an entity was asked for and however it is called.

    An entity that was found under several names is one entry: where GitHub says that it is. No
    entry is given to another credential. What was being fetched while it was invalidated is not
    kept.

    Example:
        >>> cache = EntityCache(MemoryStore(max_bytes=1024), Clock())
        >>> cache.get("anonymous", "/repos/o/r") is None
        True
    """

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        # An old name may be given to another entity, so that none is believed for ever.
        self._names: TTLCache[str, str] = TTLCache(_MAX_NAMES, _NAME_SECONDS, clock.monotonic)
        self._invalidated: dict[str, int] = {}
        self._forgotten = 0
        self.generation = 0
        """How many invalidations there were."""

    def path(self, asked: str) -> str:
        """Return where what is asked for under an old name is now."""
        return self._names.get(asked, asked)

    def get(self, credential: str, asked: str) -> Entry | None:
        """Give the entry, fresh or not."""
        # Nothing is kept under an old name, so that most are found without looking at those.
        return self._store.get((credential, asked)) or self._store.get(
            (credential, self.path(asked))
        )

    def put(self, credential: str, asked: str, entry: Entry, since: int) -> None:
        """Keep what was fetched, unless it was invalidated since the generation `since`."""
        path = entry.path or asked
        if max(self.invalidated(path), self.invalidated(asked)) > since:
            return
        known = entry.node and self._store.path_of(credential, entry.node)
        for name in {asked, known or asked} - {path}:
            self._store.drop(name)
            self._names[name] = path
            self._carry_over(name, path)
        self._names.pop(path, None)
        self._store.put((credential, path), entry)

    def _carry_over(self, name: str, path: str) -> None:
        """Invalidate what was invalidated by a name when nobody knew that it was this one's."""
        if self.invalidated(name) > self.invalidated(path):
            self._store.drop(path)
            self._mark(path, self.invalidated(name))
        below = self._invalidated.get(f"{name}/", 0)
        if below > self._invalidated.get(f"{path}/", 0):
            for each in self._store.below(path):
                self._store.drop(each)
            self._mark(f"{path}/", below)

    def invalidate(self, asked: str, *, below: bool = False) -> int:
        """Drop what all credentials have at a path, and return how many entries that were.

        The path may be of any name that the entity was found under.
        """
        self.generation += 1
        paths = {asked, self.path(asked)}
        if below:
            names = self._names.items()
            paths |= {path for name, path in names if _within(name, asked, below=True)}
        for path in paths:
            self._mark(path, self.generation)
            if below:
                self._mark(f"{path}/", self.generation)
        # An old name may have been given to another entity, which GitHub is to say.
        for name in [name for name in self._names if _within(name, asked, below=below)]:
            self._names.pop(name, None)
        kept = paths.union(*map(self._store.below, paths)) if below else paths
        return sum(map(self._store.drop, kept))

    def invalidated(self, path: str) -> int:
        """Return the generation of the latest invalidation of a path, or of all it is below of."""
        marks = self._invalidated
        parts = path.split("/")
        places = ("/".join(parts[:end]) for end in _INVALIDATED_WHOLE)
        below = max(marks.get(f"{place}/", 0) for place in places)
        return max(marks.get(path, 0), below, self._forgotten)

    def _mark(self, path: str, generation: int) -> None:
        if len(self._invalidated) >= _MAX_MARKS:
            # As if all had been invalidated: it only costs a request for what is being fetched.
            self._invalidated.clear()
            self._forgotten = self.generation
        self._invalidated[path] = generation


def _within(path: str, asked: str, *, below: bool) -> bool:
    return path == asked or (below and path.startswith(f"{asked}/"))


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
