"""F1: the sidecar is killed in the middle of a call."""

import time

from fix_waiting import promised


def test_a_call_whose_sidecar_is_killed_has_an_unknown_outcome(server, session, evidence):
    """kill -9 in a call: the caller hears at once, and nobody repeats the call for it."""
    mark = evidence.mark()
    caller = evidence.call(
        "CALL test.hang(20, $mark) YIELD value RETURN value, $payload",
        mark=mark,
        payload=evidence.payload,
    )
    evidence.await_body(mark)

    begun = time.monotonic()
    server.kill_sidecar()
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    assert "SC-212" in caller.error.message
    assert "`test.hang`" in caller.error.message
    evidence.told_by_plugin("SC-212")
    server.await_sidecar()
    assert mark not in session.run("CALL test.running()").value()
