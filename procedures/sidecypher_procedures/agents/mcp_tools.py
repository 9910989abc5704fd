"""The tools of the MCP server: procedures, which it calls in Neo4j."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from sidecypher import BoltClient, SidecypherError
from sidecypher_procedures.agents.errors import RowTooLarge
from sidecypher_procedures.agents.mcp_progress import Progress

if TYPE_CHECKING:
    from sidecypher.cli.packages import Tool

RequestContext = ServerRequestContext[Any, Request]

MOST_ROWS: Final = 200
MOST_BYTES: Final = 100_000
"""Most rows, and bytes of them as JSON, that an answer has: a model reads all of it."""

MARGIN_SECONDS: Final = 5.0
"""Extra time of a transaction, in which a procedure reports that its own time has expired."""

_IN_THE_GRAPH: Final = ("algo.", "code.", "rules.", "runs.", "session.")
"""Namespaces whose procedures with the mode READ use the graph only."""


class ProcedureTools:
    """The tools of one server.

    Args:
        tools: The procedures that may be called.
        client: Calls them.
    """

    def __init__(self, tools: "Iterable[Tool]", client: BoltClient) -> None:
        self._tools = {tool_name(tool): tool for tool in tools}
        self._client = client
        self._progress = Progress(client)

    async def list(self, _context: RequestContext, _params: Any) -> types.ListToolsResult:
        """Answer `tools/list`."""
        return types.ListToolsResult(
            tools=[_described(name, tool) for name, tool in self._tools.items()]
        )

    async def call(
        self, context: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer `tools/call`; cancel the call in Neo4j if the client disconnects."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool `{params.name}`")
        answer = None
        with _out_of_its_group():
            async with anyio.create_task_group() as group:
                if context.request is not None:
                    group.start_soon(_cancel_when_gone, context.request, group.cancel_scope)
                answer = await self._answered(tool, params.arguments or {}, context)
                group.cancel_scope.cancel()
        return answer or _failure("The client has disconnected")

    async def _answered(
        self, tool: "Tool", arguments: dict[str, Any], context: RequestContext
    ) -> types.CallToolResult:
        try:
            statement, parameters = tool.statement(arguments, MOST_ROWS + 1)
            async with (
                self._progress.sent(tool.name, context),
                self._client.transaction(seconds=tool.seconds + MARGIN_SECONDS) as transaction,
            ):
                # Its text is made of names of the catalogue; arguments are parameters.
                rows = await transaction.run(statement, **parameters)
                # If it fails, the transaction is rolled back: an agent may call again after errors.
                return _answer(tool.encoded(rows))
        except SidecypherError as error:
            return _failure(f"[{error.code}] {error.message} {error.hint}".rstrip())


def tool_name(tool: "Tool") -> str:
    """Return the name of a tool: models allow no dot in it.

    Example:
        >>> from types import SimpleNamespace
        >>> tool_name(SimpleNamespace(name="github.getIssue"))
        'github_getIssue'
    """
    return tool.name.replace(".", "_")


@contextmanager
def _out_of_its_group() -> Iterator[None]:
    """Raise the only error of a task group as itself, since the SDK acts on its class."""
    try:
        yield
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from group.exceptions[0].__cause__


async def _cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client has closed the connection of a request over HTTP."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _described(name: str, tool: "Tool") -> types.Tool:
    is_read = tool.mode == "READ"
    return types.Tool(
        name=name,
        title=tool.name,
        description=tool.description or tool.name,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=is_read,
            destructive_hint=not is_read,
            idempotent_hint=is_read,
            open_world_hint=not (is_read and tool.name.startswith(_IN_THE_GRAPH)),
        ),
    )


def _answer(rows: list[dict[str, Any]]) -> types.CallToolResult:
    """Return as many rows as an answer may have, and whether there were more.

    Raises:
        RowTooLarge: No answer can hold the first row.
    """
    kept = _first(rows)
    answer = {"rows": kept, "more": len(kept) < len(rows)}
    texts = [json.dumps(answer, ensure_ascii=False)]
    if answer["more"]:
        texts.append(
            f"Only the first {len(kept)} rows are shown: an answer has at most {MOST_ROWS} rows "
            f"and {MOST_BYTES} bytes. Use narrower arguments, or return fewer columns."
        )
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        structured_content=answer,
    )


def _first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    size, kept = 0, []
    for row in rows[:MOST_ROWS]:
        size += len(json.dumps(row, ensure_ascii=False).encode())
        if size > MOST_BYTES:
            break
        kept.append(row)
    if rows and not kept:
        raise RowTooLarge(
            f"The first row has {size} bytes, and an answer at most {MOST_BYTES}; "
            "its transaction was rolled back"
        )
    return kept


def _failure(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
