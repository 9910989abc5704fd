"""The MCP server: tools, resources and prompts made of procedures."""

import logging
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from mcp.server.lowlevel import Server

from sidecypher import BoltClient
from sidecypher_procedures.agents.mcp_prompts import Prompts
from sidecypher_procedures.agents.mcp_resources import Resources
from sidecypher_procedures.agents.mcp_tools import MOST_BYTES, MOST_ROWS, ProcedureTools

if TYPE_CHECKING:
    from sidecypher.cli.packages import Tool

_INSTRUCTIONS: Final = (
    "Each tool is a procedure of Neo4j. An answer has at most "
    f"{MOST_ROWS} rows and {MOST_BYTES} bytes; `more` says whether there were others, so narrow "
    "your arguments then. The resource `sidecypher://schema` describes the graph."
)

# Their log lines hold requests; without a handler Python would print them.
for _name in ("mcp", "sse_starlette", "uvicorn"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


def make_server(tools: "Iterable[Tool]", client: BoltClient) -> "Server[Any]":
    """Return an MCP server.

    Args:
        tools: The procedures that may be called, by tools and for resources.
        client: Calls them.
    """
    offered = list(tools)
    names = {tool.name for tool in offered}
    called, read, prompted = (
        ProcedureTools(offered, client),
        Resources(names, client),
        Prompts(names),
    )
    return Server(
        "sidecypher",
        version=version("sidecypher"),
        instructions=_INSTRUCTIONS,
        on_list_tools=called.list,
        on_call_tool=called.call,
        on_list_resources=read.list,
        on_list_resource_templates=read.list_templates,
        on_read_resource=read.read,
        on_list_prompts=prompted.list,
        on_get_prompt=prompted.get,
    )
