"""The command `sidecypher mcp`."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidecypher.cli.packages import Config, Database, Home, list_tools, load_token, open_client
from sidecypher_procedures.agents.errors import McpNotInstalled, UnknownTool

if TYPE_CHECKING:
    from sidecypher.cli.packages import Tool


def mcp(
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", help="List only this procedure or namespace; repeatable."),
    ] = None,
    write: Annotated[
        list[str] | None,
        typer.Option("--write", help="List this procedure although it writes; repeatable."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP on this machine instead.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Listen on this port; 0 picks one.")
    ] = 7476,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Read the token for HTTP from this file."),
    ] = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Run a server that offers procedures to an agent as tools.

    It speaks MCP over standard input and output, or over HTTP. Each procedure that only reads is a
    tool, with the schema of its arguments and rows. With `--allow`, only those that it names. A
    procedure that writes is a tool only if `--write` has its full name. Calls run in the embedded
    Neo4j, or in the one that `SIDECYPHER_NEO4J_URI` or `NEO4J_URI` names. [MCP](mcp.md) shows how
    to connect an agent.

    With `--http`, clients send the token in the file `mcp-token` of the run folder, or the one in
    `--token-file`. Only you may be able to read that file. The command prints both addresses.

    ```sh
    sidecypher mcp --allow 'rules.*' --write rules.remember
    sidecypher mcp --allow 'code.*' --http --port 7476
    ```
    """
    import asyncio  # noqa: PLC0415 - `sidecypher --help` imports this module

    try:
        from mcp.server.stdio import stdio_server  # noqa: PLC0415 - the SDK is large

        from sidecypher_procedures.agents import mcp_http  # noqa: PLC0415
        from sidecypher_procedures.agents.mcp_pipes import ended_by_signals  # noqa: PLC0415
        from sidecypher_procedures.agents.mcp_server import make_server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise McpNotInstalled(f"`{error.name}` is not installed") from None
    found = list(list_tools(home=home, config=config))
    tools = _offered(found, allow or [], write or [])

    async def serve_pipes() -> None:
        async with (
            open_client(database=database, home=home, config=config) as client,
            stdio_server() as (requests, answers),
            ended_by_signals(client),
        ):
            server = make_server(tools, client)
            await server.run(requests, answers, server.create_initialization_options())

    async def serve_http(listener: socket.socket, token: bytes) -> None:
        async with open_client(database=database, home=home, config=config) as client:
            await mcp_http.serve(make_server(tools, client), listener, token)

    if not http:
        asyncio.run(serve_pipes())
        return
    if token_file is None:
        token, file = load_token("mcp-token", home=home, config=config)
    else:
        token, file = mcp_http.read_token(token_file), token_file
    with mcp_http.listen(port) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_http.PATH}"
        typer.echo(f"MCP at {address}, with the token in {file}")
        asyncio.run(serve_http(listener, token))


def _offered(found: "list[Tool]", allow: list[str], write: list[str]) -> "list[Tool]":
    """Return the tools that the options choose.

    Raises:
        UnknownTool: An option names no procedure, or `write` has a pattern.
    """
    for name in write:
        if name.endswith(".*"):
            raise UnknownTool(
                f"`--write` takes the names of single procedures, and `{name}` is a pattern",
                hint="Give `--write` once for each procedure that may write.",
            )
    for pattern in (*allow, *write):
        if not any(_matches(pattern, tool.name) for tool in found):
            raise UnknownTool(f"There is no procedure `{pattern}`")
    return [tool for tool in found if tool.name in write or _is_allowed(tool, allow)]


def _is_allowed(tool: "Tool", allow: list[str]) -> bool:
    is_named = not allow or any(_matches(pattern, tool.name) for pattern in allow)
    return is_named and tool.mode == "READ"


def _matches(pattern: str, name: str) -> bool:
    return name == pattern or (pattern.endswith(".*") and name.startswith(pattern[:-1]))
