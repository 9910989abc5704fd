"""F23: the sidecar is told to stop while calls are in flight."""

import ctypes
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fix_waiting import promised, wait_until

from sidecypher.errors import CallError


@pytest.fixture
def pipe(tmp_path):
    """Where bodies and tests wait for each other."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def call():
    """Call procedures in the background."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda client, *call: pool.submit(lambda: list(client.rows(*call)))


def has_left(sidecar):
    """Whether plugins are told to look for it no more."""
    return not (sidecar.run_dir / "sidecar.json").exists()


def test_a_call_in_flight_ends_within_the_grace_and_new_ones_are_refused(start_sidecar, pipe, call):
    """After SIGTERM the call that runs gets its rows, no other one is started, and it exits 0."""
    sidecar = start_sidecar()
    http = sidecar.announcement().http
    with sidecar.client() as busy, sidecar.client() as free:
        page = free.rows("test.count")
        assert next(page) == [0]
        answer = call(busy, "test.wait", str(pipe))

        with pipe.open("w") as writer:
            sidecar.process.send_signal(signal.SIGTERM)
            wait_until(lambda: has_left(sidecar))
            ready = sidecar.ready(http)
            with pytest.raises(CallError, match="The sidecar is stopping") as caught:
                list(free.rows("test.echo", "late"))
            rest = list(page)
            writer.write("finished")

        assert answer.result(10) == [["finished"]]
        assert sidecar.process.wait(10) == 0
    assert (ready.status_code, "[-]not stopping failed" in ready.text) == (503, True)
    assert (caught.value.code, caught.value.retryable) == ("SC-210", True)
    assert len(rest) == 99


@pytest.mark.slow
def test_calls_that_do_not_end_are_given_up_after_the_grace(start_sidecar, pipe, call):
    """Bodies that outlive the grace, sync and async, keep no process from ending with 0."""
    sidecar = start_sidecar(SIDECYPHER_SHUTDOWN_SECONDS="0.1")
    with sidecar.client() as one, sidecar.client() as two:
        sleeping = call(one, "test.sleep", str(pipe))
        pipe.open("w").close()
        waiting = call(two, "test.wait", str(pipe))

        with pipe.open("w"):
            sidecar.process.send_signal(signal.SIGTERM)
            assert sidecar.process.wait(10) == 0

        assert sleeping.exception(10) is not None
        assert waiting.exception(10) is not None


def blocks(thread, number):
    """Whether the system never gives a signal to a thread, such as the one that sees hangs."""
    try:
        status = (thread / "status").read_text()
    except OSError:
        # That one has just been replaced.
        return True
    mask = int(re.search(r"^SigBlk:\s*(\w+)$", status, re.MULTILINE)[1], 16)
    return bool(mask >> (number - 1) & 1)


def test_a_signal_that_another_thread_gets_ends_it(start_sidecar):
    """The system may give a signal to any thread of the sidecar: the main one acts on it."""
    process = start_sidecar().process
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    others = {int(each.name) for each in threads if not blocks(each, signal.SIGTERM)}

    tgkill = ctypes.CDLL(None, use_errno=True).tgkill
    assert tgkill(process.pid, max(others - {process.pid}), signal.SIGTERM) == 0

    assert process.wait(promised(10)) == 0


def test_a_second_signal_ends_at_once(start_sidecar, pipe, call):
    """Whoever asks twice does not wait for the grace."""
    sidecar = start_sidecar(SIDECYPHER_SHUTDOWN_SECONDS="300")
    with sidecar.client() as client:
        answer = call(client, "test.wait", str(pipe))

        with pipe.open("w"):
            sidecar.process.send_signal(signal.SIGTERM)
            wait_until(lambda: has_left(sidecar))
            sidecar.process.send_signal(signal.SIGTERM)
            assert sidecar.process.wait(10) == 128 + signal.SIGTERM

        assert answer.exception(10) is not None


@pytest.mark.slow
def test_callers_in_neo4j_get_what_their_sidecar_had_begun(
    server, session, evidence, another_sidecar, tmp_path
):
    """SIGTERM of the only sidecar: the call in flight has its rows, the next finds another one."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    caller = evidence.call("CALL process.await($begun, $go)", begun=str(begun), go=str(go))
    wait_until(begun.exists)
    pid = server.sidecar.pid
    another = another_sidecar()

    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: server.sidecar is None)
    assert session.run("CALL test.processId()").single()["value"] == another.process.pid
    go.touch()
    caller.join(10)

    assert len(caller.rows) == 1
    server.await_successor(pid)
