"""In-memory cache of answers, and sharing of one request by concurrent callers."""

import asyncio
import contextvars
import math
import time
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
from cachetools import TTLCache

from sidecypher import EncodedRow, invalidate
from sidecypher_procedures.github.entities import Identity
from sidecypher_procedures.github.errors import GithubError

Key = tuple[str, str]
"""Key of the credential, and the path in GitHub's REST API, in lower case."""

# Size of an entry in `MemoryStore` without its row and ETag; measured on CPython 3.11.
_OVERHEAD_BYTES: Final = 920


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One answer from GitHub: the row of an entity, or that it does not exist.

    Attributes:
        row: The row in the encoding for Neo4j, so that it can be returned again cheaply; None if
            `missing` is set.
        missing: The error class for an entity that does not exist.
        etag: The validator as received, with quotes and weakness; None from GraphQL.
        checked_at: Time of the last fetch or revalidation, in monotonic seconds.
        lifetime: Seconds after which it must be revalidated, regardless of `max_age`.
        path: Its path according to GitHub, if it differs from the requested one.
        node: Its kind and node id, which survive renames and moves, if known.
        identity: Data that the columns do not have, for writing to the graph.
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
        """Its size in bytes: the row and the overhead of Python's objects."""
        row = b"" if self.row is None else self.row.json
        return len(row) + len(self.etag or "") + _OVERHEAD_BYTES

    def is_fresh(self, max_age: float, now: float) -> bool:
        """Return whether it is fresh for a caller who accepts an age of `max_age` seconds."""
        return now - self.checked_at < min(max_age, self.lifetime)


class MemoryStore:
    """Store of entries in memory, which drops the least recently used ones above a size.

    An `OrderedDict` instead of `cachetools.LRUCache`, whose three dicts cost 300 bytes per entry.

    Example:
        >>> store = MemoryStore(max_bytes=1024)
        >>> store.get(("anonymous", "/repos/o/r")) is None
        True
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._keys: dict[str, set[Key]] = defaultdict(set)
        self._paths: dict[tuple[str, str], str] = {}
        self._credentials: set[str] = set()
        self.bytes = 0
        """The total size of all entries."""

    def get(self, key: Key) -> Entry | None:
        """Return the entry, fresh or not."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Key, entry: Entry) -> None:
        """Store or replace the entry, unless it is larger than the whole store."""
        self._remove(key)
        size = _size(key, entry)
        if size > self._max_bytes:
            return
        while self.bytes + size > self._max_bytes:
            self._remove(next(iter(self._entries)))
        credential, path = key
        self._credentials.add(credential)
        self._entries[key] = entry
        self.bytes += size
        self._keys[_home(path)].add(key)
        if entry.node is not None:
            self._paths[credential, entry.node] = path

    def drop(self, path: str) -> int:
        """Drop the entries of all credentials at a path; return their number."""
        return sum(self._remove((credential, path)) for credential in self._credentials)

    def below(self, path: str) -> set[str]:
        """Return the paths of all entries at a path and below it; the empty path has all."""
        homes = [_home(path)] if path else list(self._keys)
        keys = (key for home in homes for key in self._keys.get(home, ()))
        return {found for _, found in keys if _within(found, path, below=True)}

    def path_of(self, credential: str, node: str) -> str | None:
        """Return the path of the credential's entry with a node id."""
        return self._paths.get((credential, node))

    def _remove(self, key: Key) -> bool:
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self.bytes -= _size(key, entry)
        home = _home(key[1])
        self._keys[home].discard(key)
        if not self._keys[home]:
            del self._keys[home]
        if entry.node is not None and self._paths.get((key[0], entry.node)) == key[1]:
            del self._paths[key[0], entry.node]
        return True


def _size(key: Key, entry: Entry) -> int:
    """Return the size of an entry with its path, which has the caller's parameters."""
    return len(key[1]) + entry.size


def _home(path: str) -> str:
    """Return the path of the repository that a path is below."""
    return "/".join(path.split("/")[:4])


T = TypeVar("T")

_NAME_SECONDS: Final = 3600.0
_MAX_NAMES: Final = 4096
_MAX_MARKS: Final = 65_536
# Number of parts in the empty path, `/repos/OWNER/NAME` and `/repos/OWNER/NAME/pulls`, split at
# each slash.
_INVALIDATED_WHOLE: Final = (1, 4, 5)


@dataclass(frozen=True, slots=True)
class Clock:
    """Source of monotonic time, of wall-clock time and of pauses."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class EntityCache:
    """Cache of entries by credential and path, aware of renamed and moved entities.

    An entity with several names has one entry, at its current path. No entry is served to another
    credential. A request that was in flight during an invalidation is not cached.

    Example:
        >>> cache = EntityCache(MemoryStore(max_bytes=1024), Clock())
        >>> cache.get("anonymous", "/repos/o/r") is None
        True
    """

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        # A former name may be given to another entity, so known renames expire.
        self._names: TTLCache[str, str] = TTLCache(_MAX_NAMES, _NAME_SECONDS, clock.monotonic)
        self._invalidated: dict[str, int] = {}
        self._forgotten = 0
        self.generation = 0
        """Number of invalidations."""

    def path(self, asked: str) -> str:
        """Return the current path of an entity from the requested one."""
        return self._names.get(asked, asked)

    def get(self, credential: str, asked: str) -> Entry | None:
        """Return the entry, fresh or not."""
        # Entries are at their current path, so most are found without looking up names.
        return self._store.get((credential, asked)) or self._store.get(
            (credential, self.path(asked))
        )

    def put(self, credential: str, asked: str, entry: Entry, since: int) -> None:
        """Store an entry, unless it was invalidated after the generation `since`."""
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
        """Apply invalidations of a former name to the current path."""
        if self.invalidated(name) > self.invalidated(path):
            self._store.drop(path)
            self._mark(path, self.invalidated(name))
        below = self._invalidated.get(f"{name}/", 0)
        if below > self._invalidated.get(f"{path}/", 0):
            for each in self._store.below(path):
                self._store.drop(each)
            self._mark(f"{path}/", below)

    def invalidate(self, asked: str, *, below: bool = False) -> int:
        """Drop the entries of all credentials at a path; return their number.

        The path may be a current or former one.
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
        # A former name may belong to another entity now, so it is resolved by GitHub again.
        for name in [name for name in self._names if _within(name, asked, below=below)]:
            self._names.pop(name, None)
        kept = paths.union(*map(self._store.below, paths)) if below else paths
        return sum(map(self._store.drop, kept))

    def forget_rows(self) -> None:
        """Make all rows void that Neo4j keeps; the entries stay."""
        invalidate(_tag("/"))

    def invalidated(self, path: str) -> int:
        """Return the generation of the latest invalidation of a path or of one above it."""
        return max(self._forgotten, *(self._invalidated.get(each, 0) for each in _marks(path)))

    def tags(self, asked: str) -> set[str]:
        """Return the tags of rows of an entity that Neo4j keeps."""
        return {_tag(each) for path in {asked, self.path(asked)} for each in _marks(path)}

    def _mark(self, path: str, generation: int) -> None:
        if len(self._invalidated) >= _MAX_MARKS:
            # Treated as an invalidation of everything; entries in flight are fetched again.
            self._invalidated.clear()
            self._forgotten = self.generation
        self._invalidated[path] = generation
        invalidate(_tag(path))


def _marks(path: str) -> list[str]:
    """Return the marks that make a path void: its own, and those of what it is below."""
    parts = path.split("/")
    return [path, *("/".join(parts[:end]) + "/" for end in _INVALIDATED_WHOLE)]


def _tag(mark: str) -> str:
    return f"github:{mark}"


def _within(path: str, asked: str, *, below: bool) -> bool:
    return path == asked or (below and path.startswith(f"{asked}/"))


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Deduplication of concurrent work: callers with the same key share one run.

    Cancelling a caller does not affect the others; the work is cancelled with its last caller. All
    callers must be on one event loop, so no lock is needed.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Join the run for `key`, or start it; return its result.

        Raises:
            Exception: Any error of the work, for every caller.
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
        # An empty context, since the work serves many calls and must not log or trace as the first.
        task = asyncio.create_task(work(), context=contextvars.Context())
        flight = _Flight(task)
        self._flights[key] = flight
        task.add_done_callback(lambda _: self._forget(key, flight))
        return flight

    def _forget(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
