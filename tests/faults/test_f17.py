"""F17: the caller's transaction is terminated, wherever its call is."""

import time

import pytest
from fix_waiting import wait_until


@pytest.mark.parametrize("procedure", ["test.hang", "test.hangAsync"])
def test_terminating_a_transaction_frees_its_caller(session, evidence, procedure):
    """TERMINATE TRANSACTION frees a caller that waits for Python within a second."""
    mark = evidence.mark()
    caller = evidence.call(f"CALL {procedure}(20, $mark)", mark=mark)
    transaction = evidence.transaction_of(mark)

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    assert "terminated" in caller.error.message.lower()


def test_terminating_a_transaction_stops_the_cypher_of_a_body(session, evidence):
    """TERMINATE TRANSACTION stops a statement that a body runs."""
    query = "CALL test.run('UNWIND range(1, 1000000000) AS n RETURN sum(n * rand()) AS s')"
    caller = evidence.call(query)
    transaction = evidence.transaction_of("test.run")

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    assert caller.error is not None


def test_terminating_a_transaction_ends_its_stream(session, evidence):
    """TERMINATE TRANSACTION ends an endless stream, and the generator is closed."""
    mark = evidence.mark()
    caller = evidence.call("CALL test.closing($mark) YIELD value RETURN max(value)", mark=mark)
    transaction = evidence.transaction_of(mark)

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    wait_until(lambda: mark in session.run("CALL test.closed()").value())
