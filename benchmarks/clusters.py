"""`python -m benchmarks.clusters`: functions on a Ray cluster of three nodes on this machine."""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import neo4j
import psutil

from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, installed, wait_until
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.report import table

_NODE = {"num_cpus": 1, "object_store_memory": 300 * 1024 * 1024}

_RELATE = """
    UNWIND range($first, $last) AS i
    MATCH (a:Page {i: i % $nodes})
    MATCH (b:Page {i: (i * 7919 + i / $nodes) % $nodes})
    CREATE (a)-[:LINKS]->(b)
"""
_RANK = (
    "CALL algo.pagerank(['Page'], ['LINKS'], {}) YIELD score RETURN count(*) AS n, sum(score) AS s"
)


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        calls: Calls one by one, in turns on an actor and in a worker process.
        rounds: Rounds of computing of each of eight rows of a batch.
        rows: Rows of the projection.
        relationships: Relationships whose ends are ranked.
        runs: Repetitions of the whole measurement.
    """

    calls: int = 300
    rounds: int = 15_000_000
    rows: int = 1_000_000
    relationships: int = 1_000_000
    runs: int = 3


QUICK = Scale(calls=20, rounds=100_000, rows=10_000, relationships=10_000, runs=1)

FIGURES = (
    Figure(
        "actor",
        "call of a warm actor, beyond one of a worker process",
        "ms",
        lambda s: (s["actor"] - s["process"]) * 1e3,
        Bar(5),
    ),
    Figure("process", "call of a worker process", "ms"),
    Figure(
        "parts",
        "8 rows of a batch that computes: one process / 3 nodes on 2 cores",
        "x",
        ratio("alone", "spread"),
        Bar(1.7, at_least=True),
    ),
    Figure("project", "projection of 1 000 000 rows", "s", bar=Bar(3)),
    Figure("memory", "its memory in the sidecar", "MiB", bar=Bar(200)),
    Figure("rank", "PageRank of 1 000 000 relationships", "s"),
    Figure("lost", "the same when its node is lost", "s"),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("clusters", main.__doc__, QUICK, Scale())
    with _cluster() as cluster, _installed(cluster) as installation:
        _create(installation.driver, scale)
        runs = [_take(installation, cluster, scale) for _ in range(scale.runs)]
    print(table(summarise(runs, FIGURES)))


@contextmanager
def _cluster() -> Iterator[Any]:
    folder = tempfile.mkdtemp(prefix="ray-")
    os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_USAGE_STATS_ENABLED="0")
    # Ray reads these variables when it is imported.
    from ray._common.utils import get_default_ray_temp_dir  # noqa: PLC0415
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    # Ray writes the address there whatever `temp_dir` is, and does not make the folder.
    Path(get_default_ray_temp_dir()).mkdir(exist_ok=True)
    cluster = Cluster(
        initialize_head=True,
        head_node_args=_NODE | {"num_cpus": 0, "include_dashboard": False, "temp_dir": folder},
    )
    try:
        for _ in range(3):
            cluster.add_node(**_NODE)
        yield cluster
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _installed(cluster: Any) -> Any:
    return installed(
        SIDECYPHER_RAY_ADDRESS=cluster.address,
        SIDECYPHER_ALGO_EXECUTOR="ray",
        SIDECYPHER_WORKER_PROCESSES="1",
    )


def _create(driver: neo4j.Driver, scale: Scale) -> None:
    """Create ten relationships for each node."""
    nodes, part = scale.relationships // 10, 20_000
    with driver.session() as session:
        session.run("CREATE INDEX page FOR (n:Page) ON (n.i)").consume()
        session.run("CALL db.awaitIndexes()").consume()
        session.run("UNWIND range(0, $n - 1) AS i CREATE (:Page {i: i})", n=nodes).consume()
        for first in range(0, scale.relationships, part):
            last = min(first + part, scale.relationships) - 1
            session.run(_RELATE, first=first, last=last, nodes=nodes).consume()


def _take(installation: Installation, cluster: Any, scale: Scale) -> Samples:
    with installation.driver.session() as session:
        samples = _calls(session, scale) | _batches(session, scale)
        samples |= _projection(session, installation.sidecar_pid(), scale)
        samples["rank"] = _rank(session, scale)
        samples["lost"] = _rank_on_a_lost_node(installation, cluster, scale)
    return samples


def _calls(session: neo4j.Session, scale: Scale) -> Samples:
    taken: dict[str, list[float]] = {"actor": [], "process": []}
    for _ in range(scale.calls):
        taken["actor"].append(_seconds(session, "CALL bench.echoOnActor(1)"))
        taken["process"].append(_seconds(session, "CALL bench.echoInProcess(1)"))
    return {name: median(each) for name, each in taken.items()}


def _batches(session: neo4j.Session, scale: Scale) -> Samples:
    statement = "CALL bench.{}.batch([i IN range(1, 8) | [$rounds]]) YIELD value FINISH"
    on_ray, alone = statement.format("burnOnRay"), statement.format("burnInProcess")
    _seconds(session, on_ray, rounds=1)
    return {
        "spread": _seconds(session, on_ray, rounds=scale.rounds),
        "alone": _seconds(session, alone, rounds=scale.rounds),
    }


def _projection(session: neo4j.Session, sidecar: int, scale: Scale) -> Samples:
    """Project rows; the memory is what the sidecar has at most beyond that before."""
    process = psutil.Process(sidecar)
    session.run("CALL bench.project(1000)").consume()
    before = most = process.memory_info().rss
    is_over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_over.wait(0.01):
            most = max(most, process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    seconds = _seconds(session, "CALL bench.project($rows)", rows=scale.rows)
    is_over.set()
    thread.join()
    return {"project": seconds, "memory": most - before}


def _rank(session: neo4j.Session, scale: Scale) -> float:
    begun = time.perf_counter()
    found = session.run(_RANK).single(strict=True)
    seconds = time.perf_counter() - begun
    if found["n"] != scale.relationships // 10 or abs(found["s"] - 1) > 1e-6:
        raise SystemExit(f"error: the ranks of {found['n']} nodes have the sum {found['s']}")
    return seconds


def _rank_on_a_lost_node(installation: Installation, cluster: Any, scale: Scale) -> float:
    """Rank again, and lose the node that computes as soon as it does; add another one."""
    taken: list[float] = []

    def rank() -> None:
        with installation.driver.session() as session:
            taken.append(_rank(session, scale))

    thread = threading.Thread(target=rank)
    thread.start()
    lost = wait_until(lambda: next(filter(_computes, cluster.worker_nodes), None))
    cluster.remove_node(lost, allow_graceful=False)
    cluster.add_node(**_NODE)
    thread.join()
    if not taken:
        raise SystemExit("error: PageRank did not survive the loss of its node")
    return taken[0]


def _computes(node: Any) -> bool:
    """Return whether a process of a node runs a task: Ray names it so."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    return any(" ".join(each.cmdline()).startswith("ray::run") for each in raylet.children())


def _seconds(session: neo4j.Session, statement: str, **parameters: Any) -> float:
    return seconds_of(lambda: session.run(statement, parameters).consume())


if __name__ == "__main__":
    main()
