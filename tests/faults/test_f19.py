"""F19: a body raises what no body should, or ends the process."""

import pytest

RAISED = [
    "ValueError",
    "SystemExit",
    "KeyboardInterrupt",
    "GeneratorExit",
    "MemoryError",
    "BaseException",
    "StopIteration",
    "CancelledError",
    "TimeoutError",
]


@pytest.mark.parametrize("kind", ["str", "recursion", *RAISED])
@pytest.mark.parametrize("procedure", ["trouble.raise", "trouble.raiseAsync", "trouble.raiseLate"])
def test_whatever_a_body_raises_is_a_procedure_error(server, evidence, procedure, kind):
    """The caller gets the exception's type and the call's id; the same sidecar goes on."""
    pid = server.process("sidecar").pid

    error = evidence.error(f"CALL {procedure}($kind, $text)", kind=kind, text=evidence.payload)

    assert error.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert "SC-202" in error.message
    assert f"`{procedure}`" in error.message
    line = evidence.logged("call failed", procedure=procedure, code="SC-202")
    assert line["call"] in error.message
    evidence.counted("sidecypher_calls_total", procedure=procedure, outcome="SC-202")
    assert server.process("sidecar").pid == pid


@pytest.mark.slow
def test_a_body_that_ends_the_process_is_replaced(server, evidence):
    """`os._exit` in a body is an unknown outcome for its caller; the sidecar comes back."""
    error = evidence.error("CALL trouble.raise('exit at once', $text)", text=evidence.payload)

    assert "SC-212" in error.message
    evidence.told_by_plugin("SC-212")
    server.await_sidecar()
