"""`sidecypher mcp`: procedures as tools, as the client of the MCP SDK sees them."""

import asyncio
import json
import re
import signal
import subprocess
import sys

import httpx
import mcp_types as types
import pytest
from fix_waiting import wait_until
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def tools_of(client):
    found = await client.list_tools()
    return {tool.name: tool for tool in found.tools}


def transactions(session):
    """Return the statements of all transactions but the one that asks."""
    found = session.run("SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery").value()
    return [statement for statement in found if not statement.startswith("SHOW")]


@pytest.mark.slow
async def test_procedures_that_read_are_tools(connected):
    """Each has a description and schemas; what writes or is for administrators is not offered."""
    async with connected() as client:
        found = await tools_of(client)

    issue = found["github_getIssue"]
    assert issue.description.startswith("Get an issue")
    assert issue.input_schema["required"] == ["owner", "repo", "number"]
    assert issue.output_schema["properties"]["rows"]["type"] == "array"
    assert "rules_context" in found
    assert not {"rules_remember", "sidecypher_running", "rules_context_batch"} & set(found)


async def test_schemas_have_only_the_types_that_they_name(over_http):
    """A model reads all schemas, so a tool with a number has the definition of numbers alone."""
    async with over_http.client() as client:
        found = await tools_of(client)

    assert [*found["test_count"].input_schema["$defs"]] == ["INTEGER"]
    assert [*found["sidecypher_health"].output_schema["$defs"]] == ["BOOLEAN", "STRING"]
    # A map may hold anything.
    assert "ANY" in found["rules_context"].output_schema["$defs"]


@pytest.mark.slow
async def test_options_choose_tools(connected):
    """`--allow` leaves out all others, and `--write` adds what writes; the rest follows."""
    async with connected("--allow", "runs.*", "--write", "rules.remember") as client:
        found = await tools_of(client)
        templates = await client.list_resource_templates()
        prompts = await client.list_prompts()

    assert {name.partition("_")[0] for name in found} == {"runs", "rules"}
    assert "runs_append" not in found
    assert {each.uri_template.split("/")[2] for each in templates.resource_templates} == {"runs"}
    assert prompts.prompts == []


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("runs_get", (True, False, True, False)),
        ("github_getIssue", (True, False, True, True)),
        ("test_count", (True, False, True, True)),
        ("test_run", (False, True, False, True)),
    ],
)
async def test_annotations_follow_from_the_mode(over_http, name, hints):
    """Reading is idempotent and destroys nothing; only namespaces of the graph stay in it."""
    async with over_http.client() as client:
        found = (await tools_of(client))[name].annotations

    assert hints == (
        found.read_only_hint,
        found.destructive_hint,
        found.idempotent_hint,
        found.open_world_hint,
    )


@pytest.mark.slow
async def test_a_call_gives_rows(connected, session):
    """Arguments go by name, defaults are those of the procedure, and rows are JSON."""
    session.run("CREATE (:Mcp {i: 1})-[:LINKS]->(:Mcp {i: 2})").consume()
    async with connected() as client:
        answer = await client.call_tool("algo_pagerank", {"labels": ["Mcp"]})
        [text] = [json.loads(each.text) for each in answer.content]
        again = await client.call_tool(
            "algo_pagerank", {"labels": ["Mcp"], "options": {"limit": 1}}
        )

    assert text == answer.structured_content
    assert [len(text["rows"]), text["more"]] == [2, False]
    assert len(again.structured_content["rows"]) == 1


@pytest.mark.slow
async def test_a_call_writes_if_that_is_allowed(connected, session):
    """What `--write` names may write, and nothing else may."""
    async with connected("--write", "runs.create") as client:
        made = await client.call_tool("runs_create", {"type": "mcp-test"})
        [row] = made.structured_content["rows"]
        with pytest.raises(MCPError, match="no tool `runs_append`"):
            await client.call_tool("runs_append", {"runId": "x", "event": {}})

    found = session.run("MATCH (r:WorkflowRun {id: $id}) RETURN count(r)", id=row["id"])
    assert found.single().values() == [1]


@pytest.mark.parametrize(("each", "rows"), [(1, 200), (2**11, 24)])
async def test_long_answers_are_cut(over_http, session, each, rows):
    """An answer has at most 200 rows and 100 kB, and says how many of them are missing."""
    doublings = each.bit_length() - 1
    statement = f"""UNWIND range(1, 300) AS n
        RETURN reduce(s = 'ä', i IN range(1, {doublings}) | s + s) AS text"""
    async with over_http.client() as client:
        answer = await client.call_tool("test_run", {"cypher": statement})

    assert answer.structured_content["more"]
    # An `ä` has two bytes.
    assert len(answer.structured_content["rows"]) == rows
    assert f"first {rows} rows" in answer.content[1].text


async def test_a_row_that_no_answer_can_hold_writes_nothing(over_http, session):
    """An agent that gets an error may call again, so the transaction is rolled back."""
    statement = """CREATE (:Mcp)
        RETURN reduce(s = 'ä', i IN range(1, 16) | s + s) AS text"""
    async with over_http.client() as client:
        answer = await client.call_tool("test_run", {"cypher": statement})

    assert answer.is_error
    assert answer.content[0].text.startswith("[SC-963] The first row has 1310")
    assert session.run("MATCH (n:Mcp) RETURN count(n)").single().value() == 0


async def test_a_cut_answer_has_written_everything(over_http, session):
    """If a procedure writes a node for each row, all exist although the answer has 200."""
    statement = "UNWIND range(1, 300) AS n CREATE (:Mcp {n: n}) RETURN n"
    async with over_http.client() as client:
        answer = await client.call_tool("test_run", {"cypher": statement})

    assert answer.structured_content["more"]
    assert session.run("MATCH (n:Mcp) RETURN count(n)").single().value() == 300


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("transport", ["pipes", "http"])
async def test_progress_is_sent_until_a_call_is_cancelled(
    connected, over_http, session, transport, mode
):
    """The client gets growing numbers; when it cancels, function and transaction end."""
    mark, seen, reported = f"{transport}-{mode}", [], asyncio.Event()

    async def on_progress(done, total, _message):
        seen.append((done, total))
        if len(seen) == 2:
            reported.set()

    connecting = over_http.client(mode) if transport == "http" else connected(mode=mode)
    async with connecting as client:
        call = asyncio.create_task(
            client.call_tool("trouble_progress", {"mark": mark}, progress_callback=on_progress)
        )
        await asyncio.wait_for(reported.wait(), 30)
        call.cancel()

        await asyncio.to_thread(wait_until, lambda: mark in ended(session))
        await asyncio.to_thread(wait_until, lambda: transactions(session) == [])
    assert seen[0][0] < seen[1][0]
    assert {total for _, total in seen} == {1_000_000}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_server_and_calls_while_standard_input_is_open(server, session, number):
    """Who has started it in a terminal or a container need not close its standard input first."""
    mark = f"ended by {number.name}"
    with subprocess.Popen(
        [sys.executable, "-m", "sidecypher", "mcp", "--allow", "trouble.*"],
        env=server.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        arguments = {"name": "trouble_progress", "arguments": {"mark": mark}}
        tell(process, INITIALIZE)
        assert "serverInfo" in process.stdout.readline()
        tell(process, {"id": 2, "method": "tools/call", "params": arguments})
        wait_until(lambda: mark in running(session), 60)

        process.send_signal(number)

        assert process.wait(60) == 128 + number
    wait_until(lambda: mark in ended(session))


def tell(process, message):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def ended(session):
    return session.run("CALL trouble.ended()").value()


def running(session):
    return session.run("CALL trouble.running()").value()


def looks(server):
    """Return how often somebody has listed the running calls."""
    metrics = httpx.get(f"http://127.0.0.1:{server.sidecar.http}/metrics", trust_env=False).text
    found = re.findall(
        r'^sidecypher_calls_total.*"sidecypher.running".* (\S+)$', metrics, re.MULTILINE
    )
    return sum(map(float, found))


@pytest.mark.slow
async def test_no_progress_is_sent_that_could_be_another_call_s(over_http, session, server):
    """Of two running calls of a procedure, Neo4j does not say which is whose."""
    seen, marks = [], ["first", "second"]

    async def on_progress(done, total, _message):
        seen.append(done)

    async with over_http.client() as client:
        calls = [
            asyncio.create_task(
                client.call_tool("trouble_progress", {"mark": mark}, progress_callback=on_progress)
            )
            for mark in marks
        ]
        await asyncio.to_thread(wait_until, lambda: {*marks} <= {*running(session)})
        before = looks(server)
        # A look that began before the second call may still be under way.
        await asyncio.to_thread(wait_until, lambda: looks(server) >= before + 4)
        seen.clear()
        await asyncio.to_thread(wait_until, lambda: looks(server) >= before + 10)
        for call in calls:
            call.cancel()
        await asyncio.to_thread(wait_until, lambda: {*marks} <= {*ended(session)})

    assert seen == []


async def test_pictures_are_resources(over_http, session):
    """A run has a timeline as text and SVG, a session a picture, and the graph a schema."""
    session.run("CALL runs.create('mcp-test', {id: 'a/b c'})").consume()
    workflow = {"steps": [{"id": "root", "function": "set"}], "next": []}
    session.run("CALL session.define('mcp', $spec)", spec=workflow).consume()
    session.run("CALL session.start('mcp', {id: 's1'})").consume()
    async with over_http.client() as client:
        templates = await client.list_resource_templates()
        [schema] = (await client.list_resources()).resources
        shape = await client.read_resource(schema.uri)
        text = await client.read_resource("sidecypher://runs/a%2Fb%20c/timeline.txt")
        picture = await client.read_resource("sidecypher://runs/a%2Fb%20c/timeline.svg")
        chart = await client.read_resource("sidecypher://sessions/s1/picture.svg")

    assert len(templates.resource_templates) == 3
    assert "`WorkflowRun (id)` uniqueness" in shape.contents[0].text
    assert "`(:WorkflowRun)" in shape.contents[0].text
    assert text.contents[0].text.startswith("mcp-test a/b c: pending")
    types_found = [each.contents[0].mime_type for each in (text, picture, chart)]
    assert types_found == ["text/plain", "image/svg+xml", "image/svg+xml"]
    assert picture.contents[0].text.startswith("<svg")
    assert "root" in chart.contents[0].text


@pytest.mark.parametrize(
    "uri",
    [
        "sidecypher://runs/no-such/timeline.svg",
        "sidecypher://sessions/no-such/picture.svg",
        "sidecypher://no-such",
        "file:///etc/passwd",
    ],
)
async def test_an_unknown_resource_is_an_error(over_http, session, uri):
    """A client gets an error of the protocol that names the URI."""
    async with over_http.client() as client:
        with pytest.raises(MCPError, match="no such resource") as caught:
            await client.read_resource(uri)

    assert caught.value.code == types.INVALID_PARAMS
    assert caught.value.data == {"uri": uri}


@pytest.mark.slow
async def test_prompts_say_which_tools_to_call(connected):
    """The memory's prompt asks for `rules_remember` only if that may be called."""
    async with connected() as client:
        reading = await client.get_prompt("memory", {"user": "ann"})
        code = await client.get_prompt("code", {"question": "Who calls {price_of}?"})
        for name, arguments in [("no-such", {}), ("memory", {}), ("memory", {"user": " "})]:
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)
    async with connected("--allow", "rules.*", "--write", "rules.remember") as client:
        writing = await client.get_prompt("memory", {"user": "ann"})
        found = await client.list_prompts()

    assert '"userId": "ann"' in reading.messages[0].content.text
    assert "rules_remember" not in reading.messages[0].content.text
    assert "rules_remember" in writing.messages[0].content.text
    assert "Who calls {price_of}?" in code.messages[0].content.text
    assert [each.name for each in found.prompts] == ["memory"]
