"""Several sidecars behind one Neo4j: they share the calls, and may come and go."""

import contextlib
import threading

import pytest
from fix_sidecars import line_of, page
from fix_waiting import wait_until
from neo4j.exceptions import Neo4jError

from sidecypher.protocol import envelope

ASK = "CALL test.processId() YIELD value RETURN value"


class Load(threading.Thread):
    """Calls one after the other until the block ends, and keeps who answered and every error."""

    def __init__(self, driver):
        super().__init__(daemon=True)
        self._driver = driver
        self._over = threading.Event()
        self.answered = []
        self.errors = []

    def run(self):
        with self._driver.session() as session:
            while not self._over.is_set():
                try:
                    self.answered.append(session.run(ASK).single(strict=True)["value"])
                except Neo4jError as error:
                    self.errors.append(error.message)

    def await_answers(self, *processes):
        """Wait until each of these processes, and no other, has answered the last 20 calls."""
        wait_until(lambda: len(self.answered) >= 20)
        wait_until(lambda: set(self.answered[-20:]) == set(processes))


@contextlib.contextmanager
def load(driver):
    found = Load(driver)
    found.start()
    try:
        yield found
    finally:
        found._over.set()
        found.join(30)


@pytest.mark.slow
def test_sidecars_come_and_go_without_a_failed_call(server, driver, session, another_sidecar):
    """Calls spread over a sidecar that joins; each may stop and come back, and no call fails."""
    first = server.process("sidecar").pid
    with load(driver) as calls:
        calls.await_answers(first)
        second = another_sidecar()
        calls.await_answers(first, second.process.pid)
        server.process("sidecar").terminate()
        calls.await_answers(second.process.pid)
        third = server.await_successor(first)
        calls.await_answers(second.process.pid, third)
        second.stop()
        calls.await_answers(third)

    assert first != third
    assert calls.errors == []


def test_a_killed_sidecar_is_one_error_at_most(server, driver, session, another_sidecar):
    """What a killed sidecar was doing is in doubt; all other calls go to the one that is left."""
    second = another_sidecar()
    with load(driver) as calls:
        calls.await_answers(server.sidecar.pid, second.process.pid)
        second.kill()
        calls.await_answers(server.sidecar.pid)

    assert len(calls.errors) <= 1
    assert all("SC-212" in error for error in calls.errors)


@pytest.mark.slow
def test_a_call_goes_on_while_sidecars_replace_each_other(session, scripted_sidecar):
    """A call that meets one stopping sidecar after the other gets to the one that stays."""
    left = ["third", "second", "first"]
    running = []

    def answer(request):
        if len(left) == 1:
            return page(request, [left[0]])
        left.pop()
        running[-1]._membership.leave()
        running.append(scripted_sidecar(answer))
        error = envelope.ErrorBody("SC-210", "The sidecar is stopping")
        return line_of(envelope.ErrorReply(request["id"], error, "stopping"))

    running.append(scripted_sidecar(answer))

    assert session.run("CALL test.echo('x')").single()["value"] == "third"


OPTIONAL = {
    "CALL test.optional(7)": ([["there", 7]], [[None, None]]),
    "CALL test.optionalRows(7)": ([["there", 7]], []),
    "CALL test.off(7)": ([[None, None]], [[None, None]]),
    "RETURN test.optionalValue(7)": ([[7]], [[None]]),
    "UNWIND [1, 2] AS n CALL test.optionalNothing(n) RETURN n": ([[1], [2]], [[1], [2]]),
    "UNWIND [1, 2] AS n RETURN test.optionalValue(n)": ([[1], [2]], [[None], [None]]),
}
"""Queries, each with its rows with and without a sidecar."""


@pytest.mark.slow
def test_what_is_optional_may_be_missing(server, session):
    """OPTIONAL and OFF give nulls or no rows without a sidecar; OFF also with one."""
    there = {query: rows for query, (rows, _) in OPTIONAL.items()}
    missing = {query: rows for query, (_, rows) in OPTIONAL.items()}

    assert {query: session.run(query).values() for query in OPTIONAL} == there
    with server.sidecar_down():
        assert {query: session.run(query).values() for query in OPTIONAL} == missing
        for query in OPTIONAL:
            with pytest.raises(Neo4jError, match="value"):
                session.run(query.replace("7", "null").replace("[1, 2]", "[null]")).consume()
    assert {query: session.run(query).values() for query in OPTIONAL} == there


@pytest.mark.slow
def test_what_was_missing_is_in_the_log(server, session):
    """Neo4j's log has one line for many calls that gave nothing, with the reason."""
    with server.sidecar_down():
        query = "UNWIND range(1, 1000) AS n CALL test.optionalRows(n) YIELD value RETURN value"
        assert session.run(query).values() == []

    wait_until(lambda: "`test.optionalRows` is OPTIONAL and gave no rows" in server.logs())
    lines = [line for line in server.logs().splitlines() if "test.optionalRows" in line]
    assert sum("is OPTIONAL" in line for line in lines) < 100
