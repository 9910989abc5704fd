"""What the trigger `rules-guard` costs who writes something else: `python -m benchmarks.guard`.

It asks the Neo4j that `sidecypher up` and `sidecypher migrate` have left, and leaves no node in it.
"""

import statistics
import time
from contextlib import nullcontext

import neo4j

from sidecypher.cli.lifecycle import bolt_address
from sidecypher.settings import load_settings
from sidecypher_schema import connect
from sidecypher_schema.apoc import find_apoc

_WRITE = "CREATE (:Unconcerned {n: $n})"


def milliseconds_per_commit(driver: neo4j.Driver, rounds: int = 12, block: int = 40):
    """Commit in blocks with and without the trigger, in turns; return both medians.

    Each median is of `rounds` * `block` commits of one node each, as a driver sees them.
    """
    apoc = find_apoc(connect(driver))
    taken: dict[bool, list[float]] = {True: [], False: []}
    with driver.session() as session:
        _commits(session, 1500)
        for _ in range(rounds):
            for guarded in (True, False):
                with nullcontext() if guarded else apoc.stopped():
                    _commits(session, block // 2)
                    taken[guarded] += _commits(session, block)
        session.run("MATCH (n:Unconcerned) DETACH DELETE n").consume()
    return tuple(statistics.median(taken[guarded]) * 1000 for guarded in (True, False))


def _commits(session, count):
    taken = []
    for number in range(count):
        start = time.perf_counter()
        session.run(_WRITE, n=number).consume()
        taken.append(time.perf_counter() - start)
    return taken


if __name__ == "__main__":
    uri, auth = bolt_address(load_settings({}))
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        with_guard, without = milliseconds_per_commit(driver)
    print(
        f"{with_guard:.2f} ms with the trigger, {without:.2f} ms without it: "
        f"{with_guard - without:+.2f} ms"
    )
