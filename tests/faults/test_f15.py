"""F15: somebody uses up the connections."""

import contextlib
import socket

import httpx
import pytest
from fix_waiting import wait_until

from sidecypher.host.limits import Limits

ASK = "CALL test.processId() YIELD value RETURN value"
LIMIT = Limits().strangers


@pytest.fixture
def crowd(server):
    """Open connections that say nothing."""
    with contextlib.ExitStack() as held:

        def gather(size, port=None):
            address = ("127.0.0.1", port or server.sidecar.port)
            return [held.enter_context(socket.create_connection(address, 10)) for _ in range(size)]

        yield gather


@pytest.mark.slow
def test_a_crowd_of_silent_strangers_holds_up_no_call(server, session, evidence, crowd):
    """More connections than are allowed: calls go on, health answers, and room comes back."""
    session.run("CALL test.echo('connected')").consume()

    strangers = crowd(LIMIT + 20)

    evidence.logged("connection refused", reason="too many strangers")
    evidence.counted("sidecypher_rejected_total", transport="py4j", reason="too many strangers")
    url = f"http://127.0.0.1:{server.sidecar.http}/livez"
    assert httpx.get(url, trust_env=False, timeout=4).text == "ok\n"
    assert session.run("CALL test.echo('through')").single()["value"] == "through"
    # Each is closed when the time for its handshake is over.
    await_ends(strangers)
    wait_until(lambda: evidence.metric("sidecypher_connections") < LIMIT // 2)


@pytest.mark.slow
def test_a_crowd_of_silent_strangers_keeps_no_plugin_out(session, another_sidecar, crowd):
    """Neo4j connects to a sidecar whose port is crowded while the crowd is still there."""
    second = another_sidecar()

    strangers = crowd(300, second.announcement.port)

    wait_until(lambda: session.run(ASK).single()["value"] == second.process.pid)
    strangers[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        strangers[-1].recv(1)


def test_half_open_connections_are_forgotten(server, evidence, crowd):
    """A peer that ends its own side and waits is closed like one that says nothing."""
    before = evidence.metric("sidecypher_connections")
    strangers = crowd(20)
    for stranger in strangers:
        stranger.shutdown(socket.SHUT_WR)

    await_ends(strangers)
    wait_until(lambda: evidence.metric("sidecypher_connections") <= before)


def await_ends(strangers):
    """Read until the sidecar ends each connection; TLS may say why first."""
    for stranger in strangers:
        stranger.settimeout(20)
        with contextlib.suppress(ConnectionResetError):
            while stranger.recv(4096):
                pass
