"""`sidecypher call`."""

import json
from typing import Annotated, Any

import typer

from sidecypher.cli.calling import call_procedure, connected
from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import show_json, show_next, show_table
from sidecypher.settings import load_settings


def call(
    name: Annotated[str, typer.Argument(help="The procedure, such as `github.getIssue`.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Each is JSON if it parses as JSON, else a string.")
    ] = None,
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Call a procedure through Neo4j and print its rows.

    It talks to the embedded Neo4j, or to the one that `SIDECYPHER_NEO4J_URI` names, and lets the
    transaction take as long as the procedure may. Write `'"7"'`
    for a string that looks like JSON.

    ```sh
    sidecypher call github.getIssue Codertocat Hello-World 1
    sidecypher call github.getRepository octocat Hello-World '{"maxAge": 0}' --json
    ```
    """
    values = [_value(argument) for argument in arguments or []]
    with connected(load_settings({"home": home}, config=config)) as driver:
        found = call_procedure(driver, name, values)
    if as_json:
        show_json([record.data() for record in found.records])
    else:
        show_table(name, found.keys, (record.values() for record in found.records))
        show_next("sidecypher procedures", "lists what else can be called")


def _value(argument: str) -> Any:
    try:
        return json.loads(argument)
    except ValueError:
        return argument
