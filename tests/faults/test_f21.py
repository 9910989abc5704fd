"""F21: the disk is full."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fix_http import HttpClient
from fix_server import PROCEDURES
from fix_waiting import wait_until

from sidecypher.errors import CallError
from sidecypher.host.rendezvous import running_sidecars

FULL = Path("/dev/full")

PRINTING = """
from sidecypher import Row, procedure

class Text(Row):
    value: str

@procedure("own.print")
def print_it(value: str) -> Text:
    print(value)
    return Text(value=value)
"""


@pytest.fixture
def sidecar(tmp_path, clean_environment):
    """A sidecar whose every line of the log meets a full disk."""
    own = tmp_path / "procedures"
    own.mkdir()
    (own / "printing.py").write_text(PRINTING)
    environ = clean_environment | {
        "SIDECYPHER_PROCEDURES": f"{PROCEDURES},{own}",
        "SIDECYPHER_LOG_LEVEL": "DEBUG",
        # What bodies print meets the full disk when the sidecar ends, not before.
        "PYTHONUNBUFFERED": "",
    }
    command = [sys.executable, "-m", "sidecypher", "serve", "--home", str(tmp_path)]
    with FULL.open("w") as full:
        process = subprocess.Popen(command, env=environ, stdout=full, stderr=full)
    try:
        wait_until(lambda: running_sidecars(tmp_path / "run"), 60)
        (found,) = running_sidecars(tmp_path / "run")
        token = (tmp_path / "run" / "http-token").read_bytes().strip()
        yield process, found.http, token
    finally:
        process.kill()
        process.wait()


def test_calls_go_on_when_the_log_cannot_be_written(sidecar):
    """Calls that succeed, fail or print get their answer, and the sidecar ends in order."""
    process, port, token = sidecar
    client = HttpClient(port, token)

    assert list(client.rows("test.echo", "a")) == [["a"]]
    with pytest.raises(CallError) as caught:
        list(client.rows("test.echo", 1))
    assert caught.value.code == "SC-204"
    assert list(client.rows("own.print", "b")) == [["b"]]
    assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    client.close()

    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
