"""`sidecypher mcp --http`: who may use it, what it refuses, and how it ends."""

import asyncio
import itertools
import json
import stat
from pathlib import Path

import httpx
import pytest
from fix_waiting import wait_until
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}


@pytest.fixture
def http(over_http):
    """A client that knows the token, and nothing of MCP."""
    with httpx.Client(headers=ACCEPT | over_http.headers, trust_env=False, timeout=60) as client:
        yield client


class Conversation:
    """One session as older clients have it, message by message."""

    def __init__(self, http, url):
        self._http, self._url, self._ids = http, url, itertools.count(2)
        begun = http.post(url, json=INITIALIZE)
        self._headers = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}

    def request(self, name, arguments):
        """Return the request of a call; `arguments` are JSON as text, which may be broken."""
        head = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call"}
        params = f'{{"name": "{name}", "arguments": {arguments}}}'
        body = json.dumps(head)[:-1] + f', "params": {params}}}'
        return self._http.build_request("POST", self._url, content=body, headers=self._headers)

    def call(self, name, arguments):
        """Return the result of a call."""
        found = self._http.send(self.request(name, arguments))
        [line] = [each for each in found.text.splitlines() if each.startswith("data: {")]
        return json.loads(line.removeprefix("data: "))["result"]


@pytest.mark.parametrize(
    "authorization", [None, "Bearer wrong", "Bearer", "Basic {token}", "{token}", "Bearer ä"]
)
def test_a_client_without_the_token_learns_nothing(over_http, authorization):
    """It gets 401 without a body, whatever it asks for."""
    headers = dict(ACCEPT)
    if authorization is not None:
        value = authorization.format(token=over_http.token)
        headers["Authorization"] = value.encode("latin-1")

    for method, path in [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/"), ("DELETE", "/mcp")]:
        url = over_http.url.removesuffix("/mcp") + path
        answer = httpx.request(method, url, headers=headers, trust_env=False)
        assert (answer.status_code, answer.content) == (401, b"")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
    ],
)
def test_web_pages_are_refused(over_http, http, headers, status):
    """A page sends its own Origin, and after DNS rebinding its own Host."""
    assert http.post(over_http.url, json=INITIALIZE, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 400),
        (b" " * 5_000_000, 413),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_bad_body_is_refused(over_http, http, body, status):
    """The server says that it is bad, and serves the next one."""
    assert http.post(over_http.url, content=body).status_code == status
    assert http.post(over_http.url, json=INITIALIZE).status_code == 200


def test_the_token_is_made_for_its_owner_only(over_http):
    """It is in a file of the run folder that nobody else can read."""
    file = Path(over_http.token_file)

    assert file.name == "mcp-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(over_http.token) == 64


@pytest.mark.slow
def test_a_start_that_cannot_succeed_is_explained(over_http, server, tmp_path):
    """A used port, and a token file that others can read, are errors with a code and a hint."""
    port = over_http.url.split(":")[2].removesuffix("/mcp")
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o640)
    used = server.command("mcp", "--http", "--port", port)
    open_to_others = server.command("mcp", "--http", "--port", "0", "--token-file", str(token))
    token.write_text("")
    token.chmod(0o600)
    empty = server.command("mcp", "--http", "--port", "0", "--token-file", str(token))

    assert [each.returncode for each in (used, open_to_others, empty)] == [1, 1, 1]
    assert "SC-934" in used.stderr
    assert port in used.stderr
    assert "SC-938" in open_to_others.stderr
    assert "chmod 600" in open_to_others.stderr
    assert "SC-938" in empty.stderr
    assert "secret" not in open_to_others.stderr


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("test_count", "{}", "[SC-204]"),
        ("test_count", '{"to": "three"}', "[SC-215] The argument `to` is"),
        ("test_count", '{"to": null}', "[SC-215]"),
        ("test_count", '{"to": NaN}', "[SC-215] The argument `to` is"),
        ("test_count", '{"to": 1e400}', "[SC-215] The argument `to` is"),
        ("test_count", '{"to": 1, "from": 0}', "[SC-204]"),
        ("test_count", '{"to": {"$bytes": "AAEC"}}', "[SC-215] The argument `to` is"),
        ("trouble_waitAsync", "{}", "[SC-213]"),
    ],
)
def test_bad_arguments_are_answers_with_a_code(over_http, http, name, arguments, text):
    """A model can correct itself: it gets the code, and not what it has sent."""
    result = Conversation(http, over_http.url).call(name, arguments)

    assert result["isError"]
    assert text in result["content"][0]["text"]


@pytest.mark.parametrize(
    "sent",
    [{"$bytes": "AAEC"}, {"$float": "NaN"}, {"$float": "-Infinity"}],
    ids=["bytes", "NaN", "infinity"],
)
def test_unusual_values_go_there_and_back(over_http, http, session, sent):
    """Bytes, NaN and infinity have the form of calls over HTTP."""
    sent_by_name = json.dumps({"value": sent})
    result = Conversation(http, over_http.url).call("test_echoAny", sent_by_name)

    assert [row["value"] for row in result["structuredContent"]["rows"]] == [sent]


def test_a_megabyte_arrives_and_is_too_large_for_an_answer(over_http, http, session):
    """The request is accepted; the answer has the size of the row that it cannot hold."""
    sent_by_name = json.dumps({"value": "x" * 1_000_000})
    result = Conversation(http, over_http.url).call("test_echoAny", sent_by_name)

    assert result["isError"]
    assert "[SC-963] The first row has 1000013 bytes" in result["content"][0]["text"]


async def test_two_clients_do_not_wait_for_each_other(over_http, session):
    """Each gets the answers to its own calls, whichever order they end in."""
    async with over_http.client() as one, over_http.client("legacy") as two:
        answers = await asyncio.gather(
            *(
                client.call_tool("test_count", {"to": number})
                for number in range(1, 7)
                for client in (one, two)
            )
        )

    counts = [len(each.structured_content["rows"]) for each in answers]
    assert counts == [number for number in range(1, 7) for _ in range(2)]


def test_a_client_that_disconnects_ends_its_call(over_http, http, session):
    """Older clients have sessions, but no way to fetch the answer later."""
    conversation = Conversation(http, over_http.url)
    request = conversation.request("trouble_progress", '{"mark": "disconnected"}')
    answer = http.send(request, stream=True)
    wait_until(lambda: "disconnected" in session.run("CALL trouble.running()").value())

    answer.close()

    wait_until(lambda: "disconnected" in session.run("CALL trouble.ended()").value())


@pytest.mark.slow
def test_a_server_that_is_stopped_ends_its_calls(start_http, session):
    """After SIGTERM it ends without an error, and so do function and transaction."""
    with (
        start_http("--allow", "trouble.*") as server,
        httpx.Client(headers=ACCEPT | server.headers, trust_env=False, timeout=60) as http,
    ):
        request = Conversation(http, server.url).request("trouble_progress", '{"mark": "stopped"}')
        answer = http.send(request, stream=True)
        wait_until(lambda: "stopped" in session.run("CALL trouble.running()").value())

        assert server.stop() == (0, "")

    wait_until(lambda: "stopped" in session.run("CALL trouble.ended()").value())
    answer.close()


@pytest.mark.slow
async def test_calls_work_again_when_neo4j_is_back(start_http, server, proxies, session):
    """While it is away each call is an answer with the code, and the server goes on."""
    port = int(server.facts["bolt"].rpartition(":")[2])
    proxy = proxies(port)
    variables = {
        "SIDECYPHER_NEO4J_URI": f"bolt+ssc://127.0.0.1:{proxy.port}",
        "SIDECYPHER_NEO4J_PASSWORD": server.password,
    }
    notice = "Using the Neo4j that `neo4j_uri` names, not the one of this home.\n"
    with start_http("--allow", "test.*", printed=notice, **variables) as found:
        async with found.client() as client:
            before = await client.call_tool("test_count", {"to": 1})
            proxy.target = 1
            proxy.drop()
            away = await client.call_tool("test_count", {"to": 1})
            proxy.target = port
            after = await client.call_tool("test_count", {"to": 1})
            with pytest.raises(MCPError, match="no tool"):
                await client.call_tool("no_such", {})

    assert [before.is_error, away.is_error, after.is_error] == [False, True, False]
    assert "[SC-605]" in away.content[0].text
