"""F6: the sidecar is stopped in its tracks, and goes on later."""

from pathlib import Path

import pytest
from fix_waiting import promised, wait_until
from neo4j.exceptions import Neo4jError

CALLERS = 12


@pytest.fixture
def frozen(server):
    """The supervised sidecar, which does nothing until it is resumed."""
    sidecar = server.process("sidecar")
    sidecar.suspend()
    # Each of its threads goes on until it is scheduled and sees the signal.
    wait_until(lambda: all(state(task) == "T" for task in tasks(sidecar)))
    yield sidecar
    sidecar.resume()


def tasks(process):
    return Path(f"/proc/{process.pid}/task").iterdir()


def state(task):
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def answers(session):
    """Tell whether the sidecar serves again: for a moment the circuit may still be open."""
    try:
        return session.run("CALL test.brief(0)").single()["value"] == "in time"
    except Neo4jError:
        return False


def test_callers_of_a_frozen_sidecar_are_freed_at_their_deadlines(session, evidence, request):
    """SIGSTOP: every caller has its error a second after its 0.3 s, none waits for another."""
    wait_until(lambda: answers(session))
    for caller in [evidence.call("CALL test.hang(0.3)") for _ in range(CALLERS)]:
        caller.join(30)
    sidecar = request.getfixturevalue("frozen")

    callers = [evidence.call("CALL test.brief(0)") for _ in range(CALLERS)]
    for caller in callers:
        caller.join(10)

    assert max(caller.ended - caller.begun for caller in callers) < promised(1.3)
    # Who finds no open connection does not start at all: nobody answers the handshake.
    codes = [caller.error.message.partition("[")[2].partition("]")[0] for caller in callers]
    assert set(codes) <= {"SC-210", "SC-213"}
    assert "SC-213" in codes
    sidecar.resume()
    wait_until(lambda: answers(session))
    evidence.told_by_plugin("SC-213")


def test_replies_that_come_too_late_reach_nobody(session, evidence, request):
    """SIGCONT: what bodies of given up calls answer is dropped; later calls have their own rows."""
    wait_until(lambda: answers(session))
    marks = [evidence.mark() for _ in range(CALLERS)]
    callers = [evidence.call("CALL trouble.waitLong($mark)", mark=mark) for mark in marks]
    for mark in marks:
        evidence.await_body(mark)
    sidecar = request.getfixturevalue("frozen")
    evidence.terminate("CALL trouble.waitLong")
    for caller in callers:
        caller.join(10)
        assert caller.rows is None
        assert caller.error is not None

    sidecar.resume()
    wait_until(lambda: answers(session))
    session.run("CALL trouble.letGo()").consume()

    found = session.run(
        "UNWIND range(1, 200) AS n CALL test.echo(toString(n)) YIELD value RETURN value"
    )
    assert found.value() == [str(n) for n in range(1, 201)]
    wait_until(lambda: set(marks) <= set(session.run("CALL trouble.ended()").value()))


def test_calls_that_were_given_up_meanwhile_are_not_run(session, evidence, request):
    """SIGCONT: a request that waited in the socket is dropped when its caller has gone."""
    ended = ("sidecypher_call_seconds_count", {"procedure": "test.briefAsync"})
    dropped = (
        "sidecypher_rejected_total",
        {"transport": "py4j", "reason": "caller gone"},
    )
    wait_until(lambda: answers(session))
    before = evidence.metric(ended[0], **ended[1]), evidence.metric(dropped[0], **dropped[1])
    sidecar = request.getfixturevalue("frozen")
    callers = [evidence.call("CALL test.briefAsync(0)") for _ in range(CALLERS)]
    for caller in callers:
        caller.join(10)
    given_up = sum("SC-213" in caller.error.message for caller in callers)
    assert given_up > 0

    sidecar.resume()

    wait_until(lambda: evidence.metric(dropped[0], **dropped[1]) == before[1] + given_up)
    assert evidence.metric(ended[0], **ended[1]) == before[0]
