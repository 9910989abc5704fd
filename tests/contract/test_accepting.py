"""Strangers and full tables at the port: no one but them is kept waiting."""

import contextlib
import socket
import ssl
import threading

import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.host.credentials import load_credentials
from sidecypher.host.limits import Limits
from sidecypher.sdk.registry import Registry
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.listeners import TlsListener
from sidecypher.transport.py4j import Py4JServer


@pytest.fixture
def serving(tmp_path):
    """Start a server with given limits; stop it afterwards."""
    with contextlib.ExitStack() as stack:

        def start(limits):
            loop, telemetry = EventLoop(), Telemetry()
            credentials = load_credentials(tmp_path)
            server = Py4JServer(
                Dispatcher(Registry([]), loop, Resources(), telemetry, limits),
                listeners=[TlsListener(0, credentials.tls)],
                token=credentials.token,
                limits=limits,
                telemetry=telemetry,
            )
            stack.callback(loop.stop)
            stack.callback(server.stop)
            return server

        yield start


def test_a_stranger_who_dribbles_is_closed_after_the_handshakes_time(serving):
    """One byte now and then does not keep a connection without a token open."""
    server = serving(Limits(handshake_seconds=1.0))
    server.start()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    pause = threading.Event()
    sent = 0

    peer = tls.wrap_socket(socket.create_connection(("127.0.0.1", server.listeners[0].port), 10))
    with peer, contextlib.suppress(OSError):
        for _ in range(100):
            peer.sendall(b"x")
            sent += 1
            pause.wait(0.05)

    assert sent < 100


def test_accepting_goes_on_after_accept_has_failed(serving):
    """An error of `accept`, such as too many open files, does not end accepting."""
    server = serving(Limits())
    listener, failed = server.listeners[0].sock, threading.Event()

    class Flaky:
        def accept(self):
            if not failed.is_set():
                failed.set()
                raise OSError(24, "Too many open files")
            return listener.accept()

        def __getattr__(self, name):
            return getattr(listener, name)

    server.listeners[0].sock = Flaky()
    server.start()
    assert failed.wait(10)

    with socket.create_connection(("127.0.0.1", server.listeners[0].port), 10):
        wait_until(lambda: server._strangers)
