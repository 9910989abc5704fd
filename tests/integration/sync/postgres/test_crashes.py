"""Whoever is killed wherever: nothing that was committed is lost, written twice or out of order."""

import sys
from functools import partial
from pathlib import Path

import psycopg
import pytest
from fix_waiting import wait_until
from integration.sync.postgres.crashing import POINTS
from integration.sync.proof import EVENTS, Proof, kill_at

from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.postgres.status import WORKER

SMALL = {"SIDECYPHER_SYNC_BATCH": "5"}
"""So that each worker does every step several times."""

CRASHING = Path(__file__).with_name("crashing.py")


@pytest.fixture
def proof(outbox):
    def publish(run, event):
        try:
            with psycopg.connect(outbox.postgres.url) as conn:
                return PostgresOutbox().add(conn, run, event)
        except psycopg.OperationalError:
            return False

    return Proof(outbox.runs, publish)


@pytest.fixture
def crashing(outbox):
    """Start a worker that dies at a point."""

    def start(point, count):
        command = (sys.executable, str(CRASHING), point, str(count))
        return outbox.launch(*command, **SMALL)

    return start


CONNECTED = "SELECT pid FROM pg_stat_activity WHERE application_name = %s"


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_is_killed_loses_nothing(outbox, proof, crashing, kill_count, point):
    """One of two workers dies after each of its steps; another one goes on."""
    kill_at(point, kill_count, proof, crashing=crashing, start=partial(outbox.start, **SMALL))
    outbox.start()
    proof.check(f"worker, {point}")
    wait_until(lambda: not outbox.rows())


@pytest.mark.slow
def test_a_postgres_that_is_killed_loses_nothing(outbox, proof, kill_count):
    """PostgreSQL dies while events are added and written, and starts with what was committed."""
    outbox.start()
    # A worker that cannot reach PostgreSQL when it starts says so and ends.
    wait_until(lambda: outbox.postgres.run(CONNECTED, WORKER))
    for _ in range(kill_count):
        proof.publish(EVENTS)
        outbox.postgres.kill()
        proof.kills += 1
        wait_until(lambda: "sync.postgres_away" in outbox.log)
        outbox.postgres.start()
    proof.check("PostgreSQL")
    wait_until(lambda: not outbox.rows())


@pytest.mark.slow
def test_a_sidecar_that_is_killed_loses_nothing(outbox, proof, server, kill_count):
    """The sidecar dies while events are written."""
    outbox.start()
    for _ in range(kill_count):
        proof.publish(EVENTS)
        pid = server.sidecar.pid
        server.kill_sidecar()
        proof.kills += 1
        server.await_successor(pid)
    proof.check("sidecar")


@pytest.mark.slow
def test_the_proof_finds_a_naive_dual_write(outbox, proof, crashing):
    """A worker that deletes rows before it writes loses events when it dies in between."""
    proof.publish(12)
    dying = crashing("naive", 1)
    wait_until(lambda: dying.poll() is not None, 60)
    outbox.start()
    wait_until(lambda: not outbox.rows(), 60)
    assert proof.outcome()["lost"] > 0
