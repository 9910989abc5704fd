"""F11: a body takes more and more memory."""


def test_a_body_that_takes_too_much_memory_loses_its_worker_alone(
    server, session, evidence, bystander, await_workers
):
    """Its caller is told the limit; the sidecar, its other worker and their calls go on."""
    pid = server.process("sidecar").pid
    before = await_workers()

    error = evidence.error("CALL process.grow($text)", text=evidence.payload)

    assert error.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert "[SC-220]" in error.message
    assert "`process.grow` needed more than the 1024 MiB it may use" in error.message
    evidence.logged("worker lost", procedure="process.grow")
    evidence.counted("sidecypher_calls_total", procedure="process.grow", outcome="SC-220")
    evidence.counted("sidecypher_worker_restarts")
    assert session.run("CALL process.echo('next')").single()["value"] == "next"
    bystander.check()
    assert len(await_workers() - before) == 1
    assert server.process("sidecar").pid == pid
