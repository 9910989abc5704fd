"""Procedures whose rows Neo4j keeps; each row counts the calls of its function."""

from collections import Counter
from typing import Any

from sidecypher import Context, Row, invalidate, procedure

calls: Counter[str] = Counter()


class Counted(Row):
    """What was asked for, and the number of calls until then."""

    key: str
    calls: int


def counted(key: str) -> Counted:
    """Count a call."""
    calls[key] += 1
    return Counted(key=key, calls=calls[key])


@procedure("cached.plain", cache=60.0)
def plain(key: str) -> Counted:
    """Keep for a minute."""
    return counted(key)


@procedure("cached.onlyCounted", cache=60.0)
def only_counted(key: str) -> Counted:
    """Keep for a minute; only one test uses it."""
    return counted(key)


@procedure("cached.forAll", cache=60.0, cache_scope="all")
def for_all(key: str) -> Counted:
    """Keep for a minute, for every user."""
    return counted(key)


@procedure("cached.tagged", cache=0.0)
async def tagged(ctx: Context, key: str, seconds: float, tags: list[str]) -> Counted:
    """Keep as the caller wishes."""
    ctx.cache(seconds, *tags)
    return counted(key)


@procedure("cached.fromGraph", cache=60.0)
def from_graph(ctx: Context, key: str) -> Counted:
    """Read the graph, so that nothing is kept."""
    ctx.run("RETURN 1").single()
    return counted(key)


@procedure("cached.failing", cache=60.0)
def failing(key: str) -> Counted:
    """Fail each time but the third."""
    found = counted(key)
    if found.calls != 3:
        raise ValueError(key)
    return found


@procedure("cached.many", cache=60.0)
def many(key: str, rows: int) -> list[Counted]:
    """Return many rows."""
    found = counted(key)
    return [found] * rows


class Anything(Row):
    """A value, and the number of calls until then."""

    value: Any
    calls: int


@procedure("cached.any", cache=60.0)
def any_value(value: Any) -> Anything:
    """Return a value of any type."""
    return Anything(value=value, calls=counted("any").calls)


@procedure("cached.worker", cache=60.0, executor="process")
def worker(key: str) -> Counted:
    """Count in a worker process."""
    return counted(key)


@procedure("cached.taggedWorker", cache=0.0, executor="process")
def tagged_worker(ctx: Context, key: str, seconds: float, tags: list[str]) -> Counted:
    """Keep as the caller wishes, from a worker process."""
    ctx.cache(seconds, *tags)
    return counted(key)


@procedure("cached.invalidateInWorker", executor="process")
def invalidate_in_worker(tags: list[str]) -> None:
    """Make rows with these tags void, from a worker process."""
    invalidate(*tags)


@procedure("cached.invalidating", cache=60.0)
def invalidating(key: str) -> Counted:
    """Invalidate something while the call runs."""
    invalidate("another tag")
    return counted(key)


current = {"number": 0}


@procedure("cached.number", cache=60.0)
def number(ctx: Context) -> Counted:
    """Return the current number."""
    ctx.cache(60.0, "number")
    return Counted(key="", calls=current["number"])


@procedure("cached.changeNumber")
def change_number(number: int) -> None:
    """Change the current number."""
    current["number"] = number
    invalidate("number")


@procedure("cached.invalidate")
def invalidate_tags(tags: list[str]) -> None:
    """Make rows with these tags void."""
    invalidate(*tags)
