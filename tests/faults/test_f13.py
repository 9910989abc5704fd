"""F13: Neo4j is killed in the middle of a call."""

import neo4j
import pytest
from fix_waiting import wait_until
from neo4j.exceptions import DriverError, Neo4jError


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_calls_of_a_killed_neo4j_are_cancelled(server, driver, session, evidence):
    """kill -9 of the JVM: its calls end within 5 s, and the next JVM finds the same sidecar."""
    sidecar = server.sidecar
    procedures = ["trouble.work", "trouble.workAsync", "trouble.stream"]
    marks = {procedure: evidence.mark() for procedure in procedures}
    callers = [
        evidence.call(f"CALL {procedure}($mark) YIELD value RETURN max(value)", mark=mark)
        for procedure, mark in marks.items()
    ]
    for mark in marks.values():
        evidence.await_body(mark)

    server.process("neo4j").kill()

    for procedure in procedures:
        evidence.logged("call failed", within=5, procedure=procedure, code="SC-207")
        evidence.counted("sidecypher_calls_total", procedure=procedure, outcome="SC-207")
    for caller in callers:
        caller.join(10)
        assert caller.error is not None
    wait_until(lambda: answers(driver), 200)
    assert server.sidecar == sidecar
    assert set(marks.values()) <= set(session.run("CALL trouble.ended()").value())


def answers(driver):
    """Whether Neo4j is back; this also makes the driver forget its dead connections."""
    try:
        driver.execute_query("RETURN 1", routing_=neo4j.RoutingControl.READ)
    except (DriverError, Neo4jError):
        return False
    return True
