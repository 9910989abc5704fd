"""What HTTP alone does: requests, statuses, streams, bounds."""

import contextlib
import json
import socket

import httpx
import pytest
from fix_http import STREAM
from fix_waiting import wait_until
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from sidecypher.transport.http._openapi_operator import OPERATOR_PATHS
from sidecypher.transport.http.openapi import TYPES
from sidecypher.transport.http.server import MOST_CONNECTIONS
from sidecypher.values.kinds import TAGS


@pytest.fixture
def http(stand):
    """Clients with the token, for the shared server or one with other settings."""
    made = []

    def client(**settings):
        server = stand.serve_http(**settings) if settings else stand.http
        made.append(stand.http_client(server.port))
        if settings:
            made.append(server)
        return made[-2] if settings else made[-1]

    yield client
    for each in made:
        getattr(each, "close", getattr(each, "stop", None))()


@pytest.fixture
def post(http):
    """Send arguments to the shared server."""
    return http().post


@pytest.fixture
def fault(stand):
    """What the bodies of `fault.*` see and wait for."""
    yield from _state(stand, "fault.loop")


@pytest.fixture
def ending(stand):
    """The same of `ending.*`."""
    yield from _state(stand, "ending.block")


def _state(stand, name):
    state = stand.state_of(name)
    state.reset()
    yield state
    state.go.set()


@pytest.fixture
def dial(stand):
    """Send a call by hand, and leave the connection to the test."""

    def send(name, port=stand.http.port, **headers):
        lines = [
            f"POST /v1/call/{name} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {stand.credentials.http_token.decode()}",
            "Content-Type: application/json",
            "Content-Length: 2",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        connection = socket.create_connection(("127.0.0.1", port), 30)
        connection.sendall("\r\n".join([*lines, "", "[]"]).encode())
        return connection

    return send


# Arguments


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        (["a"], ["a", {"$map": {"$date": "a key"}}, {"$date": "2024-02-29"}, None]),
        ({"firstOne": "a"}, ["a", {"$map": {"$date": "a key"}}, {"$date": "2024-02-29"}, None]),
        ({"last": 7, "firstOne": "a", "options": {}}, ["a", {}, {"$date": "2024-02-29"}, 7]),
        (
            {"firstOne": "a", "day": {"$date": "2000-01-01"}, "last": None},
            ["a", {"$map": {"$date": "a key"}}, {"$date": "2000-01-01"}, None],
        ),
    ],
)
def test_arguments_come_by_position_or_by_name(post, sent, got):
    """A list gives arguments by position, an object by name; what is left out has its default."""
    assert post("/v1/call/http.named", sent).json() == {"rows": [{"value": got}]}


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        (b"", "SC-653", "not JSON"),
        (b"{", "SC-653", "not JSON"),
        (b'{"a": NaN}', "SC-653", "not JSON"),
        (b'["\xff"]', "SC-653", "not JSON"),
        (b"[" * 100_000, "SC-653", "not JSON"),
        (b"5", "SC-653", "neither a list nor an object"),
        (b"null", "SC-653", "neither a list nor an object"),
        (b'{"firstOne": "a", "first_one": "a"}', "SC-204", "an argument it does not have"),
        (b'{"last": 1}', "SC-204", "without its argument `firstOne`"),
        (b"[]", "SC-204", "without its argument `firstOne`"),
        (b'["a", {}, {"$date": "2000-01-01"}, 1, 2]', "SC-204", "takes 4 arguments"),
        (b'{"firstOne": 1}', "SC-204", "is an INTEGER where STRING"),
        (b'{"firstOne": "a", "options": {"$nothing": 1}}', "SC-204", "where MAP is expected"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(http, body, code, told):
    """What is not a list or object of fitting arguments is a 400 that says why."""
    answer = http().http.post(
        "/v1/call/http.named", content=body, headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert told in answer.json()["detail"]


def test_a_void_procedure_gives_no_rows(post):
    """A procedure without columns answers with an empty list."""
    assert post("/v1/call/http.nothing", []).json() == {"rows": []}


# Errors


@pytest.mark.parametrize(
    ("call", "arguments", "status", "code"),
    [
        ("call/test.nothing", [], 404, "SC-203"),
        ("evaluate/test.hang", ["a"], 404, "SC-203"),
        ("call/http.fail", ["kg.broken", False], 422, "kg.broken"),
        ("call/http.fail", ["kg.broken", True], 503, "kg.broken"),
        ("call/http.fail", ["SC-201", False], 422, "SC-201"),
        ("call/http.fail", ["SC-651", False], 422, "SC-201"),
        ("call/http.fail", ["SC-210", True], 503, "SC-201"),
        ("call/http.fail", ["SC-207", False], 500, "SC-207"),
        ("call/http.fail", ["SC-207", True], 503, "SC-207"),
        ("call/test.fail", ["value", ""], 500, "SC-202"),
        ("call/test.fail", ["row", ""], 500, "SC-205"),
        ("call/http.query", [], 501, "SC-209"),
        ("call/http.brief", [], 504, "SC-213"),
        ("call/fault.big", [3 * 2**20], 500, "SC-216"),
    ],
)
def test_each_error_has_its_status(post, call, arguments, status, code):
    """An error is a problem document with the code Cypher would see, and the status that fits."""
    answer = post(f"/v1/{call}", arguments)

    told = answer.json()
    assert (answer.status_code, told["status"], told["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in answer.headers) == (status == 503)
    assert set(told) == {"title", "status", "detail", "code", "hint", "retryable", "details"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/call/", 404),
        ("POST", "/v1/call/a/b", 404),
        ("GET", "/v1/call/test.echo", 405),
        ("PUT", "/v1/call/test.echo", 405),
        ("POST", "/v1/procedures", 405),
    ],
)
def test_other_paths_and_methods_are_problems_too(http, method, path, status):
    """What is not there, or not in this way, is told in the same form."""
    answer = http().http.request(method, path)

    assert (answer.status_code, answer.json()["code"]) == (status, "SC-653")
    assert ("allow" in answer.headers) == (status == 405)


def test_an_error_between_rows_is_the_last_line(http):
    """A stream that breaks says so in its last line, after the rows before."""
    answer = http().post("/v1/call/test.failLate", [20], headers=STREAM)

    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.status_code == 200
    assert [line["row"]["value"] for line in lines[:-1]] == list(range(20))
    assert lines[-1]["error"]["code"] == "test.broken"


def test_a_whole_stream_says_so_in_its_last_line(http):
    """The last line has the number of rows, so that a broken-off answer is never taken for all."""
    answer = http().post("/v1/call/test.count", [100], headers=STREAM)

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(answer.text.splitlines()) == 101
    assert json.loads(answer.text.splitlines()[-1]) == {"end": {"rows": 100}}


def test_an_error_before_the_first_row_has_its_status_in_a_stream_too(http):
    """As long as nothing is sent, a stream fails as any other call."""
    answer = http().post("/v1/call/test.failLate", [0], headers=STREAM)

    assert (answer.status_code, answer.json()["code"]) == (422, "test.broken")


# Bounds


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "soon", ""])
def test_a_timeout_that_is_none_is_refused(post, timeout):
    """`timeout` is a number of seconds above 0."""
    answer = post("/v1/call/test.echo", ["a"], params={"timeout": timeout})

    assert (answer.status_code, answer.json()["code"]) == (400, "SC-653")


def test_a_client_may_have_less_patience_than_the_procedure(post):
    """`timeout` shortens the procedure's own."""
    [facts] = post("/v1/call/test.facts", [], params={"timeout": "2.5"}).json()["rows"]

    assert 0 < facts["secondsLeft"] <= 2.5


@pytest.mark.parametrize("timeout", ["600", "inf"])
def test_a_client_may_not_have_more_patience_than_the_procedure(post, timeout):
    """`timeout` is bounded by the procedure's own."""
    [facts] = post("/v1/call/test.facts", [], params={"timeout": timeout}).json()["rows"]

    assert 2.5 < facts["secondsLeft"] <= 30


@pytest.mark.parametrize("name", ["fault.loop", "fault.wait", "fault.stubborn"])
def test_a_call_ends_at_its_deadline_whatever_its_body_does(post, fault, name):
    """The client is told at its deadline, whether the body stops or not."""
    answer = post(f"/v1/call/{name}", [], params={"timeout": "1.0"})

    assert (answer.status_code, answer.json()["code"]) == (504, "SC-213")
    fault.go.set()
    assert fault.ended.wait(10)


def test_a_body_that_does_not_stop_keeps_its_slot(http, ending):
    """Bodies that outlive their call are only so many; the next caller is told to wait."""
    client = http(calls=1)
    late = client.post("/v1/call/ending.block", [], params={"timeout": "1.0"})

    assert late.json()["code"] == "SC-213"
    assert client.post("/v1/call/test.echo", ["a"]).json()["code"] == "SC-654"
    ending.go.set()
    wait_until(lambda: client.post("/v1/call/test.echo", ["a"]).status_code == 200)


def test_more_calls_than_may_be_are_refused_at_once(http, dial, fault):
    """With all slots taken a call is *busy* at once; what runs no body is answered still."""
    client = http(calls=1)
    with dial("fault.loop", client.http.base_url.port):
        assert fault.begun.wait(10)

        busy = client.post("/v1/call/test.echo", ["a"])

        assert (busy.status_code, busy.json()["code"]) == (503, "SC-654")
        assert (busy.json()["retryable"], busy.headers["retry-after"]) == (True, "1")
        assert client.http.get("/v1/procedures").status_code == 200
        assert not fault.ended.is_set()
    assert fault.ended.wait(10)


def test_a_client_that_goes_away_ends_its_call(stand, dial, fault):
    """A body that works for a client that has gone is cancelled."""
    with dial("fault.loop"):
        assert fault.begun.wait(10)
        assert not fault.ended.is_set()

    assert fault.ended.wait(10)
    wait_until(lambda: len(stand.dispatcher.calls) == 0)


def test_rows_are_made_as_they_are_taken(http):
    """An endless stream waits for its client; who leaves rows unread for too long loses them."""
    client, other = http(stall_seconds=0.2), http()
    label = "left unread"
    with client.http.stream(
        "POST", "/v1/call/test.closing", json=[label], headers=STREAM
    ) as response:
        wait_until(lambda: [label] in list(other.rows("test.closed")))
        with pytest.raises(httpx.RemoteProtocolError):
            for _ in response.iter_lines():
                pass


@pytest.mark.parametrize("told", [True, False], ids=["length", "chunks"])
def test_a_request_larger_than_the_limit_is_refused(http, told):
    """The size is bounded whether it is told beforehand or not."""
    body = b'["' + b"x" * (2 * 2**20) + b'"]'

    answer = http().http.post(
        "/v1/call/test.echo",
        content=body if told else _chunks(body),
        headers={"Content-Type": "application/json"},
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "SC-653")
    assert f"{2 * 2**20} bytes" in answer.json()["detail"]


def _chunks(body):
    for start in range(0, len(body), 2**16):
        yield body[start : start + 2**16]


def test_rows_that_are_too_many_for_one_piece_come_line_by_line(http):
    """The whole of an answer in one piece is bounded; that of a stream is not."""
    whole = http().post("/v1/call/http.lines", [300, 10_000])
    lines = http().post("/v1/call/http.lines", [300, 10_000], headers=STREAM)

    assert (whole.status_code, whole.json()["code"]) == (500, "SC-216")
    assert "application/x-ndjson" in whole.json()["hint"]
    assert json.loads(lines.text.splitlines()[-1]) == {"end": {"rows": 300}}


def test_silent_connections_shut_nobody_out(stand, http):
    """Whoever opens connections and says nothing loses the oldest of them to others."""
    address = ("127.0.0.1", stand.http.port)
    silent = [socket.create_connection(address, 30) for _ in range(MOST_CONNECTIONS + 50)]
    try:
        assert http().post("/v1/call/test.echo", ["a"]).status_code == 200
        assert silent[0].recv(1) == b""
    finally:
        for each in silent:
            each.close()


def test_connections_that_come_together_do_not_pass_the_limit(stand):
    """Each of many connections that are accepted at once costs a silent one, not all the same."""
    address = ("127.0.0.1", stand.http.port)
    beyond = 100
    clients = [socket.socket() for _ in range(MOST_CONNECTIONS + beyond)]
    try:
        for each in clients:
            each.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                each.connect(address)

        wait_until(lambda: sum(map(is_closed, clients)) >= beyond)
    finally:
        for each in clients:
            each.close()


def is_closed(client):
    """Tell whether the server has closed a connection on which it sends nothing."""
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


# Catalogue and OpenAPI


def test_the_catalogue_is_what_the_plugin_is_made_from(stand, http):
    """`/v1/procedures` gives the catalogue as it is."""
    answer = http().http.get("/v1/procedures")

    assert answer.content == stand.loaded.registry.catalogue.to_json()


@pytest.fixture
def document(http):
    return http().http.get("/openapi.json").json()


def test_the_openapi_document_has_every_procedure(stand, document):
    """`/openapi.json` has one path for each procedure and each function, beside the operator's."""
    catalogue = stand.loaded.registry.catalogue

    assert set(document["paths"]) - set(OPERATOR_PATHS) == {
        *(f"/v1/call/{each.name}" for each in catalogue.procedures),
        *(f"/v1/evaluate/{each.name}" for each in catalogue.functions),
    }


def test_the_openapi_document_is_valid(document):
    """The document is OpenAPI 3.1; two procedures stand for all, which would take 6 s."""
    paths = ["/v1/call/test.echoEverything", "/v1/call/http.nothing", *OPERATOR_PATHS]
    document["paths"] = {path: document["paths"][path] for path in paths}

    validate(document)


def test_every_tag_of_a_value_has_a_schema():
    """The document describes each way in which a value is written."""
    told = {
        tag
        for schema in TYPES.values()
        for each in [schema, *schema.get("oneOf", [])]
        for tag in each.get("properties", {})
    }

    assert told | {"$map"} == set(TAGS)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("test.echoEverything", []),
        ("test.described", ["a"]),
        ("http.named", ["a"]),
        ("http.named", {"firstOne": "a", "last": 1}),
        ("http.nothing", []),
        ("test.defaults", []),
    ],
)
def test_arguments_and_answers_are_as_the_document_says(post, document, name, arguments):
    """What is sent and what comes back fit the schemas of the procedure."""

    def check(value, schema):
        # References begin at the root of the document.
        OAS31Validator({**schema, "components": document["components"]}).validate(value)

    operation = document["paths"][f"/v1/call/{name}"]["post"]
    answers = operation["responses"]["200"]["content"]
    check(arguments, operation["requestBody"]["content"]["application/json"]["schema"])
    check(post(f"/v1/call/{name}", arguments).json(), answers["application/json"]["schema"])
    for line in post(f"/v1/call/{name}", arguments, headers=STREAM).text.splitlines():
        check(json.loads(line), answers["application/x-ndjson"]["schema"])
