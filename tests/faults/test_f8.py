"""F8: a peer says what the protocol does not know."""

import json
import time

import pytest
from fix_sidecars import line_of, page
from fix_waiting import promised, wait_until

from sidecypher.protocol import envelope
from sidecypher.sdk.call import no_transaction_in_function
from sidecypher.testing.wire import WireClient, connect_unix

PROTOCOL_ERROR = b"!xsprotocol error\n"

ANSWERS = {
    "garbage": lambda request: bytes(range(128, 256)) + b"\n",
    "an empty line": lambda request: b"\n",
    "no text": lambda request: b"!yi5\n",
    "no JSON": lambda request: b"!ysrows\n",
    "an error of Py4J": lambda request: b"!xsfailed\n",
    "another id": lambda request: page({"id": "another"}, ["x"]),
    "another request's shape": lambda request: line_of({"id": request["id"]}),
    "bad UTF-8": lambda request: page(request, ["@"]).replace(b"@", b"\xff\xfe"),
    "deep nesting": lambda request: b"!ys" + b"[" * 100_000 + b"\n",
    "NaN": lambda request: page(request, [0]).replace(b"[0]", b"[NaN]"),
    "a key twice": lambda request: page(request, ["x"]).replace(b'"more"', b'"rows":[],"more"'),
    "more after the end": lambda request: page(request, ["x"])[:-1] + b"{}\n",
}


def broken_call(changed):
    """Return a request to call something, broken in one place."""
    call = {
        "id": "sick", "name": "test.echo", "signature": "", "args": ["@"], "remaining_ms": 1000,
        "mode": "READ", "database": "neo4j", "user": "ann",
    }  # fmt: skip
    return b"c\nt\ncall\ns" + json.dumps(call).encode().replace(*changed) + b"\ne\n"


REQUESTS = {
    "garbage": bytes(range(128, 256)) + b"\n",
    "another command": b"m\nd\no0\ne\n",
    "another method": b"c\nt\nshutdown\ns{}\ne\n",
    "no JSON": b"c\nt\ncall\nscall\ne\n",
    "bad UTF-8": broken_call((b"@", b"\xff\xfe")),
    "deep nesting": broken_call((b'"@"', b"[" * 100_000)),
    "NaN": broken_call((b'"@"', b"NaN")),
    "another type": broken_call((b"1000", b'"soon"')),
    "nothing of a call": broken_call((b'"name"', b'"names"')),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_sick_sidecar_is_a_protocol_error(evidence, sick_sidecar, kind):
    """What is not an answer becomes no rows: its caller is told, and its connection closed."""
    sick = sick_sidecar(ANSWERS[kind])

    error = evidence.strike("CALL test.echo($value)", value=evidence.payload)

    assert "[SC-214] Python procedure `test.echo` got an answer" in error.message
    wait_until(lambda: len(sick.heard) == 1)
    evidence.told_by_plugin("SC-214")


def test_a_value_that_no_map_can_hold_is_a_wrong_row(evidence, sick_sidecar):
    """A key that is there twice in a map of a row is refused like any other wrong value."""
    sick_sidecar(lambda request: page(request, [{"a": 1, "b": 2}]).replace(b'"b"', b'"a"'))

    error = evidence.strike("CALL test.echoAny($value)", value=evidence.payload)

    assert "SC-215" in error.message
    assert "column `value` holds a map with the same key twice" in error.message


def test_what_follows_an_answer_is_not_the_next_one(session, evidence, sick_sidecar):
    """Rows that were not asked for reach nobody: they end the connection they came by."""
    sick = sick_sidecar(lambda request: page(request, ["x"]) + page({"id": "next"}, ["smuggled"]))

    error = evidence.strike("CALL test.echo('x') YIELD value WHERE value <> 'x' RETURN value")

    assert "SC-214" in error.message
    wait_until(lambda: len(sick.calls) == 2)
    evidence.counted_by_plugin("test.echo", "SC-214")
    evidence.told_by_plugin("SC-214")


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_sick_client_is_cut_off(server, session, evidence, kind):
    """A message that is none ends its connection and no other, and is counted with its reason."""
    token, path = server.token.encode(), server.sidecar.socket
    hello = envelope.Hello(envelope.VERSION, "sick", "call", "")

    def attack():
        sick = WireClient(connect_unix(path), token, no_transaction_in_function)
        sick.send("hello", envelope.write(hello))
        begun = time.monotonic()
        sick.socket.sendall(REQUESTS[kind])
        assert sick.reader.read() == PROTOCOL_ERROR
        assert time.monotonic() - begun < promised(1.0)
        sick.close()

    evidence.logged("connection closed", code="SC-214", by=attack)
    evidence.counted("sidecypher_rejected_total", transport="py4j", reason="protocol error")
    assert session.run("CALL test.echo('honest')").single()["value"] == "honest"
