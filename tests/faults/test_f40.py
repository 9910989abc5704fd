"""F40: a sidecar that hangs so that only a new process helps, and no supervisor looks after it."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from fix_http import HttpClient
from fix_waiting import promised, wait_until

BODIES = """
import ctypes
import time
from pathlib import Path
from sidecypher import Row, procedure

class Text(Row):
    value: str

@procedure("own.block")
async def block(begun: str) -> Text:
    Path(begun).touch()
    time.sleep(600)

@procedure("own.stay")
def stay(begun: str) -> Text:
    Path(begun).touch()
    time.sleep(600)

@procedure("own.crash")
def crash(begun: str) -> Text:
    Path(begun).touch()
    ctypes.string_at(0)

@procedure("own.hold")
def hold(begun: str) -> Text:
    Path(begun).touch()
    sum(range(10**12))
"""
WHY = {
    "own.block": "it has not answered for",
    "own.stay": "1 do not stop",
    "own.hold": "hanging.py",
}


@pytest.fixture
def hanging(start_sidecar, tmp_path):
    """Start a sidecar in which a call of this procedure hangs beyond its timeout."""
    folder = tmp_path / "procedures"
    folder.mkdir()
    (folder / "hanging.py").write_text(BODIES)
    started = []

    def start(procedure, **variables):
        sidecar = start_sidecar(
            # A blocked async body counts as stuck too.
            SIDECYPHER_STUCK_CALLS_LIMIT="0" if procedure == "own.stay" else "8",
            SIDECYPHER_SHUTDOWN_SECONDS="0.1",
            **variables,
        )
        started.append(sidecar)
        token = (sidecar.run_dir / "http-token").read_bytes().strip()
        client = HttpClient(sidecar.announcement().http, token, timeout=promised(0.3))
        clients.callback(client.close)
        begun = tmp_path / "begun"
        callers.submit(lambda: list(client.rows(procedure, str(begun))))
        wait_until(begun.exists)
        return sidecar

    with ExitStack() as clients, ThreadPoolExecutor() as callers:
        yield start
        # That frees the callers.
        started[0].process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("procedure", WHY)
def test_a_sidecar_that_hangs_ends_by_itself(hanging, procedure):
    """A blocked event loop, a stuck call or held Python: the exit code is 1, the log says why."""
    sidecar = hanging(procedure, SIDECYPHER_HANG_SECONDS="2")

    assert sidecar.process.wait(promised(20)) == 1
    assert WHY[procedure] in sidecar.log.read_text()


@pytest.mark.slow
def test_a_crash_of_c_code_is_told_with_its_python_line(hanging):
    """The process ends; its log has the line of the procedure that called the C code."""
    sidecar = hanging("own.crash")

    assert sidecar.process.wait(promised(20)) == -signal.SIGSEGV
    log = sidecar.log.read_text()
    assert "Fatal Python error: Segmentation fault" in log
    assert re.search(r"hanging\.py\", line \d+ in crash", log)


@pytest.mark.slow
def test_a_sidecar_that_may_hang_for_ever_goes_on(hanging):
    """Without `hang_seconds`, as for a debugger, it stays."""
    sidecar = hanging("own.stay", SIDECYPHER_HANG_SECONDS="0")
    http = sidecar.announcement().http

    wait_until(lambda: "[-]bodies failed: 1 do not stop" in sidecar.ready(http).text)
    assert sidecar.process.poll() is None
