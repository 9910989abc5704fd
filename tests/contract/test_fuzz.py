"""Messages broken at random: each is answered or ends its connection, and nothing else happens."""

import json
import random

import pytest

from sidecypher.protocol.envelope import VERSION
from sidecypher.transport.memory import Client
from sidecypher.transport.py4j import escape

FATAL = b"!xsprotocol error\n"


def seeds(stand):
    """Return messages as a plugin sends them, none of which leaves a call open."""
    words = {"text": 'Zoë \\ "quoted" \U0001f600', "list": [1, -2.5, None, True, {"$float": "NaN"}]}
    call = {
        "v": VERSION, "id": "fuzz", "name": "test.echoAny", "kind": "procedure",
        "signature": stand.signatures["test.echoAny"], "args": [words | {"again": words}],
        "remaining_ms": 30000, "mode": "READ", "database": "neo4j", "user": "ann",
        "traceparent": "",
    }  # fmt: skip
    failures = {"procedure": "test.echo", "code": "SC-210", "result": "error", "count": 1}
    return [
        ("call", json.dumps(call).encode()),
        ("call", json.dumps(call, ensure_ascii=False).encode()),
        ("page", b'{"v":2,"id":"fuzz","remaining_ms":1000}'),
        ("close", b'{"v":2,"id":"fuzz"}'),
        ("cancel", b'{"v":2,"id":"fuzz","reason":"deadline"}'),
        ("hello", b'{"v":2,"jvm":"fuzz","role":"control","catalogue":""}'),
        ("failures", json.dumps({"v": VERSION, "failures": [failures]}).encode()),
    ]


def broken(message):
    """Return a message with one to three random faults; its line stays one line."""
    text = bytearray(message)
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 4, 40)))
        text[start:end] = random.choice((
            b"", random.randbytes(random.randint(1, 4)), text[start:end] * 2, b"[" * 300,
            b'"', b"\\ud800", b"\x1a", b"\x00", b"1e999", b"9" * 30, b'{"$map":', b"null", b"-",
        ))  # fmt: skip
    return bytes(text).replace(b"\n", b" ")


@pytest.fixture
def open_line(stand):
    """Open lines on which every message is allowed; only the last one stays open."""
    opened = []

    def connect():
        while opened:
            opened.pop().close()
        line = stand.line()
        # It is closed here: of a million of them the stand would remember each.
        stand.lines.remove(line)
        opened.append(line)
        line.send("hello", json.dumps(
            {"v": VERSION, "jvm": "fuzz", "role": "control", "catalogue": ""}
        ).encode())  # fmt: skip
        return line

    yield connect
    while opened:
        opened.pop().close()


@pytest.mark.timeout(0)
def test_broken_messages_are_answered_or_end_their_connection(stand, open_line, fuzz_count):
    """Every message gets a JSON answer or a protocol error; honest calls work all the while."""
    messages, line, ended = seeds(stand), open_line(), 0
    for number in range(fuzz_count):
        method, message = random.choice(messages)
        sent = broken(message)
        line.socket.sendall(b"c\nt\n%s\ns%s\ne\n" % (method.encode(), escape(sent)))
        answer = line.reader.readline()
        if answer == FATAL:
            assert line.reader.readline() == b""
            line, ended = open_line(), ended + 1
        else:
            assert answer.startswith(b"!ys{"), sent
            json.loads(answer[3:].replace(b"\x1a", b"\\"))
        if number % 100 == 0:
            honest = Client(line.ask, stand.signatures)
            assert list(honest.rows("test.echo", "honest")) == [["honest"]]
    assert 0 < ended < fuzz_count or fuzz_count < 100
