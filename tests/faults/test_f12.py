"""F12: a body crashes its process."""


def test_a_body_that_crashes_loses_its_worker_alone(
    server, session, evidence, bystander, await_workers
):
    """Its caller is told the signal; the sidecar, its other worker and their calls go on."""
    pid = server.process("sidecar").pid
    before = await_workers()

    error = evidence.error("CALL process.crash($text)", text=evidence.payload)

    assert error.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert "[SC-220]" in error.message
    assert "`process.crash` was ended by SIGSEGV" in error.message
    evidence.logged("worker lost", procedure="process.crash", how="was ended by SIGSEGV")
    evidence.counted("sidecypher_calls_total", procedure="process.crash", outcome="SC-220")
    evidence.counted("sidecypher_worker_restarts")
    assert session.run("CALL process.echo('next')").single()["value"] == "next"
    bystander.check()
    assert len(await_workers() - before) == 1
    assert server.process("sidecar").pid == pid
