"""An MCP server whose tools are procedures, which it calls in Neo4j."""

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server

from sidecypher import BoltClient, SidecypherError

if TYPE_CHECKING:
    from sidecypher.cli.packages import Tool

MOST_ROWS: Final = 200
MOST_BYTES: Final = 100_000
"""Most rows, and bytes of them as JSON, that an answer has: a model reads all of it."""

_INSTRUCTIONS: Final = (
    "Each tool is a procedure of Neo4j. An answer has at most "
    f"{MOST_ROWS} rows; `more` says whether there were others, so narrow your arguments then."
)


class ProcedureTools:
    """The tools of one server.

    Args:
        tools: The procedures that may be called.
        client: Calls them.
    """

    def __init__(self, tools: "Iterable[Tool]", client: BoltClient) -> None:
        self._tools = {tool_name(tool): tool for tool in tools}
        self._client = client

    def server(self) -> "Server[Any]":
        """Return an MCP server with these tools."""
        return Server(
            "sidecypher",
            version=version("sidecypher"),
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[_described(name, tool) for name, tool in self._tools.items()]
        )

    async def _call(
        self, _context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _failure(f"There is no tool `{params.name}`")
        try:
            statement, parameters = tool.statement(params.arguments or {}, MOST_ROWS + 1)
            # Its text is made of names of the catalogue; arguments are parameters.
            rows = await self._client.run(statement, **parameters)
        except SidecypherError as error:
            return _failure(f"[{error.code}] {error.message} {error.hint}".rstrip())
        answer = _answer(tool.encoded(rows))
        text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=answer)


def tool_name(tool: "Tool") -> str:
    """Return the name of a tool: models allow no dot in it.

    Example:
        >>> from types import SimpleNamespace
        >>> tool_name(SimpleNamespace(name="github.getIssue"))
        'github_getIssue'
    """
    return tool.name.replace(".", "_")


def _described(name: str, tool: "Tool") -> types.Tool:
    is_read = tool.mode == "READ"
    return types.Tool(
        name=name,
        title=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=is_read, destructive_hint=not is_read, open_world_hint=True
        ),
    )


def _answer(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return as many rows as an answer may have, and whether there were more."""
    size, kept = 0, []
    for row in rows[:MOST_ROWS]:
        size += len(json.dumps(row, ensure_ascii=False))
        if size > MOST_BYTES:
            break
        kept.append(row)
    return {"rows": kept, "more": len(kept) < len(rows)}


def _failure(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
