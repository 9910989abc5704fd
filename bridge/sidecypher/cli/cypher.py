"""`sidecypher cypher`, and the Cypher of commands from packages."""

import asyncio
import csv
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sidecypher.cli.call import value_of
from sidecypher.cli.errors import NotUnderstood
from sidecypher.cli.options import Config, Database, Home
from sidecypher.cli.output import notes, show_json, show_table, working
from sidecypher.cli.status import server_address
from sidecypher.host.terminal import visible
from sidecypher.sdk.bolt import BoltClient
from sidecypher.values.coders import encode_any


class Format(StrEnum):
    """Format of printed rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def cypher(
    query: Annotated[str, typer.Argument(help="Run this statement; `-` reads it from stdin.")] = "",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the statement from this file.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--param", "-P", help="Set a parameter as `name=value`; repeatable."),
    ] = None,
    output: Annotated[
        Format, typer.Option("--format", help="Print rows in this format.")
    ] = Format.TABLE,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Run a Cypher statement and print its rows.

    The value of a parameter is JSON if it parses as JSON, else a string. The statement
    runs in its own transaction, with a limit of 60 seconds. It runs in the embedded Neo4j, or in
    the one that `SIDECYPHER_NEO4J_URI` or `NEO4J_URI` names. In JSON and CSV, values that JSON
    lacks have the form that [calls over HTTP](http.md#the-answer) use.

    ```sh
    sidecypher cypher 'MATCH (n:Issue) WHERE n.number = $n RETURN n.title' -P n=1
    sidecypher cypher -f report.cypher --format csv
    ```
    """
    statement = _statement(query, file)
    values = dict(_parameter(each) for each in parameters or ())
    rows = rows_of(statement, values, database=database, home=home, config=config)
    if output is Format.JSON:
        show_json([encode_any(row) for row in rows])
    elif not rows:
        notes.print("No rows.")
    elif output is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows[0])
        shown = visible if sys.stdout.isatty() else str
        writer.writerows([shown(_text(value)) for value in row.values()] for row in rows)
    else:
        show_table("", [*rows[0]], ([_text(value) for value in row.values()] for row in rows))


def rows_of(
    query: str,
    parameters: Mapping[str, Any],
    *,
    database: str | None = None,
    home: Path | None,
    config: Path | None,
) -> list[dict[str, Any]]:
    """Run a statement in the Neo4j that commands use; see `run_cypher` of `packages`."""

    async def run() -> list[dict[str, Any]]:
        async with client_of(database=database, home=home, config=config) as client:
            return await client.run(query, **parameters)

    with working("Waiting for Neo4j"):
        return asyncio.run(run())


@asynccontextmanager
async def client_of(
    *, database: str | None = None, home: Path | None, config: Path | None
) -> AsyncIterator[BoltClient]:
    """Open a client of the Neo4j that commands use; see `open_client` of `packages`."""
    address = server_address(home, config, database)
    client = BoltClient(lambda: address)
    try:
        yield client
    finally:
        await client.stop()


def _statement(query: str, file: Path | None) -> str:
    if bool(query) == (file is not None):
        raise NotUnderstood("Give either a statement or `--file`", hint="`-` reads from stdin.")
    if file is None and query != "-":
        return query
    content = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        return content.decode()
    except UnicodeDecodeError:
        name = f"`{file.name}`" if file else "The standard input"
        raise NotUnderstood(f"{name} is not a text in UTF-8") from None


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise NotUnderstood(f"`{text}` is not a parameter", hint="Write `-P name=value`.")
    return name, value_of(value)


def _text(value: Any) -> str:
    """Return the text of a cell: strings unchanged, dates and times without tag, else JSON."""
    plain = encode_any(value)
    if isinstance(plain, dict) and len(plain) == 1:
        [(name, tagged)] = plain.items()
        plain = tagged if name.startswith("$") and isinstance(tagged, str) else plain
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
