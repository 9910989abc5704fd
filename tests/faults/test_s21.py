"""S21: somebody else takes Bolt's port while Neo4j restarts."""

import contextlib
import os
import socket
import subprocess
import sys
import threading

import httpx
import pytest
from fix_waiting import awaited, wait_until

from sidecypher import BoltClient, Neo4jUnavailable
from sidecypher.host.address import bolt_address
from sidecypher.host.credentials import load_credentials
from sidecypher.host.settings import load_settings
from sidecypher.runtime.process.state import ProcessState, State, start_of, write_state

PASSWORD = "the administrator's"


class Squatter:
    """Speaks Bolt 5.4 with whoever connects, with TLS or without, and believes everything.

    Attributes:
        heard: What came on each connection that has ended.
        visitors: How many have connected.
    """

    def __init__(self, folder):
        self.heard = []
        self.visitors = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self._tls = load_credentials(folder).tls
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.socket.accept()
                self.visitors += 1
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        heard = b""
        with contextlib.suppress(OSError), contextlib.ExitStack() as closing:
            closing.enter_context(peer)
            if peer.recv(1, socket.MSG_PEEK) == b"\x16":
                peer = closing.enter_context(self._tls.wrap_socket(peer, server_side=True))
            peer.recv(20)
            peer.sendall(bytes.fromhex("00000405"))
            while message := peer.recv(65536):
                heard += message
                # SUCCESS {server: "Neo4j/5.26.0", connection_id: "1"}
                told = b"\xb1\x70\xa2\x86server\x8cNeo4j/5.26.0\x8dconnection_id\x811"
                peer.sendall(len(told).to_bytes(2, "big") + told + b"\0\0")
        self.heard.append(heard)


@pytest.fixture
def squatter(tmp_path):
    found = Squatter(tmp_path / "squatter")
    yield found
    found.socket.close()


@pytest.fixture
def home(tmp_path, squatter):
    """A home whose processes run, as far as it says, and whose Bolt port is the squatter's."""
    home = tmp_path / "home"
    load_credentials(home / "run")
    (home / "neo4j-password").write_text(PASSWORD + "\n")
    (home / "ports.json").write_text(f'{{"bolt": {squatter.port}, "http": 1}}')
    own, start = os.getpid(), start_of(os.getpid())
    entry = ProcessState("neo4j", own, start, "ready", 0)
    write_state(home, State(own, start, "ready", (entry,)))
    return home


def assert_password_is_kept(squatter):
    """Somebody has connected, in vain."""
    wait_until(lambda: len(squatter.heard) >= squatter.visitors > 0)
    assert PASSWORD.encode() not in b"".join(squatter.heard)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["call sidecypher.info", "migrate", "doctor", "runs show 1"])
def test_commands_keep_the_password(command, home, squatter, clean_environment):
    """Each command that logs on fails, or tells that Neo4j gives no answer."""
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", *command.split(), "--home", home],
        env=clean_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode
    assert "Traceback" not in done.stderr
    assert_password_is_kept(squatter)


@awaited
async def test_what_a_webhook_writes_keeps_the_password(home, squatter):
    """The client of webhooks finds no Neo4j, which may be back later."""
    settings = load_settings({"home": home}, {})
    client = BoltClient(lambda: bolt_address(settings))
    with pytest.raises(Neo4jUnavailable) as caught:
        await client.run("RETURN 1")
    await client.stop()

    assert caught.value.retryable
    assert_password_is_kept(squatter)


def test_metrics_connect_to_nothing(home, squatter, start_sidecar):
    """`/metrics` makes the sidecar talk to no Neo4j, whoever asks."""
    url = f"http://127.0.0.1:{start_sidecar().announcement().http}/metrics"
    token = (home / "run" / "http-token").read_text().strip()

    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        assert httpx.get(url, headers=headers, trust_env=False).status_code == 200
    assert squatter.visitors == 0
