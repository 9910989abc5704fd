"""The configurations of docs/mcp.md: each starts a server that gives the answers of the page."""

import json
import sys
from pathlib import Path

import pytest
from docs.pages import blocks, page_named
from mcp import Client
from mcp.client.stdio import StdioServerParameters

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]


def configurations():
    """Return the arguments, calls and answers of each configuration, as the page has them."""
    found = []
    for block in blocks("json", pages=[ROOT / "docs" / "mcp.md"]):
        value = json.loads(block.text)
        if "mcpServers" in value:
            [(name, command)] = value["mcpServers"].items()
            found.append((name, command, [], []))
        elif "rows" in value:
            found[-1][3].append(value)
        else:
            found[-1][2].append(value)
    return found


TOOLS = {
    "memory": ["rules_remember", "rules_context"],
    "github": ["github_getIssue"],
    "code": ["code_callers"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command", "calls", "answers"), configurations())
async def test_a_configuration_gives_the_answer_of_the_page(  # noqa: PLR0917
    server, session, shop, name, command, calls, answers
):
    """Pasted into an agent's file, it starts; the last call has the rows that the page shows."""
    session.run("CALL code.index('shop', $folder)", folder=str(shop)).consume()
    assert command["command"] == "sidecypher"
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sidecypher", *command["args"]],
        env=dict(server.environ),
    )

    async with Client(parameters, read_timeout_seconds=60) as client:
        given = [
            await client.call_tool(tool, arguments)
            for tool, arguments in zip(TOOLS[name], calls, strict=True)
        ]

    assert all(f"`{tool}`" in page_named("docs/mcp.md") for tool in TOOLS[name])
    assert [each.content[0].text for each in given if each.is_error] == []
    [shown] = answers
    assert of_shape(given[-1].structured_content, shown) == shown


def of_shape(value, shown):
    """Return a value without what the page leaves out: other keys, and texts that are `...`."""
    if shown == "...":
        return "..." if isinstance(value, str) else value
    if isinstance(shown, dict):
        return {key: of_shape(value[key], each) for key, each in shown.items()}
    if isinstance(shown, list):
        assert len(value) == len(shown)
        return [of_shape(each, part) for each, part in zip(value, shown, strict=True)]
    return value


def test_the_page_has_three_configurations():
    """A memory, GitHub next to the graph, and code."""
    assert [name for name, *_ in configurations()] == ["memory", "github", "code"]
