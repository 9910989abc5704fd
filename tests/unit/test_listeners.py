"""Unix sockets of sidecars: who may use them, where they are, and when they go."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sidecypher.host.credentials import load_credentials
from sidecypher.host.rendezvous import MOST_PATH_BYTES, place_for_socket, remove_socket
from sidecypher.transport.listeners import TlsListener, UnixListener

CONNECT = """
import os, socket, sys
os.setuid(65534)
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
"""


@pytest.fixture
def listener(tmp_path):
    found = UnixListener(Path(os.path.relpath(tmp_path / "s")))
    yield found
    found.close()


def peer_of(listener):
    """Connect, and return what the listener has accepted."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(listener.path))
    accepted, _ = listener.sock.accept()
    return client, accepted


def test_only_the_owner_may_use_a_socket(listener):
    """The file of a socket has the mode 0600."""
    assert stat.S_IMODE(listener.path.lstat().st_mode) == 0o600


def test_this_account_passes(listener):
    """A peer of the same account may send its token."""
    client, accepted = peer_of(listener)

    with client, accepted:
        listener.check(accepted)


@pytest.mark.usefixtures("socket_enabled")
def test_a_machine_that_is_gone_is_noticed_within_a_minute(tmp_path):
    """A peer that closes nothing, since it lost its power or its network, is probed by TCP."""
    with (
        contextlib.closing(TlsListener(0, load_credentials(tmp_path).tls)) as listener,
        socket.create_connection((listener.host, listener.port)),
        listener.wrap(listener.sock.accept()[0]) as opened,
    ):
        probed = opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        silence, pause, probes = (
            opened.getsockopt(socket.IPPROTO_TCP, each)
            for each in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )

    assert probed
    assert silence + pause * probes <= 60


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_another_account_is_refused_whatever_the_file_says():
    """A peer of another account may send nothing, also where the file and its folder are open."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        listener = UnixListener(Path(folder) / "s")
        listener.path.chmod(0o777)
        listener.sock.settimeout(30)
        with subprocess.Popen([sys.executable, "-c", CONNECT, str(listener.path)]) as process:
            accepted, _ = listener.sock.accept()
            with accepted, pytest.raises(PermissionError):
                listener.check(accepted)
        listener.close()

    assert process.returncode == 0


def test_a_socket_goes_with_its_listener(listener):
    """A listener that is closed leaves no file."""
    listener.close()

    assert not listener.path.exists()


def test_the_socket_of_a_short_path_is_in_the_run_folder():
    """Its name is the beginning of the sidecar's generation."""
    assert place_for_socket(Path("/run/x"), "0123456789abcdef") == Path("/run/x/01234567.sock")


def test_a_long_path_gets_a_private_folder(tmp_path, monkeypatch):
    """A path that is too long for the system is replaced, and goes with its folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    folder = tmp_path / ("x" * MOST_PATH_BYTES)
    folder.mkdir()

    path = place_for_socket(folder, "0123456789abcdef")
    listener = UnixListener(path)

    assert path.parent.parent == Path("/tmp")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    listener.sock.close()
    remove_socket(folder, str(path))
    assert not path.parent.exists()


def test_only_a_socket_is_removed(tmp_path):
    """What lies in the place of a socket stays: a file, and a folder that is not empty."""
    path = tmp_path / "sidecypher-x" / "sock"
    path.parent.mkdir()
    path.write_text("mine")

    remove_socket(tmp_path, str(path))
    remove_socket(tmp_path, "")

    assert path.read_text() == "mine"


def test_a_path_that_is_taken_is_left_alone(listener):
    """A second listener of the same path is an error, and the first one goes on."""
    with pytest.raises(OSError, match="in use"):
        UnixListener(listener.path)

    client, accepted = peer_of(listener)
    with client, accepted:
        listener.check(accepted)
