"""`api` steps against real hosts of this machine."""

import asyncio
import gzip
import logging

import pytest
from fix_hosts import Answer

from sidecypher_procedures.session.api_calls import MOST_BYTES, MOST_REDIRECTS, ApiCalls
from sidecypher_procedures.session.errors import StepFailed
from sidecypher_procedures.session.outcomes import Done, Failed
from sidecypher_procedures.session.settings import SessionSettings

SECRET = "a-secret"


def call(hosts, *inputs):
    """Return what steps of these inputs come to, one after the other over one client."""

    async def run():
        calls = ApiCalls(SessionSettings(api_hosts=hosts).hosts)
        try:
            return [await calls.run(each, "s/a/0") for each in inputs]
        finally:
            await calls.stop()

    return asyncio.run(run())


def ask(host, **given):
    """Return what a step comes to that asks a host."""
    path = given.pop("path", "/x")
    [outcome] = call(f"127.0.0.1:{host.server_port}", {"url": f"{host.url}{path}", **given})
    return outcome


def test_json_and_text_are_read(host):
    """JSON is a value, whatever else is a text; the key is `response` or what the step names."""
    plain, vendor = {"Content-Type": "text/plain"}, {"Content-Type": "application/x+json; v=1"}
    host.says(
        Answer.of({"a": [1]}),
        Answer(201, vendor, b"[1]"),
        Answer(200, plain, b'{"a": 1}'),
        Answer(200, {"Content-Type": "text/plain; charset=ISO-8859-1"}, b"\xfc"),
        Answer(200, {}, "ü".encode()),
    )

    assert [ask(host, response_key="found") for _ in range(2)] == [
        Done({"status": 200, "found": {"a": [1]}}),
        Done({"status": 201, "found": [1]}),
    ]
    assert [ask(host) for _ in range(3)] == [
        Done({"status": 200, "response": '{"a": 1}'}),
        Done({"status": 200, "response": "ü"}),
        Done({"status": 200, "response": "ü"}),
    ]


def test_an_answer_without_a_body_is_an_empty_text(host):
    """As after a deletion, or of HEAD, which has the headers of JSON."""
    host.says(Answer.of({}), Answer(204, {"Content-Type": "application/json"}))

    assert ask(host, method="HEAD") == Done({"status": 200, "response": ""})
    assert ask(host, method="DELETE") == Done({"status": 204, "response": ""})


def test_what_is_sent(host):
    """Method, params beside those of the address, headers, JSON, and the idempotency key."""
    ask(
        host,
        path="/x?a=1",
        method="post",
        params={"q": "two words", "n": 5, "flag": True, "none": None, "map": {"k": 1}},
        headers={"X-Mine": "mine", "X-Number": 5},
        json={"a": ["ü", None]},
    )
    [request] = host.requests

    assert request.method == "POST"
    assert request.path == "/x?a=1&q=two+words&n=5&flag=true&map=%7B%22k%22%3A1%7D"
    assert request.json == {"a": ["ü", None]}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-mine"] == "mine"
    assert request.headers["x-number"] == "5"
    assert request.headers["idempotency-key"] == "s/a/0"
    assert request.headers["accept-encoding"] == "identity"


def test_without_more_than_an_address_a_step_gets_it(host):
    """GET without a body; an address keeps its query."""
    ask(host, path="/x?a=%20b", params={}, headers=None)

    assert (host.requests[0].method, host.requests[0].path) == ("GET", "/x?a=%20b")
    assert host.requests[0].body == b""


def test_a_step_may_name_its_own_key(host):
    """An idempotency key of the input replaces the one of the execution."""
    ask(host, headers={"idempotency-key": "mine"})

    assert host.requests[0].headers["idempotency-key"] == "mine"


def test_every_method_is_sent(host):
    """In any case; others are refused, see below."""
    for method in ("get", "HEAD", "Post", "PUT", "patch", "DELETE"):
        assert isinstance(ask(host, method=method), Done)

    assert [each.method for each in host.requests] == [
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
    ]


# Which hosts


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ("", "http://a.example"),
        ("a.example", "http://b.example"),
        ("a.example", "http://sub.a.example"),
        ("a.example", "http://a.example.b.example"),
        ("a.example", "http://a.example."),
        ("a.example", "http://a.example:8080"),
        ("a.example", "https://a.example:80"),
        ("a.example:8080", "http://a.example"),
        ("a.example:443", "http://a.example"),
        ("a.example", "http://127.0.0.1"),
        ("a.example", "http://localhost"),
        ("a.example", "http://[::1]/"),
        ("127.0.0.1:80", "http://2130706433"),
        ("127.0.0.1:80", "http://0x7f.0.0.1"),
        ("[::1]:8080", "http://[::1]"),
        ("[::1]", "http://[::2]"),
        ("a.example", "http://a.example@b.example"),
        ("a.example", "http://user:a-secret@a.example"),
        ("a.example", "http://b.example\\@a.example"),
        ("a.example", "http://b.example#@a.example"),
        ("a.example", "ftp://a.example"),
        ("a.example", "file:///etc/passwd"),
        ("a.example", "gopher://a.example"),
        ("a.example", "//a.example/x"),
        ("a.example", "a.example"),
        ("a.example", "/x"),
        ("a.example", ""),
        ("a.example", "http:///x"),
    ],
)
def test_a_host_that_is_not_allowed_is_not_asked(hosts, url):
    """Only the names, and the ports, that the setting lists; never with a user in the address."""
    with pytest.raises(StepFailed, match=r"not allowed|cannot be used") as told:
        call(hosts, {"url": url})

    assert SECRET not in told.value.message
    assert "example" not in told.value.message


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}"),
        ("b.example, LOCALHOST:{port},", "http://LocalHost:{port}"),
    ],
)
def test_an_allowed_host_is_asked(hosts, url, host):
    """Names have no case, and the list may have spaces."""
    port = host.server_port
    [outcome] = call(hosts.format(port=port), {"url": url.format(port=port)})

    assert isinstance(outcome, Done)


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ("a.example", "http://a.example"),
        ("a.example", "http://A.Example:80"),
        ("A.EXAMPLE", "https://a.example"),
        ("a.example:80", "http://a.example"),
        ("a.example:443", "https://a.example"),
        ("b.example,a.example:8080", "https://a.example:8080"),
        ("[::1]", "http://[::1]"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("xn--mnchen-3ya.example", "http://münchen.example"),
    ],
)
def test_the_usual_port_may_be_named_or_not(hosts, url):
    """A host without a port allows those of the schemes; one with a port only that."""

    async def made():
        calls = ApiCalls(SessionSettings(api_hosts=hosts).hosts)
        try:
            return calls._request({"url": url}, "key")
        finally:
            await calls.stop()

    assert asyncio.run(made()).method == "GET"


@pytest.mark.parametrize("name", ["127.0.0.1:1", "[::1]:1"])
def test_a_host_that_is_not_there_may_be_tried_again(name):
    """The error has no more than a kind."""
    [outcome] = call(name, {"url": f"http://{name}/{SECRET}"})

    assert outcome == Failed("The host cannot be reached: ConnectError")


# Redirects


def test_a_redirect_of_a_host_to_itself_is_followed(host):
    """Within the host the answer is the last one's."""
    host.says(Answer(302, {"Location": "/y"}), Answer(307, {"Location": host.url}), Answer.of(1))

    assert ask(host) == Done({"status": 200, "response": 1})
    assert [each.path for each in host.requests] == ["/x", "/y", "/"]


def test_a_redirect_keeps_method_and_body_as_its_status_says(host):
    """303 is followed by GET, 308 by the same request."""
    host.says(Answer(308, {"Location": "/y"}), Answer(303, {"Location": "/z"}), Answer.of(1))
    ask(host, method="PUT", json=[1])

    assert [(each.method, each.body) for each in host.requests] == [
        ("PUT", b"[1]"),
        ("PUT", b"[1]"),
        ("GET", b""),
    ]


@pytest.mark.parametrize(
    "to",
    [
        "http://localhost:{port}/",
        "http://127.0.0.1:{other}/",
        "//127.0.0.1:{other}/",
        "https://127.0.0.1:{other}/",
        "http://a.example/",
    ],
)
def test_a_redirect_to_another_host_is_not_followed(to, host, make_host):
    """Not even to one that is allowed: a request may hold secrets for its host only."""
    other = make_host()
    place = to.format(port=host.server_port, other=other.server_port)
    host.says(Answer(307, {"Location": place}))
    hosts = f"127.0.0.1:{host.server_port},127.0.0.1:{other.server_port},localhost,a.example"
    [outcome] = call(hosts, {"url": host.url, "headers": {"Authorization": SECRET}})

    assert outcome == Failed("The host redirects to another one", is_final=True)
    assert other.requests == []


def test_a_redirect_that_names_a_user_is_not_followed(host):
    """As an address of a step that does."""
    host.says(Answer(302, {"Location": f"http://user:{SECRET}@127.0.0.1:{host.server_port}/"}))
    with pytest.raises(StepFailed) as told:
        ask(host)

    assert SECRET not in told.value.message


@pytest.mark.parametrize("location", ["http://[", "ftp://127.0.0.1", "http://a b"])
def test_a_redirect_to_no_address_is_an_error(location, host):
    """Whatever the header has."""
    host.says(Answer(302, {"Location": location}))

    assert isinstance(ask(host), Failed)


def test_redirects_end(host):
    """After so many the step has failed."""
    host.says(Answer(302, {"Location": "/x"}))

    assert ask(host) == Failed(
        f"The host redirects more than {MOST_REDIRECTS} times", is_final=True
    )
    assert len(host.requests) == MOST_REDIRECTS + 1


# What hosts answer


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        (300, True),
        (304, True),
        (400, True),
        (401, True),
        (403, True),
        (404, True),
        (408, False),
        (409, True),
        (425, False),
        (429, False),
        (500, False),
        (502, False),
        (503, False),
    ],
)
def test_an_error_of_a_host_is_final_or_tried_again(status, is_final, host):
    """The status is told, and not the body; what may pass is tried again."""
    host.says(Answer.of({"error": SECRET}, status))

    assert ask(host) == Failed(f"The host answered with the status {status}", is_final=is_final)


def test_a_large_answer_is_cut_off(host):
    """No more is read than is kept."""
    host.says(Answer(200, {}, b"x" * 65536, is_endless=True))

    assert ask(host) == Failed(f"The host answered with over {MOST_BYTES} bytes", is_final=True)
    assert host.hung_up.wait(10)
    assert host.sent < MOST_BYTES + 32 * 2**20


def test_the_largest_answer_is_read(host):
    """So many bytes are kept."""
    host.says(Answer(200, {}, b"x" * MOST_BYTES), Answer(200, {}, b"x" * (MOST_BYTES + 1)))

    assert ask(host) == Done({"status": 200, "response": "x" * MOST_BYTES})
    assert isinstance(ask(host), Failed)


def test_a_compressed_answer_is_refused(host):
    """It was not asked for, and a small one may become a large one."""
    bomb = gzip.compress(gzip.compress(b"0" * 2**24))
    host.says(Answer(200, {"Content-Encoding": "gzip, gzip"}, bomb))

    assert ask(host) == Failed(
        "The host answered in an encoding that was not asked for", is_final=True
    )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"[NaN]"),
        ("application/json", b"[" * 100_000),
        ("application/json", b'["\\ud83d"]'),
        ("application/json", b"\xff"),
        ("text/plain", b"\xff"),
        ("text/plain; charset=hex", b"\xff"),
        ("text/plain; charset=unknown", b"\xff"),
        ("", b"\xff"),
    ],
)
def test_an_answer_that_is_neither_json_nor_text_is_refused(kind, body, host):
    """It could not be stored."""
    host.says(Answer(200, {"Content-Type": kind} if kind else {}, body))

    assert ask(host) == Failed(
        "The host answered with what is neither JSON nor text", is_final=True
    )


def test_an_answer_that_is_cut_off_may_be_tried_again(host):
    """The host has said that there is more."""
    host.says(Answer(200, {}, b"x", is_cut_off=True))

    assert ask(host) == Failed("The host cannot be reached: RemoteProtocolError")


def test_sessions_share_no_cookies(host):
    """What a host sets for one call, it does not get from the next."""
    host.says(Answer(200, {"Set-Cookie": f"id={SECRET}"}))
    call(f"127.0.0.1:{host.server_port}", {"url": host.url}, {"url": host.url})

    assert ["cookie" in each.headers for each in host.requests] == [False, False]


# What cannot be sent


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"url": None}, "The input of a `api` step has no `url`"),
        ({"url": "http://[::1"}, "cannot be used|not allowed"),
        ({"url": "http://a\x00b"}, "`url`, `params` or `headers` that cannot be used"),
        ({"url": {"a": SECRET}}, "cannot be used|not allowed"),
        ({"method": "TRACE"}, "none of the methods DELETE, GET, HEAD, PATCH, POST, PUT"),
        ({"method": {"a": SECRET}}, "none of the methods"),
        ({"params": "a=a-secret"}, "that cannot be used"),
        ({"params": [SECRET]}, "that cannot be used"),
        ({"headers": "a-secret"}, "that cannot be used"),
        ({"headers": {"X-A": "ü" + SECRET}}, "that cannot be used"),
        ({"headers": {"Host": SECRET}}, "one of the headers connection, content-length, host"),
        ({"headers": {"content-LENGTH": "5"}}, "one of the headers"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "one of the headers"),
        ({"headers": {"X-A": "a\r\nX-B: a-secret"}}, "that cannot be used"),
        ({"headers": {"X A": SECRET}}, "that cannot be used"),
    ],
)
def test_an_input_that_cannot_be_sent_is_refused(given, told, host):
    """Nothing is sent, and the error has no value of the input."""
    with pytest.raises(StepFailed, match=told) as error:
        call(f"127.0.0.1:{host.server_port}", {"url": host.url, **given})

    assert SECRET not in error.value.message
    assert host.requests == []


def test_addresses_are_not_logged(host, caplog):
    """They hold data of sessions."""
    caplog.set_level(logging.NOTSET)
    ask(host, params={"q": SECRET})

    assert SECRET not in caplog.text
