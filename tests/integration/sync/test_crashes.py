"""Whoever is killed wherever: nothing that was published is lost, written twice or out of order."""

import random
import sys
from pathlib import Path

import pytest
from fix_waiting import wait_until
from integration.sync.crashing import POINTS
from integration.sync.proof import EVENTS, Proof, kill_at

from sidecypher_procedures.sync.errors import RedisUnavailable

CRASHING = Path(__file__).with_name("crashing.py")


@pytest.fixture
def proof(sync):
    def publish(run, event):
        try:
            return sync.publisher.publish(run, event)
        except RedisUnavailable:
            return False

    return Proof(sync.runs, publish)


@pytest.fixture
def crashing(sync):
    """Start a consumer that dies at a point."""
    return lambda point, count: sync.launch(sys.executable, str(CRASHING), point, str(count))


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_consumer_that_is_killed_loses_nothing(sync, proof, crashing, kill_count, point):
    """One of two consumers dies after each of its steps; another one goes on."""
    kill_at(point, kill_count, proof, crashing=crashing, start=sync.start)
    sync.start()
    proof.check(f"consumer, {point}")


def test_a_producer_that_is_killed_loses_nothing(sync, proof, kill_count):
    """A producer dies while it publishes; its successor publishes again what was not confirmed."""
    chance = random.Random("producer")
    sync.start()
    for _ in range(kill_count):
        proof.publish_elsewhere(EVENTS, sync.producer(), confirmed=chance.randint(1, EVENTS - 1))
        proof.kills += 1
    proof.check("producer")


def test_a_redis_that_is_killed_loses_nothing(sync, proof, redis_server, kill_count):
    """Redis dies while events are published and consumed, and starts with what it had confirmed."""
    sync.start()
    for _ in range(kill_count):
        proof.publish(EVENTS)
        redis_server.kill()
        proof.kills += 1
        redis_server.start()
    proof.check("Redis")


@pytest.mark.slow
def test_a_sidecar_that_is_killed_loses_nothing(sync, proof, server, kill_count):
    """The sidecar dies while events are written."""
    sync.start()
    for _ in range(kill_count):
        proof.publish(EVENTS)
        pid = server.sidecar.pid
        server.kill_sidecar()
        proof.kills += 1
        server.await_successor(pid)
    proof.check("sidecar")


@pytest.mark.slow
def test_a_neo4j_that_is_killed_loses_nothing(sync, proof, server, kill_count):
    """Neo4j dies while events are written, and starts with what it had committed."""
    sync.start()
    for _ in range(kill_count):
        proof.publish(EVENTS)
        neo4j = server.process("neo4j")
        neo4j.kill()
        neo4j.wait(30)
        proof.kills += 1
        wait_until(proof.answers, 200)
    proof.check("Neo4j")


@pytest.mark.slow
def test_the_proof_finds_a_naive_dual_write(sync, proof, crashing):
    """A consumer that acknowledges before it writes loses events when it dies in between."""
    proof.publish(12)
    dying = crashing("naive", 1)
    wait_until(lambda: dying.poll() is not None, 60)
    sync.start()
    wait_until(lambda: all(each.lag == each.pending == 0 for each in sync.status()), 60)
    assert proof.outcome()["lost"] > 0
