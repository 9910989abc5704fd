"""The port under attack: whatever comes in, honest callers are served afterwards."""

import asyncio
import json
import math
import os
import signal
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from fix_waiting import wait_until

from sidecypher.errors import ContextExpired, ProtocolError, SidecypherError
from sidecypher.host.limits import Limits
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import VERSION, RunReply
from sidecypher.transport.listeners import TlsListener
from sidecypher.transport.memory import Client

FATAL = b"!xsprotocol error\n"
LIMIT = 2 * 1024 * 1024


def connections(stand):
    return stand.telemetry.metrics.get_sample_value("sidecypher_connections")


@pytest.fixture(autouse=True)
def _honest_callers_are_served(stand):
    """After each test an honest call works, and no connection or call of the test is left."""
    open_before, calls_before = connections(stand), len(stand.dispatcher.calls)
    yield
    line = stand.line()
    assert list(Client(line.ask, stand.signatures).rows("test.echo", "honest")) == [["honest"]]
    line.close()
    wait_until(lambda: connections(stand) <= open_before)
    wait_until(lambda: len(stand.dispatcher.calls) <= calls_before)


@pytest.fixture
def state(stand):
    """What the procedures of `faults.py` have seen in this test."""
    found = stand.state_of("fault.loop")
    found.reset()
    yield found
    found.go.set()


@pytest.fixture
def held():
    """Sockets and lines that are closed at the end of the test."""
    found = []
    yield found
    for each in found:
        each.close()


@pytest.fixture
def reached(stand, held, listener):
    """Open connections on which a token may be sent."""

    def connect():
        held.append(stand.reach(listener))
        return held[-1]

    return connect


@pytest.fixture
def plain(stand, held):
    """Open bare TCP connections."""

    def connect():
        held.append(socket.create_connection(("127.0.0.1", stand.tls.port), 10))
        return held[-1]

    return connect


@pytest.fixture
def line(stand, held, listener):
    """Open connections with the right token, and say hello as a JVM unless told not to."""

    def connect(jvm="jvm", role="call", call_back=None):
        opened = stand.line(call_back, listener)
        held.append(opened)
        assert opened.greeting == b"!yv\n"
        if jvm is not None:
            assert "error" not in ask(opened, "hello", v=VERSION, jvm=jvm, role=role, catalogue="")
        return opened

    return connect


@pytest.fixture
def background():
    with ThreadPoolExecutor(16) as pool:
        yield pool.submit


def ask(line, method, **message):
    """Send one message and return the answer."""
    return json.loads(line.send(method, json.dumps(message).encode()))


def call(line, stand, call_id, name, *args, remaining_ms=30_000):
    """Start a call over a line, with values as JSON has them."""
    return ask(line, "call", **asked(stand, call_id, name, *args, remaining_ms=remaining_ms))


def asked(stand, call_id, name, *args, remaining_ms=30_000):
    """Return the message that starts a call."""
    return {
        "id": call_id,
        "name": name,
        "signature": stand.signatures.get(name, ""),
        "args": args,
        "remaining_ms": remaining_ms,
        "mode": "READ",
        "database": "neo4j",
        "user": "ann",
    }


def send(connection, content):
    """Send what can be sent; a peer that hangs up meanwhile is fine."""
    try:
        connection.sendall(content)
    except OSError:
        return


def rest(connection):
    """Return all that still comes until the other side closes; fail if it does not close."""
    received = b""
    while True:
        try:
            part = connection.recv(65536)
        except TimeoutError:
            pytest.fail("the connection was not closed")
        except OSError:
            return received
        if not part:
            return received
        received += part


def encrypted_rest(line):
    """Return what still comes until the other side closes; fail if a part is not encrypted."""
    try:
        return line.reader.read()
    except ssl.SSLError as error:
        # OpenSSL may end a connection with an alert, which is encrypted like the rest.
        if "ALERT" in error.reason:
            return b""
        raise


def request(method=b"hello", text=b"{}", command=b"c", target=b"t", end=b"e"):
    return b"\n".join((command, target, method, b"s" + text, end, b""))


# Before the token is known


def test_the_token_for_http_is_a_wrong_one(stand, reached):
    """HTTP is not encrypted: who has overheard its token gets nothing here."""
    connection = reached()

    send(connection, b"A\n" + stand.credentials.http_token + b"\n" + request())

    assert rest(connection) == b""


@pytest.mark.parametrize(
    "first", [b"c\nt\nhello\ns{}\ne\n", b"s\n", b"\n\n", b"B\n", b"GET / HTTP/1.1\r\n\r\n", b"a\n"]
)
def test_nothing_is_understood_before_the_token(stand, reached, first):
    """Any other first command is cut off without an answer, even when the token follows."""
    connection = reached()

    send(connection, first + stand.credentials.token + b"\n")

    assert rest(connection) == b""


@pytest.mark.parametrize("start", [b"", b"A\n"], ids=["command", "token"])
def test_an_endless_line_before_the_token_is_cut(reached, start):
    """A stranger cannot fill memory: the line is cut long before it ends."""
    connection = reached()
    send(connection, start)
    sent = 0
    try:
        while sent < 64 * 1024 * 1024:
            connection.sendall(b"x" * 65536)
            sent += 65536
    except OSError:
        pass

    assert sent < 16 * 1024 * 1024
    assert rest(connection) == b""


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"A\ntoken\n",
        b"\x16\x03\x01\xff\xff" + b"\0" * 100,
        b"\0" * 1000,
    ],
    ids=["http", "py4j without TLS", "broken TLS", "zeros"],
)
def test_what_is_no_tls_is_closed(plain, content):
    """Whoever does not speak TLS gets nothing of ours, and accepting goes on."""
    connection = plain()

    send(connection, content)

    answer = rest(connection)
    assert b"!y" not in answer
    assert b"HTTP" not in answer


@pytest.mark.slow
def test_peers_that_say_nothing_delay_nobody_and_are_closed(stand, plain, reached, line):
    """Silence before TLS, token or hello ends with the handshake's time; idle callers stay."""
    idle = line()
    silent = [plain() for _ in range(20)]
    silent += [reached(), line(jvm=None).socket]
    tls_half = plain()
    send(tls_half, b"\x16\x03\x01")

    for number in range(10):
        answer = call(line(), stand, f"while silent {number}", "test.echo", "served")
        assert answer["rows"] == [["served"]]

    for connection in [*silent, tls_half]:
        assert rest(connection) == b""
    assert call(idle, stand, "idle", "test.echo", "served")["rows"] == [["served"]]


def test_peers_that_go_at_once_leave_nothing(plain, reached):
    """Connections that are opened and closed are forgotten."""
    for _ in range(20):
        plain().close()
    for _ in range(5):
        reached().close()


TURNED_AWAY = {
    "TLS failed": lambda plain, reached, line: send(plain(), b"GET / HTTP/1.1\r\n\r\n"),
    "no token": lambda plain, reached, line: reached(),
    "wrong token": lambda plain, reached, line: send(reached(), b"A\nx\n"),
    "no hello": lambda plain, reached, line: line(jvm=None),
    "another version": lambda plain, reached, line: ask(
        line(jvm=None), "hello", v=VERSION + 1, jvm="j", role="call", catalogue=""
    ),
    "protocol error": lambda plain, reached, line: send(line().socket, b"s\n"),
    "too large": lambda plain, reached, line: send(line().socket, b"x" * 3 * 2**20),
}


@pytest.mark.parametrize("reason", TURNED_AWAY)
def test_whoever_is_turned_away_is_counted(stand, plain, reached, line, reason):
    """A counter tells why connections were not accepted or were ended."""
    before = turned_away(stand, reason)

    TURNED_AWAY[reason](plain, reached, line)

    wait_until(lambda: turned_away(stand, reason) == before + 1)


def turned_away(stand, reason):
    labels = {"transport": "py4j", "reason": reason}
    return stand.telemetry.metrics.get_sample_value("sidecypher_rejected_total", labels) or 0


# With the token


@pytest.mark.parametrize(
    "content",
    [
        b"m\nd\no0\ne\n",
        b"m\nd\nt\ne\n",
        b"s\ne\n",
        b"g\ne\n",
        b"f\ng\nt\ndispatcher\ne\n",
        b"f\ns\nt\ndispatcher\nsx\ne\n",
        b"r\nu\njava.lang.System\nrj\ne\n",
        b"r\nm\njava.lang.System\nexit\ne\n",
        b"i\njava.lang.ProcessBuilder\nsid\ne\n",
        b"j\ni\nrj\nsjava.lang\ne\n",
        b"d\nf\nt\ne\n",
        b"l\na\nt\ne\n",
        b"a\ng\no0\ni0\ne\n",
        b"h\no\nt\nsx\ne\n",
        b"p\no0\ne\n",
        b"x\nt\nhello\ne\n",
        b"z\n",
        b"A\ntoken\n",
        b"\n",
        b"\n\n\n\n\n",
        b"C\nt\nhello\ns{}\ne\n",
        request(target=b"o0"),
        request(target=b"z:java.lang.System"),
        request(target=b"p"),
        request(end=b""),
        request(end=b"sMore"),
        b"c\nt\nhello\nro1\ne\n",
        b"c\nt\nhello\ni5\ne\n",
        b"c\nt\nhello\ne\n\n",
        b"c\nt\nhello\nfp0;java.lang.Runnable\ne\n",
    ],
    ids=repr,
)
def test_other_commands_of_py4j_have_no_effect(stand, line, content):
    """Memory, shutdown, fields, reflection, constructors: refused, and the connection closed."""
    generation = stand.dispatcher.generation
    connection = line().socket

    send(connection, content)

    assert rest(connection) == FATAL
    assert stand.dispatcher.generation == generation
    assert stand.loop.silence() < math.inf


@pytest.mark.parametrize("method", ["call", "page", "close", "cancel"])
def test_nothing_is_answered_before_hello(line, method):
    """The first message is `hello`; any other one closes the connection."""
    connection = line(jvm=None).socket

    send(connection, request(method.encode(), b'{"id":"1","remaining_ms":1}'))

    assert rest(connection) == FATAL


@pytest.mark.parametrize(
    "method",
    [
        b"",
        b"shutdown",
        b"getClass",
        b"__class__",
        b"_call",
        b"handle",
        b"CALL",
        b"call ",
        b"\xff\xfe",
    ],
    ids=repr,
)
def test_an_unknown_method_closes_the_connection(line, method):
    """There are six methods; nothing else is looked up by name."""
    connection = line().socket

    send(connection, request(method, b'{"id":"1"}'))

    assert rest(connection) == FATAL


GARBAGE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"5",
    b"hello",
    b"\xff\xfe",
    b'{"id":5}',
    b'{"id":"1"}x',
    b'{"v":"1","jvm":"j","role":"call","catalogue":""}',
    b'{"v":2,"jvm":"j","role":"admin","catalogue":""}',
    b'{"v":2,"jvm":"","role":"call","catalogue":""}',
    b'{"id":"1","reason":"because"}',
    b'{"id":"\xff","remaining_ms":1,"reason":"deadline"}',
    b'{"id":"1","remaining_ms":NaN}',
    b"[" * 100_000,
    b'{"id":' * 100_000,
    b"\x1a" * 1000,
]


@pytest.mark.parametrize("method", [b"hello", b"call", b"page", b"cancel"])
def test_a_message_that_is_none_closes_the_connection(line, method):
    """Garbage where an envelope is expected is a fatal protocol error, never a crash."""
    for garbage in GARBAGE:
        connection = line().socket
        send(connection, request(method, garbage))
        assert rest(connection) == FATAL, garbage[:60]


def test_a_line_over_the_limit_closes_the_connection(line):
    """More bytes in one line than the limit are never read to their end."""
    connection = line().socket

    send(connection, b"c\nt\ncall\ns" + b"x" * (LIMIT + 1))
    answer = rest(connection)

    assert answer in {FATAL, b""}


def test_a_line_of_just_the_limit_is_served(stand, line):
    """The limit itself is allowed."""
    connection = line()
    frame = json.dumps(
        {
            "id": "limit", "name": "test.echo", "signature": stand.signatures["test.echo"],
            "args": ["@"], "remaining_ms": 30_000, "mode": "READ", "database": "neo4j", "user": "",
        }
    ).encode()  # fmt: skip
    value = b"v" * (LIMIT - len(frame))
    text = frame.replace(b"@", value)
    assert len(b"s" + text) == LIMIT

    answer = json.loads(connection.send("call", text))
    ask(connection, "close", id="limit")

    assert answer["rows"] == [[value.decode()]]


@pytest.mark.parametrize(
    "part", [b"c", b"c\n", b"c\nt\ncall\n", request(b"call")[:-1], request(b"call")[:-3]], ids=repr
)
def test_half_a_request_is_no_request(stand, line, part):
    """A peer that goes in the middle of a request has asked for nothing."""
    counted = "sidecypher_calls_total", {"procedure": "test.echo", "outcome": "ok"}
    calls, peers = stand.telemetry.metrics.get_sample_value(*counted), connections(stand)
    connection = line()

    send(connection.socket, part)
    connection.close()

    wait_until(lambda: connections(stand) <= peers)
    assert stand.telemetry.metrics.get_sample_value(*counted) == calls


def test_a_call_whose_caller_has_gone_is_not_begun(stand, line, listener):
    """A request that is read after its connection was closed is dropped, whatever it asks for."""
    before = connections(stand)
    counted = "sidecypher_calls_total", {"procedure": "test.echo", "outcome": "ok"}
    calls = stand.telemetry.metrics.get_sample_value(*counted)
    dropped = turned_away(stand, "caller gone")
    state = stand.state_of("ending.block")
    state.reset()
    connection = line()
    both = (asked(stand, "first", "ending.block"), asked(stand, "second", "test.echo", "late"))
    # In one piece: the second is read with the first one, and lies there while that is answered.
    messages = b"".join(request(b"call", json.dumps(each).encode()) for each in both)
    send(connection.socket, messages)
    assert state.begun.wait(10)

    connection.close()
    state.go.set()

    wait_until(lambda: connections(stand) == before)
    # A unix socket refuses the answer to the first call already.
    assert turned_away(stand, "caller gone") == dropped + (listener is stand.tls)
    assert stand.telemetry.metrics.get_sample_value(*counted) == calls


def test_another_version_is_told_and_nothing_else_answered(stand, line):
    """A plugin of another protocol version is told both versions, hung up on, and counted once."""
    silent = turned_away(stand, "no hello")
    connection = line(jvm=None)

    answer = ask(connection, "hello", v=VERSION + 1, jvm="new", role="call", catalogue="")

    assert answer["error"]["code"] == "SC-217"
    assert "version 3" in answer["error"]["message"]
    assert "version 2" in answer["error"]["message"]
    assert "sidecypher plugin build" in answer["error"]["hint"]
    assert rest(connection.socket) == b""
    assert turned_away(stand, "no hello") == silent


def test_hello_tells_generation_and_catalogue(stand, line):
    """A JVM learns which start of the sidecar it talks to, and what is loaded there."""
    answer = ask(line(jvm=None), "hello", v=VERSION, jvm="j", role="call", catalogue="")

    assert answer == {
        "v": VERSION,
        "sidecar": stand.dispatcher.generation,
        "catalogue": stand.loaded.registry.catalogue.hash,
        "failures": True,
    }


def failures_of(stand, jvm):
    """What the metrics tell of the failures of a JVM."""
    return {
        (sample.labels["procedure"], sample.labels["code"], sample.labels["result"]): sample.value
        for family in stand.telemetry.metrics.collect()
        for sample in family.samples
        if sample.name == "sidecypher_plugin_failures_total" and sample.labels["jvm"] == jvm
    }


def failure(**changed):
    told = {"procedure": "kg.a", "code": "SC-210", "result": "error", "count": 1}
    return told | changed


def test_the_failures_of_a_jvm_are_shown_while_it_is_connected(stand, line):
    """What a JVM tells takes the place of what it told before, and goes when it goes."""
    control = line(jvm="failing", role="control")
    assert ask(control, "failures", v=VERSION, failures=[failure()]) == {}
    again = [failure(count=5), failure(code="OFF", result="nothing")]
    assert ask(control, "failures", v=VERSION, failures=again) == {}

    assert failures_of(stand, "failing") == {
        ("kg.a", "SC-210", "error"): 5,
        ("kg.a", "OFF", "nothing"): 1,
    }
    control.close()
    wait_until(lambda: failures_of(stand, "failing") == {})


def test_a_jvm_that_connects_anew_is_not_forgotten_with_its_old_connection(stand, line):
    """The end of an earlier control connection takes nothing away of the later one."""
    old = line(jvm="again", role="control")
    ask(old, "failures", v=VERSION, failures=[failure(count=1)])
    new = line(jvm="again", role="control")
    ask(new, "failures", v=VERSION, failures=[failure(count=2)])

    assert failures_of(stand, "again") == {("kg.a", "SC-210", "error"): 2}
    before = connections(stand)
    old.close()
    wait_until(lambda: connections(stand) < before)
    assert failures_of(stand, "again") == {("kg.a", "SC-210", "error"): 2}


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        [7],
        [failure(count=-1)],
        [failure(count="1")],
        [failure(code="SC-1")],
        [failure(code="SC-210\n")],
        [failure(result="x")],
        [failure(procedure="x" * 2000)],
        [failure()] * 10_001,
    ],
    ids=range(10),
)
def test_failures_that_are_none_close_the_connection(stand, line, told):
    """Labels of metrics are few and short, whatever a peer sends."""
    control = line(jvm="odd", role="control").socket

    send(control, request(b"failures", json.dumps({"v": VERSION, "failures": told}).encode()))

    assert rest(control) == FATAL
    assert failures_of(stand, "odd") == {}


def test_failures_are_told_on_the_control_connection_only(line):
    """Connections for calls come and go, so nothing is kept for them."""
    connection = line(role="call").socket

    send(connection, request(b"failures", b'{"v":2,"failures":[]}'))

    assert rest(connection) == FATAL


@pytest.fixture
def limited(stand):
    """Start further servers with given limits before the same dispatcher; stop them afterwards."""
    started = []

    def start(port=0, **limits):
        listener = TlsListener(port, stand.credentials.tls)
        started.append(stand.serve(listener, limits=Limits(**limits)))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def greet(line, role="call"):
    return ask(line, "hello", v=VERSION, jvm="jvm", role=role, catalogue="")


def test_strangers_keep_out_each_other_only(stand, limited, held):
    """However many say nothing, a JVM connects at once; the oldest of them is closed for it."""
    server = limited(strangers=3, handshake_seconds=60)
    before = turned_away(stand, "too many strangers")
    address = ("127.0.0.1", server.listeners[0].port)
    silent = [socket.create_connection(address, 10) for _ in range(3)]
    held += silent
    wait_until(lambda: len(server._strangers) == 3)

    lines = [stand.line(listener=server.listeners[0]) for _ in range(5)]

    assert [line.greeting for line in lines] == [b"!yv\n"] * 5
    assert not any("error" in greet(line) for line in lines)
    assert rest(silent[0]) == b""
    wait_until(lambda: turned_away(stand, "too many strangers") == before + 1)
    held += [socket.create_connection(address, 10) for _ in range(10)]
    wait_until(lambda: turned_away(stand, "too many strangers") >= before + 10)
    answers = [
        call(line, stand, f"through {i}", "test.echo", str(i)) for i, line in enumerate(lines)
    ]
    assert [answer["rows"] for answer in answers] == [[[str(i)]] for i in range(5)]
    for line in lines:
        line.close()


def test_above_the_limit_a_jvm_is_told_that_the_sidecar_is_busy(stand, limited):
    """Calls get no further connection until room comes back; a JVM still says that it is there."""
    server = limited(connections=3)
    before = turned_away(stand, "too many connections")
    three = [stand.line(listener=server.listeners[0]) for _ in range(3)]
    assert not any("error" in greet(line) for line in three)

    fourth = stand.line(listener=server.listeners[0])
    answer = greet(fourth)

    assert (answer["busy"], answer["error"]["code"]) == (True, "SC-211")
    assert rest(fourth.socket) == b""
    assert turned_away(stand, "too many connections") == before + 1
    control = stand.line(listener=server.listeners[0])
    assert "error" not in greet(control, "control")
    assert call(three[0], stand, "still", "test.echo", "x")["rows"] == [["x"]]
    for line in (control, three.pop(), fourth):
        line.close()

    def room():
        line = stand.line(listener=server.listeners[0])
        if "error" not in greet(line):
            return line
        line.close()
        return None

    three.append(wait_until(room))
    server.stop()

    assert [encrypted_rest(line) for line in three] == [b""] * 3
    for line in three:
        line.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.listeners[0].port), 10)


def test_a_port_that_is_taken_is_told(limited):
    """A server that cannot listen says on which port, and what to do."""
    port = limited().listeners[0].port

    with pytest.raises(
        SidecypherError, match=f"listen on port {port} of 127.0.0.1: Addr"
    ) as caught:
        limited(port)

    assert caught.value.code == "SC-602"
    assert "`--port`" in caught.value.hint


@pytest.mark.parametrize("size", [3, 1024 * 1024], ids=["short", "of many records"])
def test_the_answer_of_a_call_in_flight_is_encrypted_to_the_end(stand, limited, background, size):
    """A server that stops sends the answers that are under way, and nothing of them in clear."""
    server = limited()
    state = stand.state_of("fault.held")
    state.reset()
    caller = stand.line(listener=server.listeners[0])
    ask(caller, "hello", v=VERSION, jvm="jvm", role="call", catalogue="")
    serving = background(call, caller, stand, "in flight", "fault.held", size)
    assert state.begun.wait(10)
    [connection] = server._peers

    connection.stop_reading()
    state.go.set()

    assert serving.result(10)["rows"] == [["x" * size]]
    assert encrypted_rest(caller) == b""
    caller.close()


def test_small_messages_are_not_held_back(stand):
    """Nagle's algorithm is off on the sidecar's side as well."""
    opened = stand.line(listener=stand.tls)

    with stand.server._lock:
        [peer] = stand.server._peers
    assert peer._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    opened.close()


# Calls, and whose they are


def test_many_callers_are_served_at_once(stand, line, background):
    """Each connection has a thread: sixteen calls that all wait for each other come back."""
    barrier = threading.Barrier(16, timeout=20)

    def meet(_method, _request):
        barrier.wait()
        return envelope.write(RunReply(["one"], [[1]]))

    lines = [line(call_back=meet) for _ in range(16)]
    calls = [
        background(call, each, stand, f"meet {number}", "fault.callback")
        for number, each in enumerate(lines)
    ]

    assert [each.result(30)["rows"] for each in calls] == [[["answered"]]] * 16


def test_a_call_inside_a_callback_is_served(stand, line):
    """While one call waits for its callback, the callback may call another procedure."""
    inner = line()

    def nested(_method, _request):
        answer = call(inner, stand, "inner", "test.echo", "from inside")
        return envelope.write(RunReply(["one"], answer["rows"]))

    assert call(line(call_back=nested), stand, "outer", "fault.callback")["rows"] == [["answered"]]


@pytest.mark.parametrize("name", ["test.echo", "test.closing"])
def test_a_call_id_is_used_once(stand, line, name):
    """While a call is open its id cannot be used again; afterwards it is forgotten."""
    connection = line()
    assert call(connection, stand, "once", "test.closing", "once")["more"]

    answer = call(connection, stand, "once", name, "x")

    assert answer["error"]["code"] == "SC-214"
    assert ask(connection, "page", id="once", remaining_ms=30_000)["rows"][0] == [16]
    ask(connection, "close", id="once")


@pytest.mark.parametrize("jvm", ["jvm", "another"])
def test_pages_belong_to_their_call_and_jvm(stand, line, jvm):
    """A page of no open call, or of a call of another JVM, is an error, and harms nobody."""
    owner, other = line(), line(jvm=jvm)
    assert call(owner, stand, "mine", "test.closing", "mine")["more"]

    answer = ask(other, "page", id="mine" if jvm == "another" else "none", remaining_ms=30_000)

    assert answer["error"]["code"] == "SC-214"
    assert ask(owner, "page", id="mine", remaining_ms=30_000)["rows"][0] == [16]
    ask(owner, "close", id="mine")
    assert ask(owner, "page", id="mine", remaining_ms=30_000)["error"]["code"] == "SC-214"


def test_pages_of_one_call_may_come_over_any_connection_of_its_jvm(stand, line):
    """A pool may ask for the next page over another of its connections."""
    one, two = line(), line()
    call(one, stand, "shared", "test.closing", "shared")

    assert ask(two, "page", id="shared", remaining_ms=30_000)["rows"][0] == [16]
    assert ask(one, "page", id="shared", remaining_ms=30_000)["rows"][0] == [80]
    ask(two, "close", id="shared")


def test_two_pages_of_a_call_at_a_time_are_a_protocol_error(stand, line, state, background):
    """Pages of one call are asked for one after the other."""
    first, second = line(), line()
    serving = background(call, first, stand, "twice", "fault.loop")
    assert state.begun.wait(10)

    send(second.socket, request(b"page", b'{"id":"twice","remaining_ms":30000}'))

    assert rest(second.socket) == FATAL
    ask(line(), "cancel", id="twice", reason="terminated")
    assert serving.result(10)["error"]["code"] == "SC-207"


@pytest.mark.parametrize("method", ["close", "cancel"])
def test_what_is_not_open_can_be_closed_and_cancelled(line, method):
    """A cancel that comes too late is answered like any other."""
    assert ask(line(), method, id="gone", reason="deadline") == {"id": "gone"}


# Cancelling


@pytest.mark.parametrize("name", ["fault.loop", "fault.wait"])
@pytest.mark.parametrize(("reason", "code"), [("deadline", "SC-213"), ("terminated", "SC-207")])
def test_a_cancel_over_the_control_connection_stops_the_body(  # noqa: PLR0917
    stand, line, state, background, name, reason, code
):
    """A sync body stops at `ctx.check`, an async one where it awaits; the caller is told why."""
    control, caller = line(role="control"), line()
    serving = background(call, caller, stand, "cancelled", name)
    assert state.begun.wait(10)

    assert ask(control, "cancel", id="cancelled", reason=reason) == {"id": "cancelled"}

    assert serving.result(10)["error"]["code"] == code
    assert state.ended.wait(10)
    assert call(caller, stand, "after", "test.echo", "x")["rows"] == [["x"]]


def test_a_generator_that_lingers_holds_up_no_other_cancel(stand, line, state):
    """A slow `finally` of one abandoned stream leaves the control connection free."""
    control, caller = line(role="control"), line()
    assert call(caller, stand, "lingers", "fault.lingering")["more"]

    assert ask(control, "cancel", id="lingers", reason="terminated") == {"id": "lingers"}
    assert state.begun.wait(10)
    assert ask(control, "cancel", id="another", reason="terminated") == {"id": "another"}
    assert not state.ended.is_set()

    state.go.set()
    assert state.ended.wait(10)


def test_a_cancel_of_another_jvm_does_nothing(stand, line, state, background):
    """No JVM can stop or close the calls of another."""
    other, caller = line("other", "control"), line()
    serving = background(call, caller, stand, "foreign", "fault.loop")
    assert state.begun.wait(10)

    ask(other, "cancel", id="foreign", reason="terminated")
    ask(other, "close", id="foreign")

    assert not state.ended.is_set()
    ask(line(role="control"), "cancel", id="foreign", reason="terminated")
    assert serving.result(10)["error"]["code"] == "SC-207"


def test_an_async_body_that_cleans_up_slowly_is_waited_for_until_its_deadline(
    stand, line, state, background
):
    """A caller is answered by the deadline, even when the cancelled body still cleans up."""
    serving = background(call, line(), stand, "stubborn", "fault.stubborn", remaining_ms=1000)

    assert serving.result(10)["error"]["code"] == "SC-213"
    assert not state.ended.is_set()
    state.go.set()
    assert state.ended.wait(10)


@pytest.mark.parametrize("name", ["fault.loop", "fault.wait"])
def test_the_end_of_a_jvm_stops_what_it_is_waiting_for(stand, line, state, background, name):
    """When the control connection ends, bodies that are being served for that JVM stop."""
    control, caller = line("dying", "control"), line("dying")
    serving = background(call, caller, stand, "dying", name)
    assert state.begun.wait(10)

    control.close()

    assert serving.result(10)["error"]["code"] == "SC-207"
    assert state.ended.wait(10)


def test_the_end_of_a_jvm_closes_its_streams_and_no_others(stand, line, request):
    """A control connection's end closes the open generators of that JVM only."""
    controls = {jvm: line(jvm, "control") for jvm in ("one", "two")}
    callers = {jvm: line(jvm) for jvm in controls}
    for jvm, caller in callers.items():
        assert call(caller, stand, f"of {jvm}", "test.closing", f"{request.node} {jvm}")["more"]
    witness = line("witness")

    def closed():
        # Other tests have closed some too: there may be more than a page.
        rows = Client(witness.ask, stand.signatures).rows("test.closed")
        return [label for [label] in rows if label.startswith(str(request.node))]

    assert closed() == []
    controls["one"].close()

    wait_until(lambda: closed() == [f"{request.node} one"])
    gone = ask(callers["one"], "page", id="of one", remaining_ms=30_000)
    still = ask(callers["two"], "page", id="of two", remaining_ms=30_000)
    assert gone["error"]["code"] == "SC-214"
    assert still["rows"][0] == [16]
    ask(callers["two"], "close", id="of two")


def test_the_late_end_of_an_old_control_connection_cancels_nothing(stand, line):
    """A JVM that has connected again is there, whenever its earlier connection ends."""
    old, new, caller = line("again", "control"), line("again", "control"), line("again")
    assert call(caller, stand, "kept", "test.closing", "kept")["more"]
    before = connections(stand)

    old.close()

    wait_until(lambda: connections(stand) < before)
    assert ask(caller, "page", id="kept", remaining_ms=30_000)["rows"][0] == [16]
    new.close()
    wait_until(lambda: len(stand.dispatcher.calls) == 0)


def test_the_end_of_a_calling_connection_keeps_the_jvms_streams(stand, line):
    """A connection of the pool may go; its calls go on over the others."""
    first = line()
    call(first, stand, "moves", "test.closing", "moves")
    first.close()
    second = line()

    assert ask(second, "page", id="moves", remaining_ms=30_000)["rows"][0] == [16]
    ask(second, "close", id="moves")


# Callbacks


@pytest.mark.parametrize("name", ["fault.callback", "fault.callbackAsync"])
def test_a_peer_that_vanishes_in_a_callback_cancels_the_call(stand, reached, line, state, name):
    """A body that waits for its caller's answer is told that nobody is there any more."""
    caller = line()
    message = envelope.write(
        envelope.CallRequest(
            id="vanish",
            name=name,
            database="neo4j",
            user="ann",
            signature=stand.signatures[name],
            args=[],
            remaining_ms=30_000,
            mode="READ",
        )
    )
    send(caller.socket, request(b"call", message))
    assert caller.reader.readline() == b"c\n"

    caller.close()

    assert state.ended.wait(10)
    assert state.seen == ["SC-207"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"!xsrefused\n", "SC-214"),
        (b"!yv\n", "SC-214"),
        (b"\n", "SC-214"),
        (b"!ys\n", "SC-214"),
        (b"!ys{\n", "SC-214"),
        (b'!ys{"columns":5}\n', "SC-214"),
        (b"!ys" + b"[" * 100_000 + b"\n", "SC-214"),
        (b"!ys" + b"x" * (LIMIT + 1) + b"\n", "SC-216"),
    ],
    ids=lambda part: repr(part[:20]),
)
def test_an_answer_to_a_callback_that_is_none_fails_the_call(stand, line, state, answer, code):
    """Garbage instead of records never reaches the body as rows."""
    caller = line()
    message = envelope.write(
        envelope.CallRequest(
            id="garbage",
            name="fault.callback",
            database="neo4j",
            user="ann",
            signature=stand.signatures["fault.callback"],
            args=[],
            remaining_ms=30_000,
            mode="READ",
        )
    )
    send(caller.socket, request(b"call", message))
    for _ in range(5):
        caller.reader.readline()

    send(caller.socket, answer)

    assert state.ended.wait(10)
    assert state.seen == [code]


def test_an_answer_to_a_callback_that_is_too_long_ends_the_connection(stand, line, state):
    """What is left of it is still to come, and would be read as something else."""
    caller = line(call_back=lambda *_message: b"x" * (LIMIT + 1))

    with pytest.raises((OSError, ProtocolError)):
        call(caller, stand, "long", "fault.callback")

    assert state.ended.wait(10)
    assert state.seen == ["SC-216"]


def test_a_callback_above_the_limit_is_refused_before_it_is_sent(stand, line):
    """A statement larger than a message may be fails in the body, with both sizes."""
    asked = []
    caller = line(call_back=lambda *message: asked.append(message))

    answer = call(caller, stand, "big", "fault.bigCallback", LIMIT)

    assert answer["error"]["code"] == "SC-216"
    assert f"{LIMIT} are allowed" in answer["error"]["message"]
    assert asked == []
    assert call(caller, stand, "after", "test.echo", "x")["rows"] == [["x"]]


def test_a_page_above_the_limit_is_an_error_with_both_sizes(stand, line):
    """A reply larger than a message may be is replaced by an error; the connection stays."""
    caller = line()

    answer = call(caller, stand, "large", "fault.big", LIMIT)

    assert answer["error"]["code"] == "SC-216"
    assert f"{LIMIT} are allowed" in answer["error"]["message"]
    assert call(caller, stand, "small", "fault.big", 3)["rows"] == [["xxx"]]


def test_a_callback_from_another_thread_is_refused(stand, line, state):
    """Only the thread that serves the call reaches the caller's transaction."""
    asked = []

    assert call(
        line(call_back=lambda *message: asked.append(message)),
        stand,
        "foreign",
        "fault.foreign",
    )["rows"] == [["SC-208"]]
    assert asked == []


def test_a_context_is_dead_after_its_call(stand, line, state):
    """Whoever keeps a context gets an error that tells where it may be used."""
    call(line(), stand, "kept", "fault.keep")

    with pytest.raises(ContextExpired, match=r"outside of its call to `fault\.keep`") as caught:
        state.kept[0].run("RETURN 1 AS one")

    assert caught.value.code == "SC-208"
    assert "only in the function that received it" in caught.value.hint


async def _use(context):
    await context.run("RETURN 1 AS one")


def test_an_async_context_is_dead_after_its_call(stand, line, state):
    """A context that escaped from an async body reaches no transaction either."""
    call(line(), stand, "kept", "fault.keepAsync")
    [context] = state.kept

    with pytest.raises(ContextExpired, match=r"fault\.keepAsync"):
        asyncio.run(_use(context))


def has_ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def forked():
    """Ids of children; those still running at the end of the test are killed."""
    found = []
    yield found
    for pid in found:
        if not has_ended(pid):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


# Python 3.12 warns about threads.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["fault.fork", "fault.forkStream"])
def test_a_body_that_forks_on_a_thread_answers_once(stand, line, forked, name):
    """The child of a body that returns twice answers no call on the connection it shares."""
    caller = line()

    [[child]] = call(caller, stand, "fork", name)["rows"]

    forked.append(child)
    wait_until(lambda: has_ended(child))
    for text in "abcdefgh":
        assert call(caller, stand, text, "test.echo", text)["rows"] == [[text]]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_stream_that_forks_when_it_is_closed_answers_once(stand, line, state, forked):
    """The child of a generator's `finally` answers nothing either."""
    caller = line()
    assert call(caller, stand, "closing", "fault.forkAtClose")["more"]

    ask(caller, "close", id="closing")

    forked.extend(map(int, state.seen))
    assert len(forked) == 1
    wait_until(lambda: has_ended(forked[0]))
