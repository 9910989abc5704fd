"""S3: somebody else takes the place of a sidecar that is down."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from fix_sidecars import announced, without_socket
from fix_waiting import wait_until

from sidecypher.host.credentials import load_credentials

NOBODY = 65_534

LISTEN = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("listening", flush=True)
while True:
    heard = listener.accept()[0].recv(4096)
    print("heard", heard, flush=True)
"""


@contextlib.contextmanager
def squatter_on(path):
    """Let another account listen on a unix socket; give its process."""
    command = [sys.executable, "-c", LISTEN, path, str(NOBODY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "listening\n"
        yield process
        process.kill()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_a_socket_of_another_account_gets_neither_token_nor_calls(server, evidence):
    """A socket that another account listens on is refused before a byte is sent."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = f"{folder}/socket"
        with server.sidecar_down(), squatter_on(path) as process, announced(server, 1, path):
            error = evidence.error("CALL test.echo($value)", value=evidence.payload)
            process.kill()
            heard = process.stdout.read()

    assert "SC-210" in error.message
    assert "belongs to another account" in error.message
    assert set(heard.splitlines()) <= {"heard b''"}


@pytest.mark.slow
def test_a_socket_that_is_dead_is_no_sidecar(server, evidence):
    """A killed sidecar leaves its socket; a call ends at once, and the next sidecar removes it."""
    path = Path(server.sidecar.socket)

    with server.sidecar_down():
        assert path.exists()
        error = evidence.error("CALL test.echo('x')")

    assert "SC-210" in error.message
    wait_until(lambda: not path.exists())


@pytest.mark.slow
def test_a_squatter_on_the_port_gets_neither_token_nor_calls(server, evidence, tmp_path):
    """Who listens on a dead sidecar's port sees a handshake that fails, and not one byte more."""
    port = server.sidecar.port
    heard = []

    without_socket(server)
    with server.sidecar_down(), socket.create_server(("127.0.0.1", port)) as squatter:
        tls = load_credentials(tmp_path).tls

        def listen():
            while True:
                try:
                    plain, _ = squatter.accept()
                except OSError:
                    return
                with plain:
                    try:
                        stream = tls.wrap_socket(plain, server_side=True)
                        heard.append(stream.recv(4096))
                    except (ssl.SSLError, OSError):
                        heard.append(b"")

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        error = evidence.error("CALL test.echo($value)", value=evidence.payload)
        wait_until(lambda: heard)
        squatter.shutdown(socket.SHUT_RDWR)
        thread.join(5)

    assert "SC-210" in error.message
    assert "is not the sidecar's" in error.message
    evidence.told_by_plugin("SC-210")
    assert server.token.encode() not in b"".join(heard)
    assert evidence.payload.encode() not in b"".join(heard)
