"""`sidecypher mcp`: procedures as tools, as the client of the MCP SDK sees them."""

import json
import sys
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def connected(server):
    """Connect to a server that is started as an agent starts it."""

    @asynccontextmanager
    async def connect(*options):
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "sidecypher", "mcp", *options],
            env=dict(server.environ),
        )
        async with Client(command, read_timeout_seconds=60) as client:
            yield client

    return connect


async def tools_of(client):
    found = await client.list_tools()
    return {tool.name: tool for tool in found.tools}


async def test_procedures_that_read_are_tools(connected):
    """Each has a description and schemas; what writes or is for administrators is not offered."""
    async with connected() as client:
        found = await tools_of(client)

    issue = found["github_getIssue"]
    assert issue.description.startswith("Get an issue")
    assert issue.input_schema["required"] == ["owner", "repo", "number"]
    assert issue.output_schema["properties"]["rows"]["type"] == "array"
    assert issue.annotations.read_only_hint
    assert "rules_context" in found
    assert not {"rules_remember", "sidecypher_running", "rules_context_batch"} & set(found)


async def test_options_choose_tools(connected):
    """`--allow` leaves out all others, and `--write` adds what writes."""
    async with connected("--allow", "runs.*", "--write", "rules.remember") as client:
        found = await tools_of(client)

    assert {name.partition("_")[0] for name in found} == {"runs", "rules"}
    assert "runs_append" not in found
    assert found["rules_remember"].annotations.destructive_hint


async def test_a_call_gives_rows(connected, session):
    """Arguments go by name, defaults are those of the procedure, and rows are JSON."""
    session.run("CREATE (:Mcp {i: 1})-[:LINKS]->(:Mcp {i: 2})").consume()
    try:
        async with connected() as client:
            answer = await client.call_tool("algo_pagerank", {"labels": ["Mcp"]})
            text = json.loads(answer.content[0].text)
            again = await client.call_tool(
                "algo_pagerank", {"labels": ["Mcp"], "options": {"limit": 1}}
            )
    finally:
        session.run("MATCH (n:Mcp) DETACH DELETE n").consume()

    assert text == answer.structured_content
    assert [len(text["rows"]), text["more"]] == [2, False]
    assert len(again.structured_content["rows"]) == 1


async def test_errors_are_answers(connected):
    """A wrong argument, an unknown tool and an error of a procedure are told to the model."""
    async with connected() as client:
        missing = await client.call_tool("runs_get", {})
        wrong = await client.call_tool("algo_pagerank", {"labels": ["A"], "options": {"no": 1}})
        unknown = await client.call_tool("no_such", {})

    assert missing.is_error
    assert "SC-204" in missing.content[0].text
    assert "SC-204" in wrong.content[0].text
    assert "no tool `no_such`" in unknown.content[0].text


async def test_long_answers_are_cut(connected):
    """An answer has as many rows as a model should read, and says that there were more."""
    async with connected() as client:
        answer = await client.call_tool("test_count", {"to": 1000})

    assert answer.structured_content["more"]
    assert len(answer.structured_content["rows"]) == 200


async def test_a_call_writes_if_that_is_allowed(connected, session):
    """What `--write` names may write, and nothing else may."""
    async with connected("--write", "runs.create") as client:
        made = await client.call_tool("runs_create", {"type": "mcp-test"})
        [row] = made.structured_content["rows"]
        refused = await client.call_tool("runs_append", {"runId": "x", "event": {}})

    assert refused.is_error
    found = session.run("MATCH (r:WorkflowRun {id: $id}) RETURN count(r)", id=row["id"])
    assert found.single().values() == [1]
