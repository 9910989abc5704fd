"""F3: the sidecar is restarted between two calls."""

import pytest
from fix_waiting import wait_until

ASK = "CALL test.processId() YIELD value RETURN value"
CALLERS = 6


@pytest.mark.slow
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_restart_between_calls_fails_none(server, session, evidence, end):
    """The first call after a sidecar is back works, and all that follow."""
    for _ in range(2):
        before = session.run(ASK).single()["value"]
        getattr(server.process("sidecar"), end)()
        after = server.await_successor(before)
        assert [session.run(ASK).single()["value"] for _ in range(5)] == [after] * 5
        evidence.told("a sidecar is gone")


@pytest.mark.slow
def test_a_pool_is_dropped_with_its_sidecar(server, session, evidence):
    """Not one of many idle connections to a sidecar that has gone is used again."""
    before = server.sidecar.pid
    mark = evidence.mark()
    held = [evidence.call("CALL trouble.work($mark)", mark=mark) for _ in range(CALLERS)]
    wait_until(lambda: session.run("CALL trouble.running()").value().count(mark) == CALLERS)
    evidence.terminate("CALL trouble.work")
    for caller in held:
        caller.join(10)

    server.kill_sidecar()
    after = server.await_successor(before)
    callers = [evidence.call(ASK) for _ in range(CALLERS)]
    for caller in callers:
        caller.join(30)

    assert [caller.error for caller in callers if caller.error is not None] == []
    assert [caller.rows for caller in callers] == [[{"value": after}]] * len(callers)
