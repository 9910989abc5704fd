"""Procedures on a Ray cluster, called from Cypher on a real server."""

import tempfile
from pathlib import Path

import neo4j
import psutil
import pytest
from fix_evidence import read_metrics
from fix_waiting import wait_until
from neo4j.exceptions import Neo4jError

READY_SECONDS = 120.0


@pytest.fixture
def with_cluster(another_sidecar):
    """Start a sidecar, and wait for its Ray cluster, which a busy machine starts slowly."""

    def start():
        sidecar = another_sidecar(SIDECYPHER_RAY_ADDRESS="local")
        nodes = "sidecypher_ray_nodes", frozenset()
        wait_until(lambda: read_metrics(sidecar.announcement)[nodes], READY_SECONDS)
        return sidecar

    return start


@pytest.fixture
def on_ray(server, with_cluster):
    """The only sidecar while the test runs; it has a Ray cluster on this machine."""
    with server.sidecar_down():
        yield with_cluster()


def refused(session, query, **parameters):
    with pytest.raises(Neo4jError) as caught:
        session.run(query, **parameters).consume()
    return caught.value.message


def ray_processes(sidecar):
    """Return the main processes of the cluster that a sidecar has started."""
    found = psutil.Process(sidecar.process.pid).children(recursive=True)
    return [each for each in found if each.name() in {"raylet", "gcs_server"}]


def left_folders():
    return set(Path(tempfile.gettempdir()).glob("sidecypher-ray-*"))


@pytest.mark.slow
def test_procedures_run_on_a_cluster(session, on_ray, tmp_path):
    """Rows, batches, streams, projections, errors and the end of a caller, through Neo4j."""
    session.run("UNWIND range(1, 3000) AS i CREATE (:Projected {i: i, x: i / 2.0})").consume()
    try:
        check_rows(session)
        check_projections(session, on_ray)
        check_cancelling(session, tmp_path)
    finally:
        session.run("MATCH (n:Projected) DETACH DELETE n").consume()


def check_rows(session):
    found = session.run("CALL cluster.stream(3000) YIELD value RETURN count(*), sum(value)")
    assert found.single().values() == [3000, 4498500]
    found = session.run(
        "CALL cluster.twice.batch([i IN range(1, 100) | [i]]) YIELD index, value "
        "RETURN collect([index, value]) AS rows"
    )
    assert found.single()["rows"] == [[i, 2 * i + 2] for i in range(100)]


def check_projections(session, on_ray):
    """The statement sees what the caller's transaction has written and not committed."""
    with session.begin_transaction() as transaction:
        transaction.run("CREATE (:Projected {i: 0, x: 0.5, name: 'new'})").consume()
        row = transaction.run("CALL cluster.project('Projected')").single()
        transaction.rollback()
    assert row["rows"] == 3001
    assert row["types"] == ["int64", "double", "string"]
    assert row["sum"] == sum(i / 2 for i in range(1, 3001)) + 0.5
    assert row["pid"] != on_ray.process.pid
    assert session.run("CALL cluster.project('None')").single()["rows"] == 0

    assert "SC-215" in refused(session, "CALL cluster.wrong()")
    assert "SC-219" in refused(session, "CALL cluster.write()")


def check_cancelling(session, tmp_path):
    """The end of a transaction ends the function on the cluster, which may clean up."""
    mark = tmp_path / "mark"
    limited = neo4j.Query("CALL cluster.wait($mark)", timeout=8.0)  # seconds

    assert "SC-213" in refused(session, limited, mark=str(mark))

    wait_until((tmp_path / "mark.ended").exists, READY_SECONDS)


def test_without_a_cluster_a_call_is_unavailable(session):
    """As without a sidecar, a REQUIRED procedure fails and an OPTIONAL one returns nulls."""
    assert "SC-210" in refused(session, "CALL cluster.twice(1)")
    assert session.run("CALL cluster.optional(1)").single().values() == [None]


def test_a_missing_cluster_leaves_other_procedures_alone(session):
    """Calls that no cluster can run do not keep those of other procedures from the sidecar."""
    for _ in range(5):
        assert "SC-210" in refused(session, "CALL cluster.twice(1)")
        assert session.run("CALL test.echo('x')").single()["value"] == "x"


@pytest.mark.slow
def test_a_sidecar_leaves_nothing_of_ray_behind(session, server, with_cluster):
    """A sidecar that stops, or is killed, ends the cluster that it has started."""
    folders = left_folders()
    with server.sidecar_down():
        for end in ("stop", "kill"):
            sidecar = with_cluster()
            assert session.run("CALL cluster.twice(4)").single()["value"] == 8
            processes = ray_processes(sidecar)
            assert len(processes) == 2
            getattr(sidecar, end)()
            _, left = psutil.wait_procs(processes, READY_SECONDS)
            assert not left
        # The next one removes what the killed one could not. While it still starts its cluster it
        # may be ended like that, too.
        with_cluster().stop()
    assert left_folders() <= folders
