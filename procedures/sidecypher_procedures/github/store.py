"""Where answers are kept: entries by key, in a bounded part of memory."""

import math
from collections import OrderedDict
from typing import Any, Final, Protocol

import msgspec

from sidecypher import EncodedRow
from sidecypher_procedures.github.errors import GithubError
from sidecypher_procedures.github.identities import Identity

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


class Store(Protocol):
    """Where entries are kept."""

    def get(self, key: Key) -> Entry | None:
        """Give the entry, fresh or not."""

    def put(self, key: Key, entry: Entry) -> None:
        """Keep the entry in place of the one it has, if there is room for it."""

    def drop(self, path: str) -> int:
        """Forget what each credential has at a path, and return how many entries that were."""

    def below(self, path: str) -> set[str]:
        """Return the paths of all entries at a path and below it."""

    def path_of(self, credential: str, node: str) -> str | None:
        """Return the path of the credential's entry with an node."""


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
        """Keep the entry, unless it alone is larger than the whole store."""
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
        """Return the path of the credential's entry with an node."""
        return self._paths.get((credential, node))

    def _remove(self, key: Key) -> bool:
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self.bytes -= entry.size
        if entry.node is not None and self._paths.get((key[0], entry.node)) == key[1]:
            del self._paths[key[0], entry.node]
        return True
