"""S1: somebody shows a wrong token, none, or a huge one."""

import contextlib
import ssl

import pytest
from fix_tls import client_context, connect_tls

from sidecypher.testing.wire import connect_unix

HELLO = b'c\nt\nhello\ns{"v":2,"jvm":"stranger","role":"control","catalogue":""}\ne\n'
CALL = ("sidecypher_calls_total", {"procedure": "test.echo", "outcome": "ok"})

TOKENS = {
    "wrong": lambda token: b"wrong",
    "empty": lambda token: b"",
    "no ASCII": lambda token: "\u043a\u043b\u044e\u0447".encode(),
    "no UTF-8": lambda token: b"\xff\xfe\xfd",
    "zero bytes": lambda token: b"\0" * 64,
    "shorter": lambda token: token[:-1],
    "longer": lambda token: token + b"0",
    "upper case": lambda token: token.upper(),
    "with a space": lambda token: b" " + token,
    "another of its length": lambda token: b"0" * len(token),
    "huge": lambda token: b"0" * 1_000_000,
}


@pytest.fixture(autouse=True)
def _no_body_runs(session, evidence):
    """Nothing is called: the only call is the one after the attack."""
    before = evidence.metric(CALL[0], **CALL[1])
    yield
    assert session.run("CALL test.echo('honest')").single()["value"] == "honest"
    assert evidence.metric(CALL[0], **CALL[1]) == before + 1


@pytest.fixture(params=["unix", "tls"])
def reach(request, server):
    """Connect to the sidecar, over each of its listeners."""
    if request.param == "unix":
        return lambda: connect_unix(server.sidecar.socket)
    return lambda: connect_tls(server.sidecar.port, client_context())


@pytest.mark.parametrize("kind", TOKENS)
def test_a_plugin_without_the_token_is_cut_off(server, evidence, kind, reach):
    """Its connection ends without a byte, whatever follows the token; the reason is counted."""
    wrong = TOKENS[kind](server.token.encode())

    def attack():
        with reach() as stranger:
            with contextlib.suppress(OSError):
                stranger.sendall(b"A\n" + wrong + b"\n" + HELLO)
            with contextlib.suppress(ConnectionResetError, ssl.SSLError):
                assert stranger.recv(4096) == b""

    evidence.logged("connection refused", reason="wrong token", by=attack)
    evidence.counted("sidecypher_rejected_total", transport="py4j", reason="wrong token")
