"""F17: the caller's transaction ends or its client goes, wherever its call is."""

import time
from urllib.parse import urlsplit

import neo4j
import pytest
from fix_waiting import promised, wait_until
from neo4j.exceptions import Neo4jError

SLOW = "UNWIND range(1, 1000000000) AS n RETURN sum(n % 7) AS s"


@pytest.fixture
def await_end(session):
    """Wait until the body with a mark has ended."""
    return lambda mark, seconds=1.0: wait_until(
        lambda: mark in session.run("CALL trouble.ended()").value(), promised(seconds)
    )


@pytest.mark.parametrize("procedure", ["test.hang", "test.hangAsync"])
def test_terminating_a_transaction_frees_its_caller(evidence, procedure):
    """TERMINATE TRANSACTION frees a caller that waits for Python within a second."""
    mark = evidence.mark()
    query = f"CALL {procedure}(20, $mark)"
    caller = evidence.call(query, mark=mark)
    evidence.await_body(mark)

    begun = time.monotonic()
    evidence.terminate()
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    assert "terminated" in caller.error.message.lower()


@pytest.mark.parametrize(
    ("procedure", "query"),
    [
        ("trouble.work", "CALL trouble.work($mark)"),
        ("trouble.workAsync", "CALL trouble.workAsync($mark)"),
        ("trouble.stream", "CALL trouble.stream($mark) YIELD value RETURN max(value)"),
        ("trouble.hold", "CALL trouble.hold('CREATE (:Held)', $mark)"),
    ],
)
def test_a_body_sees_within_a_second_that_its_transaction_was_terminated(
    evidence, await_end, procedure, query
):
    """Bodies that look, or await, end; their call is counted and logged as cancelled."""
    mark = evidence.mark()
    caller = evidence.call(query, mark=mark)
    evidence.await_body(mark)

    begun = time.monotonic()
    evidence.terminate()
    await_end(mark)
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    assert "terminated" in caller.error.message.lower()
    evidence.logged("call failed", procedure=procedure, code="SC-207")
    evidence.counted("sidecypher_calls_total", procedure=procedure, outcome="SC-207")


def test_terminating_a_transaction_stops_the_cypher_of_a_body(evidence):
    """TERMINATE TRANSACTION stops a statement that a body runs."""
    caller = evidence.call("CALL test.run($slow)", slow=SLOW)
    evidence.await_body("test.run")

    begun = time.monotonic()
    evidence.terminate()
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    assert "terminated" in caller.error.message.lower()


@pytest.mark.parametrize(
    ("procedure", "call"),
    [
        ("trouble.work", "trouble.work($mark)"),
        ("trouble.workAsync", "trouble.workAsync($mark)"),
        ("trouble.stream", "trouble.stream($mark) YIELD value RETURN max(value)"),
        ("test.run", "test.run($slow)"),
    ],
)
def test_a_transaction_without_more_time_is_told(driver, evidence, procedure, call):
    """The error names the procedure and says what to do, wherever the body is."""
    query = neo4j.Query(f"CALL {call}", timeout=1)
    with driver.session() as waiting, pytest.raises(Neo4jError) as told:
        waiting.run(query, mark=evidence.mark(), slow=SLOW).consume()

    assert f"[SC-213] Python procedure `{procedure}` was ended with its transaction" in (
        told.value.message
    )
    assert "db.transaction.timeout" in told.value.message
    assert "TransactionTimedOut" in told.value.code


def test_terminating_a_transaction_ends_its_stream(session, evidence):
    """TERMINATE TRANSACTION ends an endless stream, and the generator is closed."""
    mark = evidence.mark()
    query = "CALL test.closing($mark) YIELD value RETURN max(value)"
    caller = evidence.call(query, mark=mark)
    evidence.await_body(mark)

    begun = time.monotonic()
    evidence.terminate()
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    wait_until(lambda: mark in session.run("CALL test.closed()").value())


def test_a_terminated_stream_that_nobody_reads_is_closed_when_somebody_does(
    driver, session, evidence
):
    """A client that reads on after a termination gets the error, and the generator is closed."""
    mark = evidence.mark()
    query = "CALL test.closing($mark) YIELD value RETURN value"
    with driver.session(fetch_size=1) as reader:
        found = reader.run(query, mark=mark)
        next(found)
        evidence.terminate()

        with pytest.raises(Neo4jError, match="terminated"):
            found.consume()

    wait_until(lambda: mark in session.run("CALL test.closed()").value())


def test_a_terminated_transaction_gives_its_locks_back(session, evidence, await_end):
    """What a body has locked can be written by others once its transaction is terminated."""
    session.run("CREATE (:Counter {n: 0})").consume()
    mark = evidence.mark()
    query = "CALL trouble.hold('MATCH (c:Counter) SET c.n = 1', $mark)"
    evidence.call(query, mark=mark)
    evidence.await_body(mark)

    evidence.terminate()
    await_end(mark)

    begun = time.monotonic()
    counted = session.run("MATCH (c:Counter) SET c.n = c.n + 10 RETURN c.n").single().value()
    assert counted == 10
    assert time.monotonic() - begun < promised(1.0)


def test_a_body_that_waits_for_a_lock_is_freed(driver, session, evidence):
    """A statement of a body that waits for another transaction's lock ends when terminated."""
    session.run("CREATE (:Counter {n: 0})").consume()
    statement = "MATCH (c:Counter) SET c.n = 2"
    with driver.session() as other, other.begin_transaction() as holder:
        holder.run("MATCH (c:Counter) SET c.n = 1").consume()
        caller = evidence.call("CALL test.run($statement)", statement=statement)
        evidence.await_body("test.run")
        waits = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"
        wait_until(lambda: session.run(waits).value())

        begun = time.monotonic()
        evidence.terminate(statement)
        caller.join(10)
        assert caller.ended - begun < promised(1.0)

    assert "terminated" in caller.error.message.lower()


@pytest.mark.slow
@pytest.mark.parametrize("procedure", ["trouble.work", "trouble.workAsync"])
def test_a_transaction_that_times_out_ends_its_call(driver, evidence, await_end, procedure):
    """Neo4j's own timeout of a transaction, shorter than the procedure's, ends the call."""
    mark = evidence.mark()
    query = neo4j.Query(f"CALL {procedure}($mark)", timeout=3)
    caller = evidence.call(query, mark=mark)
    evidence.await_body(mark)

    caller.join(10)
    await_end(mark)

    assert "timed out" in caller.error.message.lower() or "timeout" in caller.error.message.lower()
    evidence.logged("call failed", procedure=procedure, code="SC-207")


@pytest.mark.parametrize("how", ["drop", "reset"])
def test_a_client_that_goes_ends_its_call(server, proxies, evidence, await_end, how):
    """When the client's connection ends or breaks, Python sees it and Neo4j's thread is free."""
    bolt = proxies(urlsplit(server.facts["bolt"]).port)
    mark = evidence.mark()
    with server.driver(port=bolt.port) as driver:
        evidence.call("CALL trouble.work($mark)", driver=driver, mark=mark)
        evidence.await_body(mark)

        getattr(bolt, how)()
        await_end(mark, 5.0)

    evidence.logged("call failed", procedure="trouble.work", code="SC-207")
