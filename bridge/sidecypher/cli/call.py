"""`sidecypher call`."""

import json
from typing import Annotated, Any

import neo4j
import typer
from neo4j.exceptions import DriverError, Neo4jError

from sidecypher.cli.lifecycle import bolt_address
from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import show_json, show_table
from sidecypher.errors import CallError
from sidecypher.settings import load_settings
from sidecypher.signature import check_procedure_name


def call(
    name: Annotated[str, typer.Argument(help="Procedure, such as github.getIssue.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Each is JSON if it parses as JSON, else a string.")
    ] = None,
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Call a procedure through Neo4j and print its rows."""
    settings = load_settings({"home": home}, config=config)
    uri, auth = bolt_address(settings)
    values = [_value(argument) for argument in arguments or []]
    try:
        with neo4j.GraphDatabase.driver(uri, auth=auth, max_transaction_retry_time=0) as driver:
            found = driver.execute_query(
                _statement(name, len(values)),
                {f"a{index}": value for index, value in enumerate(values)},
            )
    except OverflowError:
        raise CallError(
            f"`{name}` was given a number that Cypher has no INTEGER for", code="SC-215"
        ) from None
    except (DriverError, Neo4jError) as error:
        raise CallError(
            f"`{name}` gave no rows: {getattr(error, 'message', None) or type(error).__name__}",
            code=getattr(error, "code", None) or type(error).__name__,
        ) from None
    if as_json:
        show_json([record.data() for record in found.records])
    else:
        show_table(name, found.keys, (record.values() for record in found.records))


def _statement(name: str, count: int) -> str:
    # The name is checked to be letters, digits and dots, so it cannot end the statement.
    checked = check_procedure_name(name)
    parameters = ", ".join(f"$a{index}" for index in range(count))
    return f"CALL {checked}({parameters})"


def _value(argument: str) -> Any:
    try:
        return json.loads(argument)
    except ValueError:
        return argument
