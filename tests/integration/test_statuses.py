"""What a driver is told of each error: its status, and so whether it tries again."""

import textwrap
import threading
import time

import pytest
from docs.pages import page_named, rows
from fix_sidecars import page
from fix_waiting import wait_until
from neo4j.exceptions import ClientError, Neo4jError, TransientError

FAILED = "Neo.ClientError.Procedure.ProcedureCallFailed"
TIMED_OUT = "Neo.ClientError.Procedure.ProcedureTimedOut"
LATER = "Neo.TransientError.Statement.RemoteExecutionTransientError"

ENDLESS = "CALL test.run($query, {query: $query}) YIELD value RETURN value"

RAISED = {
    "SC-201": ("CALL test.raise('SC-201')", {}, FAILED),
    "SC-202": ("CALL test.fail('value', 'payload')", {}, FAILED),
    "SC-204": ("CALL test.raise('SC-204')", {}, FAILED),
    "SC-205": ("CALL test.fail('row', 'payload')", {}, FAILED),
    "SC-208": ("CALL test.raise('SC-208')", {}, FAILED),
    "SC-209": ("RETURN test.runInFunction()", {}, FAILED),
    "SC-211": (ENDLESS, {"query": ENDLESS}, FAILED),
    "SC-213": ("CALL test.brief(20)", {}, TIMED_OUT),
    "SC-215": ("CALL test.echo(null)", {}, FAILED),
    "SC-216": ("CALL test.echo($text)", {"text": "x" * (17 << 20)}, FAILED),
    "SC-218": (
        "CREATE (n) DELETE n WITH n CALL test.echoAny(n) YIELD value RETURN value",
        {},
        FAILED,
    ),
    "SC-219": ("CALL test.readOnly('CREATE ()')", {}, FAILED),
    "SC-220": ("CALL test.die()", {}, FAILED),
    "SC-222": ("CALL test.raise('SC-222')", {}, FAILED),
}
"""By code: a query that ends with it while all is well, its parameters and its status."""

OTHERWISE = {
    "SC-203": "test_procedures_that_are_not_there_or_have_changed_are_for_the_client",
    "SC-206": "test_a_statement_keeps_its_own_status",
    "SC-207": "test_a_call_that_a_stopping_sidecar_ends_is_for_the_client",
    "SC-210": "test_a_missing_sidecar_is_for_the_client",
    "SC-212": "test_a_lost_sidecar_is_for_the_client",
    "SC-214": "test_nonsense_is_for_the_client",
    "SC-217": "test_procedures_that_are_not_there_or_have_changed_are_for_the_client",
    "SC-221": "test_a_stream_that_expired_is_for_the_client",
}
"""By code: where an error is raised that needs a sidecar in trouble."""


def test_every_code_of_a_call_is_raised_here():
    """Each SC-2 code of docs/errors.md has its case, or is known to be raised elsewhere."""
    codes = {row[0] for row in rows(page_named("docs/errors.md"), "code")}

    assert {code for code in codes if code.startswith("SC-2")} == {*RAISED, *OTHERWISE}


def check(error, code, status):
    """The error is the one with this code, and has this status."""
    assert f"[{code}] " in error.message
    assert error.code == status
    assert isinstance(error, TransientError) == ("Transient" in status)


@pytest.mark.parametrize("code", RAISED)
def test_an_error_has_the_status_that_is_documented(session, code):
    """Errors of a call are the client's, deadlines have a status of their own."""
    query, parameters, status = RAISED[code]
    session.run("CALL test.echo('connected')").consume()
    with pytest.raises(Neo4jError) as caught:
        session.run(query, parameters).consume()

    check(caught.value, code, status)


@pytest.mark.slow
def test_a_missing_sidecar_is_for_the_client(server, session):
    """A driver does not try again in silence what somebody has to be told."""
    with server.sidecar_down(), pytest.raises(ClientError) as caught:
        session.run("CALL test.echo('x')").consume()

    check(caught.value, "SC-210", FAILED)


def test_a_lost_sidecar_is_for_the_client(server, driver, session, evidence):
    """What may have been done already is never done again by a driver."""
    mark = evidence.mark()
    caller = evidence.call("CALL test.hang(20, $mark)", mark=mark)
    wait_until(lambda: mark in session.run("CALL test.running()").value())
    server.kill_sidecar()
    caller.join(10)

    check(caller.error, "SC-212", FAILED)


@pytest.mark.slow
def test_a_call_that_a_stopping_sidecar_ends_is_for_the_client(
    server, session, another_sidecar, evidence
):
    """A call that outlives the sidecar's patience may have done half of its work."""
    with server.sidecar_down():
        other = another_sidecar(SIDECYPHER_SHUTDOWN_SECONDS="0")
        mark = evidence.mark()
        caller = evidence.call("CALL test.hangAsync(20, $mark)", mark=mark)
        wait_until(lambda: mark in session.run("CALL test.running()").value())
        other.stop()
        caller.join(10)

    check(caller.error, "SC-207", FAILED)


@pytest.mark.slow
def test_procedures_that_are_not_there_or_have_changed_are_for_the_client(
    server, session, another_sidecar, tmp_path
):
    """A sidecar with other procedures than the plugin's gives a named error for each of them."""
    body = """
        from sidecypher import Row, procedure

        class Text(Row):
            value: int

        @procedure("test.echo")
        def echo(value: int) -> Text:
            return Text(value=value)
        """
    (tmp_path / "changed.py").write_text(textwrap.dedent(body))
    with server.sidecar_down():
        another_sidecar(SIDECYPHER_PROCEDURES=str(tmp_path))
        for query, code in (("test.echo('x')", "SC-217"), ("test.echoAny('x')", "SC-203")):
            with pytest.raises(ClientError) as caught:
                session.run(f"CALL {query}").consume()
            check(caught.value, code, FAILED)


@pytest.mark.slow
def test_a_stream_that_expired_is_for_the_client(server, driver, session, another_sidecar):
    """A stream that nobody has read for longer than its lease cannot go on."""
    mark = f"lease {time.monotonic_ns()}"
    with server.sidecar_down():
        another_sidecar(SIDECYPHER_STREAM_LEASE_SECONDS="0.2")
        with driver.session(fetch_size=10) as slow:
            stream = slow.run("CALL test.closing($mark) YIELD value RETURN value", mark=mark)
            assert next(stream)["value"] == 0
            wait_until(lambda: mark in session.run("CALL test.closed()").value())
            with pytest.raises(ClientError) as caught:
                stream.value()

    check(caught.value, "SC-221", FAILED)


@pytest.mark.slow
def test_nonsense_is_for_the_client(session, scripted_sidecar):
    """An answer that breaks the protocol does not become rows, nor another try."""
    scripted_sidecar(lambda request: page({"id": "another"}, ["x"]))
    with pytest.raises(ClientError) as caught:
        session.run("CALL test.echo('x')").consume()

    check(caught.value, "SC-214", FAILED)


def test_a_statement_keeps_its_own_status(session):
    """The failure of a statement of `ctx.run` is told as if the caller had run it."""
    with pytest.raises(ClientError) as caught:
        session.run("CALL test.run('RETURN 1 / 0')").consume()

    assert caught.value.code == "Neo.ClientError.Statement.ArithmeticError"


def test_what_may_work_later_is_tried_again(driver, session, evidence):
    """A managed transaction runs again after an error that its author calls retryable."""
    query, mark = "CALL test.later($mark, 1)", evidence.mark()
    with pytest.raises(TransientError) as caught:
        session.run(query, mark=evidence.mark()).consume()
    tried = session.execute_read(lambda tx: tx.run(query, mark=mark).single())

    check(caught.value, "test.not-yet", LATER)
    assert tried["value"] == 2


def test_a_deadlock_of_two_bodies_is_solved_by_trying_again(driver, session):
    """Two bodies lock in opposite order: one is chosen, its driver tries again, both succeed."""
    session.run("CREATE (:Locked {name: 'a', n: 0}), (:Locked {name: 'b', n: 0})").consume()
    lock = "CALL test.run('MATCH (l:Locked {name: $name}) SET l.n = l.n + 1', {name: $name})"
    both_hold_one = threading.Barrier(2)
    tries = []

    def work(tx, first, second):
        tries.append(first)
        tx.run(lock, name=first).consume()
        if tries.count(first) == 1:
            both_hold_one.wait(30)
        tx.run(lock, name=second).consume()

    def caller(first, second):
        with driver.session() as own:
            own.execute_write(work, first, second)

    threads = [threading.Thread(target=caller, args=pair) for pair in ("ab", "ba")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert session.run("MATCH (l:Locked) RETURN l.n").value() == [2, 2]
    assert len(tries) >= 3


@pytest.mark.slow
def test_the_callers_trace_goes_with_the_call(driver, scripted_sidecar):
    """The `traceparent` in the metadata of a transaction reaches the sidecar."""
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sidecar = scripted_sidecar(lambda request: page(request, ["x"]))
    with driver.session() as session:
        for metadata in ({"traceparent": context}, {"traceparent": "nonsense"}, None):
            with session.begin_transaction(metadata=metadata) as tx:
                assert tx.run("CALL test.echo('x')").single()["value"] == "x"

    assert [call["traceparent"] for call in sidecar.calls] == [context, "", ""]
