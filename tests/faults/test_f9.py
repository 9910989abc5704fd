"""F9: who listens never accepts or says nothing; who connects says nothing or speaks HTTP."""

import contextlib
import socket
import time

import pytest
from fix_proxy import deaf_listener
from fix_sidecars import announced
from fix_waiting import promised


@contextlib.contextmanager
def silent_listener():
    """Give a port where the kernel accepts and nobody ever says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield listener.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listener", "seconds", "told"),
    [
        (deaf_listener, 0.5, "nothing answers on its port"),
        (silent_listener, 2.0, "it did not finish the handshake"),
    ],
)
def test_a_listener_that_does_not_answer_is_unavailable(server, evidence, listener, seconds, told):
    """The caller hears when the time to connect, or to shake hands, is over; others do at once."""
    with server.sidecar_down(), listener() as port, announced(server, port):
        begun = time.monotonic()
        error = evidence.error("CALL test.echo($value)", value=evidence.payload)
        assert time.monotonic() - begun < promised(seconds + 1.0)

        assert min(time_of(evidence.error, "CALL test.echo('x')") for _ in range(5)) < 0.5

    assert "SC-210" in error.message
    assert told in error.message
    evidence.told_by_plugin("SC-210")


def time_of(do, *arguments):
    begun = time.monotonic()
    do(*arguments)
    return time.monotonic() - begun


@pytest.mark.slow
@pytest.mark.parametrize("listener", [deaf_listener, silent_listener])
def test_a_listener_that_does_not_answer_delays_nobody(server, session, evidence, listener):
    """Beside a sidecar that serves, one that cannot be reached is tried in nobody's time."""
    session.run("CALL test.echo('warm')").consume()
    times = []

    with listener() as port, announced(server, port):
        until = time.monotonic() + 3.0
        while (begun := time.monotonic()) < until:
            assert session.run("CALL test.echo('x')").single()["value"] == "x"
            times.append(time.monotonic() - begun)

    # Else one of them each second would be.
    assert sum(each >= 0.5 for each in times) <= 1


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"A\ntoken\n"])
def test_who_speaks_no_tls_is_turned_away(server, session, evidence, said):
    """Plain HTTP, or plain Py4J, on the sidecar's port is ended at once; accepting goes on."""

    def speak():
        with socket.create_connection(("127.0.0.1", server.sidecar.port), 10) as stranger:
            stranger.sendall(said)
            with contextlib.suppress(ConnectionResetError):
                while stranger.recv(4096):
                    pass

    evidence.logged("connection refused", reason="TLS failed", by=speak)
    evidence.counted("sidecypher_rejected_total", transport="py4j", reason="TLS failed")
    assert session.run("CALL test.echo('honest')").single()["value"] == "honest"


def test_clients_that_say_nothing_delay_nobody(server, session, evidence):
    """While strangers keep connections open and say nothing, new plugins connect as ever."""
    with contextlib.ExitStack() as held:
        for _ in range(30):
            address = ("127.0.0.1", server.sidecar.port)
            held.enter_context(socket.create_connection(address, 10))
        # Each caller beyond the connections that are open already needs a new one.
        callers = [evidence.call("CALL test.hang(0.2) YIELD value RETURN value") for _ in range(12)]
        for caller in callers:
            caller.join(10)

    assert [caller.rows for caller in callers] == [[{"value": "late"}]] * len(callers)
    assert max(caller.ended - caller.begun for caller in callers) < 4.5
