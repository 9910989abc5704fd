"""F16: many more callers than connections."""

import threading

import neo4j
import pytest
from fix_waiting import wait_until

POOL = 16
QUEUE = 100
"""How many may wait; a setting of the shared server."""


class Crowd:
    """Many callers at once, each with a connection of its own to Neo4j.

    Attributes:
        outcomes: What each call gave, or its error.
    """

    def __init__(self, driver, size, work):
        self.outcomes = []
        self._gate = threading.Barrier(size)
        self._threads = [
            threading.Thread(target=self._step, args=(driver, work, index)) for index in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def _step(self, driver, work, index):
        with driver.session() as session:
            session.run("RETURN 1").consume()
            self._gate.wait(60)
            try:
                self.outcomes.append(work(session, str(index)))
            except neo4j.exceptions.Neo4jError as error:
                self.outcomes.append(error)

    def join(self):
        for thread in self._threads:
            thread.join()
        return self.outcomes


@pytest.fixture
def crowd(server):
    with server.driver(max_connection_pool_size=200) as driver:
        yield lambda size, work: Crowd(driver, size, work)


def echo(session, text):
    return session.run("CALL test.echo($text)", text=text).single()["value"]


def nest(session, text):
    """Call a procedure that calls one that calls one."""
    found = session.run(
        "CALL test.run('CALL test.run($inner, {x: $x}) YIELD value RETURN value', "
        "{inner: 'CALL test.echo($x) YIELD value RETURN value', x: $x})",
        x=text,
    )
    return found.single()["value"]["value"]["value"]


@pytest.mark.parametrize("work", [echo, nest])
def test_callers_within_the_queue_are_all_served(evidence, crowd, work):
    """Whoever finds a place in the queue gets its own rows; nested calls never starve."""
    size = POOL + QUEUE

    assert sorted(crowd(size, work).join()) == sorted(map(str, range(size)))


def test_callers_beyond_the_queue_are_busy_at_once(session, evidence, crowd):
    """With pool and queue full the others get a transient error; those who wait are served."""
    mark, beyond = evidence.mark(), 30
    for _ in range(POOL):
        evidence.call("CALL trouble.work($mark)", mark=mark)
    wait_until(lambda: evidence.metric("sidecypher_open_calls") >= POOL)

    callers = crowd(QUEUE + beyond, echo)

    wait_until(lambda: len(callers.outcomes) == beyond)
    for error in list(callers.outcomes):
        assert error.code == "Neo.TransientError.Request.NoThreadsAvailable"
        assert "[SC-211] Python procedure `test.echo` was not started" in error.message
        assert f"{QUEUE} callers wait" in error.message
    evidence.terminate("CALL trouble.work")
    assert sum(isinstance(outcome, str) for outcome in callers.join()) == QUEUE
