"""Which sidecars commands ask, and what they say when one gives no answer."""

import contextlib
import os
import socket
import threading

import msgspec
import pytest

from sidecypher.cli import sidecars, status
from sidecypher.cli.reload import reload_all
from sidecypher.cli.sidecars import is_live, is_ready, run_folder_of
from sidecypher.errors import ReloadFailed
from sidecypher.host.credentials import load_credentials
from sidecypher.host.rendezvous import Announcement, Membership
from sidecypher.host.settings import load_settings
from sidecypher.runtime.errors import NotRunning
from sidecypher.runtime.process.state import ProcessState, State, start_of, write_state

# Nothing listens on port 1.
SIDECAR = Announcement("5f0c", os.getpid(), "127.0.0.1", 1, 1, 3, {})


@pytest.fixture
def settings(home, tmp_path):
    (home / "run").mkdir(parents=True)
    return load_settings({"home": home, "run_dir": tmp_path / "run"}, {})


def supervised(home, pid):
    started = start_of(os.getpid())
    write_state(home, State(pid=pid, start=started, status="ready"))


def test_the_sidecars_of_up_are_in_the_home(settings, home):
    """They meet the plugin there, whatever folder is set for one that `serve` runs."""
    supervised(home, os.getpid())

    assert run_folder_of(settings) == home / "run"


@pytest.mark.parametrize("was_up", [False, True])
def test_a_sidecar_of_serve_is_where_it_was_told(settings, home, tmp_path, was_up):
    """Where no supervisor runs, the run folder is the one that is set."""
    if was_up:
        supervised(home, -1)

    assert run_folder_of(settings) == tmp_path / "run"


@pytest.fixture
def sidecar(settings):
    """A sidecar that is announced, and does not answer."""
    folder = settings.run_folder
    folder.mkdir()
    member = Membership(folder, "ab" * 32, SIDECAR)
    yield SIDECAR
    member.leave()


@pytest.mark.usefixtures("sidecar", "socket_enabled")
@pytest.mark.parametrize("token", [None, "secret-token"])
def test_a_sidecar_that_cannot_be_asked_to_reload_is_told(settings, token):
    """The token may be gone, or nobody listens: it is one message either way."""
    if token is not None:
        (settings.run_folder / "http-token").write_text(token)

    with pytest.raises(ReloadFailed, match=f"process {os.getpid()} did not load") as caught:
        reload_all(settings)

    assert "secret-token" not in str(caught.value)


@pytest.mark.usefixtures("socket_enabled")
def test_a_sidecar_that_does_not_answer_is_not_ready(sidecar):
    """It is no error of the command that looks."""
    assert not is_ready(sidecar)


@pytest.mark.usefixtures("settings")
def test_commands_that_talk_to_neo4j_ask_no_sidecar(home, monkeypatch):
    """They look whether the processes run; a frozen sidecar would take 2 s to answer nothing."""
    started = start_of(os.getpid())
    neo4j = ProcessState("neo4j", os.getpid(), started, "ready", 0)
    write_state(home, State(os.getpid(), started, "ready", (neo4j,)))
    load_credentials(home / "run")
    (home / "ports.json").write_text('{"bolt": 7687, "http": 7474}')
    (home / "neo4j-password").write_text("secret")
    member = Membership(home / "run", "ab" * 32, SIDECAR)
    monkeypatch.setattr(status, "is_ready", lambda _sidecar: pytest.fail("it is asked"))

    assert status.server_address(home, None, None).uri.endswith("127.0.0.1:7687")
    member.leave()


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("pid", [None, 0])
def test_commands_reach_neo4j_while_another_process_restarts(home, pid):
    """A sidecar or a service that has just ended is no reason not to connect; Neo4j itself is."""
    start = start_of(os.getpid())
    neo4j = ProcessState("neo4j", os.getpid() if pid is None else pid, start, "ready", 0)
    sidecar = ProcessState("sidecar", 0, "", "restarting", 1)
    write_state(home, State(os.getpid(), start, "ready", (neo4j, sidecar)))
    load_credentials(home / "run")
    (home / "ports.json").write_text('{"bolt": 7687, "http": 7474}')
    (home / "neo4j-password").write_text("secret")

    with pytest.raises(NotRunning) if pid == 0 else contextlib.nullcontext():
        assert status.server_address(home, None, None).uri.endswith("127.0.0.1:7687")


@pytest.fixture
def listener():
    """A port at which a test answers."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""])
def test_a_connection_that_is_cut_is_a_sign_of_life(listener, answer):
    """Strangers can have a sidecar cut connections, and must not have it killed for that."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    server = threading.Thread(target=serve)
    server.start()
    asked = msgspec.structs.replace(SIDECAR, http=listener.getsockname()[1])

    assert is_live(asked)
    server.join()


@pytest.mark.usefixtures("socket_enabled")
def test_silence_is_no_sign_of_life(listener, monkeypatch):
    """Nor is a port at which nobody listens."""
    monkeypatch.setattr(sidecars, "_HEALTH_SECONDS", 0.2)

    assert not is_live(msgspec.structs.replace(SIDECAR, http=listener.getsockname()[1]))
    assert not is_live(SIDECAR)
