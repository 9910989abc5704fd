"""F26: a function fails with a code of the bridge's own."""

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import Neo4jError

CALL = "CALL test.processId() YIELD value RETURN value"


@pytest.fixture
def sidecars(server, session, another_sidecar):
    """The processes of two sidecars, both of which Neo4j uses."""
    processes = {server.sidecar.pid, another_sidecar().process.pid}
    found = set()

    def both():
        found.add(session.run(CALL).single()["value"])
        return found == processes

    wait_until(both)
    return processes


@pytest.mark.parametrize("name", ["trouble.stopping", "trouble.optionalStopping"])
def test_a_function_that_says_it_was_not_begun_is_run_once(session, sidecars, tmp_path, name):
    """It ends in its error, on one sidecar only; what it wrote is undone, and calls go on."""
    log = tmp_path / "log"

    with pytest.raises(Neo4jError, match=r"\[SC-210\] The sidecar is stopping"):
        session.run(f"CALL {name}($log)", log=str(log)).consume()

    assert log.read_text() == "begun\n"
    assert session.run("MATCH (n:Begun) RETURN count(n) AS n").single()["n"] == 0
    # Had a circuit opened, calls would go to one sidecar only, or to none.
    assert {session.run(CALL).single()["value"] for _ in range(4)} == sidecars
