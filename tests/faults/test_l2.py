"""L2: many connections."""

import itertools
import json
import socket

import pytest
from fix_evidence import read_metrics
from fix_proxy import abort
from fix_server import PROCEDURES
from fix_sidecars import answers
from fix_tls import client_context, connect_tls
from fix_waiting import wait_until

from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.sdk.call import no_transaction
from sidecypher.testing import wire
from sidecypher.transport.memory import Client

ROUNDS = 6
OF_ONE_CALLER = 2
"""Connections: that of its calls, and the one that tells when the other side is gone."""


class Strangers:
    """Peers that come and go, each in a way of its own."""

    def __init__(self, port, token):
        self._port = port
        self._token = token
        self._tls = client_context()
        echo = load([PROCEDURES]).registry.get("test.echo")
        self._signatures = {"test.echo": echo.entry.signature}
        self._ways = itertools.cycle([
            self._call, self._call_and_break, self._control,
            self._guess, self._hang_up, self._browse,
        ])  # fmt: skip

    def come_and_go(self, count):
        for way in itertools.islice(self._ways, count):
            way()

    def _line(self, token=None):
        opened = connect_tls(self._port, self._tls)
        return wire.WireClient(opened, token or self._token, no_transaction)

    def _call(self):
        line = self._line()
        assert list(Client(line.ask, self._signatures).rows("test.echo", "x")) == [["x"]]
        line.close()

    def _call_and_break(self):
        line = self._line()
        assert list(Client(line.ask, self._signatures).rows("test.echo", "x")) == [["x"]]
        line.reader.close()
        abort(line.socket)

    def _control(self):
        line = self._line()
        hello = envelope.Hello(envelope.VERSION, f"jvm {id(line)}", "control", "")
        assert json.loads(line.send("hello", envelope.write(hello)))["v"] == envelope.VERSION
        line.close()

    def _guess(self):
        line = self._line(b"0" * 64)
        assert line.greeting == b""
        line.close()

    def _hang_up(self):
        socket.create_connection(("127.0.0.1", self._port), 10).close()

    def _browse(self):
        with socket.create_connection(("127.0.0.1", self._port), 10) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while plain.recv(4096):
                pass


@pytest.mark.deep
@pytest.mark.timeout(0)
def test_many_connections_leave_nothing(server, session, quiet_sidecar, usage, call_count):
    """Peers that call, break, guess, say nothing or speak HTTP leave the sidecar as it was."""
    held = usage(quiet_sidecar)
    strangers = Strangers(quiet_sidecar.announcement.port, server.token.encode())
    session.run("CALL test.echo('connected')").consume()
    connected = open_connections(quiet_sidecar)

    for _ in range(ROUNDS):
        strangers.come_and_go(call_count // ROUNDS)
        wait_until(lambda: open_connections(quiet_sidecar) == connected)
        held.sample()

    held.tell(f"{call_count} connections:")
    assert held.grown() == {}


def open_connections(sidecar):
    return read_metrics(sidecar.announcement)["sidecypher_connections", frozenset()]


@pytest.mark.deep
@pytest.mark.timeout(0)
def test_connecting_again_leaves_nothing(server, session, proxied_sidecar, usage, call_count):
    """However often the connections to a sidecar break, the JVM comes back and holds no more."""
    times = max(1, call_count // 1000)
    with server.sidecar_down():
        behind = proxied_sidecar()
        held = usage(behind.sidecar)
        for _ in range(ROUNDS):
            reconnect(behind, session, times)
            # A call has the JVM open what it has only now seen to be broken.
            wait_until(
                lambda: answers(session) and open_connections(behind.sidecar) == OF_ONE_CALLER
            )
            held.sample()

    held.tell(f"{times} times all connections broken before each sample:")
    assert held.grown() == {}


def reconnect(behind, session, times):
    ends = itertools.cycle([behind.proxy.drop, behind.proxy.reset])
    for end in itertools.islice(ends, times):
        behind.reconnect(session, end)
