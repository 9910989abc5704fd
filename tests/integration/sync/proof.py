"""The proof that nothing is lost, written twice or out of order, whoever is killed."""

import itertools
import random

import psutil
from fix_waiting import wait_until
from neo4j.exceptions import DriverError

from sidecypher_procedures.sync.streams import new_event_id

RUNS = 6
EVENTS = 50
"""How many events are published before each kill."""


class Proof:
    """Events of several runs, as they were published, and what the graph has of them.

    Args:
        runs: The `runs` procedures.
        publish: Publishes an event of a run; returns whether that was confirmed.
    """

    def __init__(self, runs, publish):
        self._runs = runs
        self._publish = publish
        self._published = {runs.one("create", "test", {})["id"]: [] for _ in range(RUNS)}
        self._turns = itertools.cycle(self._published)
        self.kills = 0

    def publish(self, count):
        """Publish events in turns; after an error, again with the same id."""
        for run in itertools.islice(self._turns, count):
            event_id = new_event_id()
            self._published[run].append(event_id)
            self._publish_one(run, event_id)

    def publish_elsewhere(self, count, producer, confirmed):
        """Let a process publish, and kill it when so many are confirmed; then publish the rest.

        What it had not told to be confirmed is published again, as a producer does that starts.
        """
        planned = [(run, new_event_id()) for run in itertools.islice(self._turns, count)]
        for run, event_id in planned:
            self._published[run].append(event_id)
        lines = "".join(f"{run} {event_id}\n" for run, event_id in planned)
        with producer:
            producer.stdin.write(lines.encode())
            producer.stdin.flush()
            told = [producer.stdout.readline().decode().strip() for _ in range(confirmed)]
            producer.kill()
        assert told == [event_id for _, event_id in planned[:confirmed]]
        for run, event_id in planned[confirmed:]:
            self._publish_one(run, event_id)

    def _publish_one(self, run, event_id):
        event = {"type": "userMessage", "content": event_id, "id": event_id}
        wait_until(lambda: self._publish(run, event))

    def _found(self):
        """Return the ids of each run's events in the order of their numbers."""
        rows = self._runs.session.run(
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
        verified = [self._runs.one("verify", run)["ok"] for run in found]
        assert all(verified)
        return {"lost": lost, "twice": twice, "disordered runs": strange}

    def check(self, killed):
        """Wait until all is there, and nothing more; print a line of a table."""
        wait_until(self.is_complete, 60)
        outcome = self.outcome()
        events = sum(map(len, self._published.values()))
        lost, twice = outcome["lost"], outcome["twice"]
        print(f"| {killed} | {self.kills} | {events} | {lost} | {twice} |")  # noqa: T201
        assert not any(outcome.values()), outcome


def kill_at(point, kills, proof, *, crashing, start):
    """Let pairs of processes write, one of which dies at a point, until enough have died.

    Args:
        crashing: Starts a process that dies at a point after so many passes.
        start: Starts a process that does not.
    """
    chance = random.Random(f"{point}")
    while proof.kills < kills:
        proof.publish(EVENTS)
        dying, other = crashing(point, chance.randint(1, 3)), start()
        wait_until(lambda dying=dying: dying.poll() is not None or proof.is_complete(), 60)
        proof.kills += dying.poll() is not None
        other.terminate()
        if dying.poll() is None:
            dying.terminate()
        _, left = psutil.wait_procs([dying, other], 20)
        for process in left:
            # One that had missed the signal would write all that is published from here on, and no
            # process would come to its point.
            process.kill()
            process.wait()
