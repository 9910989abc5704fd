"""The proxy that other fault tests rely on does what it says."""

import contextlib
import socket
import threading
import time

import pytest
from fix_proxy import deaf_listener
from fix_waiting import wait_until


@pytest.fixture
def echo():
    """A server that sends back what it gets, and then ends its side; gives its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(peer):
        with peer, contextlib.suppress(OSError):
            while content := peer.recv(4096):
                peer.sendall(content)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=answer, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def proxy(echo, proxies):
    return proxies(echo)


@pytest.fixture
def caller(proxy):
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as opened:
        yield opened


def received(caller, length):
    content = b""
    while len(content) < length and (piece := caller.recv(length - len(content))):
        content += piece
    return content


def test_bytes_go_through_unchanged_both_ways(proxy, caller):
    """Without a fault the proxy is not noticed, whatever the size."""
    content = bytes(range(256)) * 4096
    sender = threading.Thread(target=caller.sendall, args=(content,))
    sender.start()

    assert received(caller, len(content)) == content

    sender.join()
    assert proxy.connections == 1


def test_an_end_goes_through(proxy, caller):
    """A side that ends is told to the other one, and the connection is forgotten."""
    caller.sendall(b"last")
    caller.shutdown(socket.SHUT_WR)

    assert received(caller, 100) == b"last"
    wait_until(lambda: proxy.connections == 0)


def test_latency_holds_back(proxy, caller):
    """A delay applies to each piece."""
    proxy.down.delay = 0.2
    begun = time.monotonic()
    caller.sendall(b"x")

    assert received(caller, 1) == b"x"
    assert time.monotonic() - begun >= 0.2


def test_a_slow_side_gives_byte_by_byte(proxy, caller):
    """A slow side lets single bytes through, a second each."""
    proxy.down.make_slow()
    begun = time.monotonic()
    caller.sendall(b"xy")

    assert received(caller, 2) == b"xy"
    assert time.monotonic() - begun >= 2.0


@pytest.mark.slow
def test_an_open_connection_becomes_slow_and_heals(proxy, caller):
    """A flow may change at any time, also for what is on its way."""
    caller.sendall(b"x")
    received(caller, 1)
    proxy.down.make_slow()
    begun = time.monotonic()
    caller.sendall(b"y" * 100)

    assert received(caller, 2) == b"yy"
    assert time.monotonic() - begun >= 2.0
    proxy.down.heal()
    assert received(caller, 98) == b"y" * 98
    assert time.monotonic() - begun < 20.0


def test_a_connection_is_cut_after_some_bytes(proxy, caller):
    """What is let through before a cut arrives, nothing after it does; the next one is whole."""
    proxy.down.left = 4
    caller.sendall(b"123456")

    assert received(caller, 100) == b"1234"
    wait_until(lambda: proxy.connections == 0)
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as another:
        another.sendall(b"123456")
        assert received(another, 6) == b"123456"


def test_what_is_behind_can_change(proxy, caller):
    """New connections go to the new target, those that are open stay with the old one."""
    caller.sendall(b"x")
    received(caller, 1)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy.target = nobody.getsockname()[1]
        with (
            pytest.raises(ConnectionResetError),
            socket.create_connection(("127.0.0.1", proxy.port), 10) as another,
        ):
            another.recv(1)

        caller.sendall(b"y")
        assert received(caller, 1) == b"y"
    assert proxy.accepted == 2


def test_dropped_connections_end(proxy, caller):
    """Dropping ends connections in order; new ones are taken."""
    caller.sendall(b"x")
    received(caller, 1)
    proxy.drop()

    assert received(caller, 100) == b""
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as another:
        another.sendall(b"y")
        assert received(another, 1) == b"y"


def test_reset_connections_break(proxy, caller):
    """A reset is no end: who reads gets an error."""
    caller.sendall(b"x")
    received(caller, 1)
    proxy.reset()

    with pytest.raises(ConnectionResetError):
        caller.recv(1)


def test_a_half_closed_connection_still_takes_bytes(proxy, caller):
    """After a half-close the caller reads an end, and can still send."""
    caller.sendall(b"x")
    received(caller, 1)
    proxy.half_close()

    assert received(caller, 100) == b""
    caller.sendall(b"y")
    assert proxy.connections == 1


def test_a_dead_target_breaks_the_connection(echo, proxies):
    """When nobody listens behind the proxy, its caller is not left waiting."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        dead = proxies(unused.getsockname()[1])
    with (
        pytest.raises(ConnectionResetError),
        socket.create_connection(("127.0.0.1", dead.port), 10) as caller,
    ):
        caller.recv(1)


def test_a_deaf_listener_lets_nobody_connect():
    """Connecting to a deaf listener neither succeeds nor is refused."""
    with deaf_listener() as port, pytest.raises(TimeoutError):
        socket.create_connection(("127.0.0.1", port), 0.2)
