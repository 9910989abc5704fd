"""Whoever is killed wherever: nothing that was published is lost, written twice or out of order."""

import itertools
import random
import sys
from pathlib import Path

import psutil
import pytest
from fix_waiting import wait_until
from integration.sync.crashing import POINTS
from neo4j.exceptions import DriverError

from sidecypher_procedures.sync.errors import RedisUnavailable
from sidecypher_procedures.sync.streams import new_event_id

CRASHING = Path(__file__).with_name("crashing.py")
RUNS = 6
EVENTS = 50
"""How many events are published before each kill."""


class Proof:
    """Events of several runs, as they were published, and what the graph has of them."""

    def __init__(self, sync):
        self._sync = sync
        self._published = {sync.new_run(): [] for _ in range(RUNS)}
        self._turns = itertools.cycle(self._published)
        self.kills = 0

    def publish(self, count):
        """Publish events in turns; after an error, again with the same id."""
        for run in itertools.islice(self._turns, count):
            event_id = new_event_id()
            self._published[run].append(event_id)
            wait_until(lambda run=run, event_id=event_id: self._is_published(run, event_id))

    def publish_elsewhere(self, count, confirmed):
        """Let a process publish, and kill it when so many are confirmed; then publish the rest.

        What it had not told to be confirmed is published again, as a producer does that starts.
        """
        planned = [(run, new_event_id()) for run in itertools.islice(self._turns, count)]
        for run, event_id in planned:
            self._published[run].append(event_id)
        lines = "".join(f"{run} {event_id}\n" for run, event_id in planned)
        with self._sync.producer() as producer:
            producer.stdin.write(lines.encode())
            producer.stdin.flush()
            told = [producer.stdout.readline().decode().strip() for _ in range(confirmed)]
            producer.kill()
        assert told == [event_id for _, event_id in planned[:confirmed]]
        for run, event_id in planned[confirmed:]:
            wait_until(lambda run=run, event_id=event_id: self._is_published(run, event_id))

    def _is_published(self, run, event_id):
        try:
            return self._sync.publish(run, event_id, id=event_id)
        except RedisUnavailable:
            return False

    def _found(self):
        """Return the ids of each run's events in the order of their numbers."""
        rows = self._sync.runs.session.run(
            """
            UNWIND $runs AS run
            RETURN run, COLLECT {
                MATCH (e:Event {runId: run}) WHERE e.type = 'userMessage'
                RETURN e.id ORDER BY e.seq
            } AS ids
            """,
            runs=list(self._published),
        )
        return {row["run"]: row["ids"] for row in rows}

    def answers(self):
        """Return whether Neo4j can be asked."""
        try:
            return self._found()
        except DriverError:
            return None

    def is_complete(self):
        found = self._found()
        return all(set(ids) <= set(found[run]) for run, ids in self._published.items())

    def outcome(self):
        """Return how many events are lost, twice, and out of order; and check the digests."""
        found = self._found()
        lost = sum(len(set(ids) - set(found[run])) for run, ids in self._published.items())
        twice = sum(len(ids) - len(set(ids)) for ids in found.values())
        strange = sum(
            [each for each in ids if each in set(found[run])] != list(dict.fromkeys(found[run]))
            for run, ids in self._published.items()
        )
        verified = [self._sync.runs.one("verify", run)["ok"] for run in found]
        assert all(verified)
        return {"lost": lost, "twice": twice, "disordered runs": strange}

    def check(self, killed):
        """Wait until all is there, and nothing more; print a line of the table of docs/sync.md."""
        wait_until(self.is_complete, 60)
        outcome = self.outcome()
        events = sum(map(len, self._published.values()))
        lost, twice = outcome["lost"], outcome["twice"]
        print(f"| {killed} | {self.kills} | {events} | {lost} | {twice} |")  # noqa: T201
        assert not any(outcome.values()), outcome


@pytest.fixture
def proof(sync):
    return Proof(sync)


def crashing(sync, point, count):
    return sync.launch(sys.executable, str(CRASHING), point, str(count))


def kill_at(sync, proof, point, kills):
    """Let pairs of consumers run, one of which dies at a point, until enough have died."""
    chance = random.Random(f"{point}")
    while proof.kills < kills:
        proof.publish(EVENTS)
        dying, other = crashing(sync, point, chance.randint(1, 3)), sync.start()
        wait_until(lambda dying=dying: dying.poll() is not None or proof.is_complete(), 60)
        proof.kills += dying.poll() is not None
        other.terminate()
        if dying.poll() is None:
            dying.terminate()
        psutil.wait_procs([dying, other], 20)


@pytest.mark.parametrize("point", POINTS)
def test_a_consumer_that_is_killed_loses_nothing(sync, proof, kill_count, point):
    """One of two consumers dies after each of its steps; another one goes on."""
    kill_at(sync, proof, point, kill_count)
    sync.start()
    proof.check(f"consumer, {point}")


def test_a_producer_that_is_killed_loses_nothing(sync, proof, kill_count):
    """A producer dies while it publishes; its successor publishes again what was not confirmed."""
    chance = random.Random("producer")
    sync.start()
    for _ in range(kill_count):
        proof.publish_elsewhere(EVENTS, confirmed=chance.randint(1, EVENTS - 1))
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


def test_the_proof_finds_a_naive_dual_write(sync, proof):
    """A consumer that acknowledges before it writes loses events when it dies in between."""
    proof.publish(12)
    dying = crashing(sync, "naive", 1)
    wait_until(lambda: dying.poll() is not None, 60)
    sync.start()
    wait_until(lambda: all(each.lag == each.pending == 0 for each in sync.status()), 60)
    assert proof.outcome()["lost"] > 0
