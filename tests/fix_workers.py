"""Calls that wait in worker processes while others end there."""

import pytest
from fix_waiting import wait_until


class Bystander:
    """A call in a worker process that must not notice what happens to another one."""

    def __init__(self, evidence, folder):
        begun, self._go = folder / "begun", folder / "go"
        self._caller = evidence.call(
            "CALL process.await($begun, $go)", begun=str(begun), go=str(self._go)
        )
        wait_until(begun.exists)

    def check(self):
        """Let it end; it has its row."""
        assert self._caller.is_alive()
        self._go.touch()
        self._caller.join(10)
        assert len(self._caller.rows) == 1


@pytest.fixture
def bystander(evidence, tmp_path):
    """A call in one of the two workers of the shared server's sidecar."""
    found = Bystander(evidence, tmp_path)
    yield found
    # Also when the test has failed: it must not wait in its worker any longer.
    found._go.touch()


@pytest.fixture
def await_workers(server):
    """Wait until the sidecar has its two worker processes, and return their ids."""

    def wait():
        sidecar = server.process("sidecar")
        wait_until(lambda: len(sidecar.children()) == 2)
        return {child.pid for child in sidecar.children()}

    return wait


@pytest.fixture
def lose_worker(server, session, evidence, bystander, await_workers):
    """Call a procedure whose body costs its worker's life, and return what its caller is told.

    The sidecar, its other worker and their calls go on, and another worker takes the place.
    """

    def lose(procedure):
        pid = server.process("sidecar").pid
        before = await_workers()

        error = evidence.error(f"CALL {procedure}($text)", text=evidence.payload)

        assert error.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
        assert "[SC-220]" in error.message
        evidence.logged("worker lost", procedure=procedure)
        evidence.counted("sidecypher_calls_total", procedure=procedure, outcome="SC-220")
        evidence.counted("sidecypher_worker_restarts")
        assert session.run("CALL process.echo('next')").single()["value"] == "next"
        bystander.check()
        assert len(await_workers() - before) == 1
        assert server.process("sidecar").pid == pid
        return error.message

    return lose
