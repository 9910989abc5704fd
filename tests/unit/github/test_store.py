"""Entries are kept within a bound, and take with them what is known about them."""

from sidecypher import EncodedRow, Row
from sidecypher_procedures.github.cache import Entry, MemoryStore

EMPTY = Entry(None, None, None, checked_at=10.0).size


def entry(size: int = 0, node: str | None = None) -> Entry:
    """Make an entry that is so much larger than an empty one."""
    return Entry(EncodedRow(Row, bytes(size)), None, None, checked_at=10.0, node=node)


def test_the_least_recently_used_entry_makes_room() -> None:
    """Sizes together stay within the bound; what was used last stays."""
    store = MemoryStore(2 * (EMPTY + len("/1")) + 10)
    store.put(("a", "/1"), entry(5, "one"))
    store.put(("a", "/2"), entry(5, "two"))
    store.get(("a", "/1"))
    store.put(("a", "/3"), entry(5, "three"))

    assert [path for path in ("/1", "/2", "/3") if store.get(("a", path))] == ["/1", "/3"]
    assert [store.path_of("a", name) for name in ("one", "two")] == ["/1", None]


def test_an_entry_larger_than_the_store_replaces_the_old_one_by_none() -> None:
    """A too large entry is not kept, and neither is the outdated one of its key."""
    store = MemoryStore(EMPTY + len("/1") + 10)
    store.put(("a", "/1"), entry(5, "one"))
    store.put(("a", "/1"), entry(11, "one"))

    assert store.get(("a", "/1")) is None
    assert store.path_of("a", "one") is None
