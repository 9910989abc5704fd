"""Clients that write at the same time."""

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
        driver: Driver of the database.
        clients: Number of clients, each with its own session.
        seconds: Duration; each client writes at least once.
        writes: Writes once before each value that it yields, without end.
    """
    begun = time.monotonic()

    def write(_: int) -> int:
        with driver.session() as session:
            for count, _ in enumerate(writes(session), 1):
                if time.monotonic() - begun > seconds:
                    return count
        raise AssertionError

    with ThreadPoolExecutor(clients) as pool:
        written = sum(pool.map(write, range(clients)))
    return written / (time.monotonic() - begun)
