"""F5: native code holds the interpreter of a worker process."""

import statistics
import time

import httpx
import psutil
import pytest
from fix_waiting import promised, wait_until

SECONDS = 6.0
"""The timeout of `process.hold`."""


@pytest.mark.slow
def test_only_its_own_call_waits_for_a_worker_that_holds_its_interpreter(  # noqa: PLR0917
    server, session, evidence, bystander, await_workers, tmp_path
):
    """Health and other calls are served meanwhile; at its deadline the worker is killed."""
    # With one call in each of the two workers, both are known to be ready.
    session.run("CALL process.echo('ready')").consume()
    bystander.check()
    before, begun = await_workers(), tmp_path / "held"
    caller = evidence.call("CALL process.hold($begun)", begun=str(begun))
    worker = int(wait_until(lambda: begun.exists() and begun.read_text()))
    seen = time.monotonic()
    assert worker in before

    for _ in range(5):
        assert session.run("CALL test.echo('thread')").single()["value"] == "thread"
        assert session.run("CALL process.echo('process')").single()["value"] == "process"
    assert caller.is_alive()
    times = ask_for_life(server.sidecar.http, caller)

    assert len(times) > 20
    assert statistics.quantiles(times, n=100)[98] < promised(0.1)
    assert caller.ended - seen < SECONDS + promised(1.0)
    assert "[SC-213]" in caller.error.message
    assert "`process.hold`" in caller.error.message
    wait_until(lambda: not psutil.pid_exists(worker))
    assert len(await_workers() - before) == 1
    evidence.logged("call failed", procedure="process.hold", code="SC-213")
    evidence.counted("sidecypher_calls_total", procedure="process.hold", outcome="SC-213")
    evidence.counted("sidecypher_worker_restarts")


def ask_for_life(port, caller):
    """Ask `/livez` for as long as a call takes; return how long each answer took."""
    times = []
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, trust_env=False, verify=False) as client:
        while caller.is_alive():
            asked = time.perf_counter()
            assert client.get("/livez").text == "ok\n"
            times.append(time.perf_counter() - asked)
    return times
