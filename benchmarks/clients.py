"""Clients that write at once."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import neo4j


def rate(
    driver: neo4j.Driver,
    clients: int,
    seconds: float,
    writes: Callable[[neo4j.Session], Iterator[None]],
) -> float:
    """Return the writes per second of all clients together.

    Args:
        driver: Where they write.
        clients: How many write at once, each in a session of its own.
        seconds: How long.
        writes: Writes once before each value that it yields, without end.
    """
    end = time.monotonic() + seconds

    def write(_: int) -> int:
        with driver.session() as session:
            for count, _ in enumerate(writes(session)):
                if time.monotonic() > end:
                    return count
        raise AssertionError

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(write, range(clients))) / seconds
