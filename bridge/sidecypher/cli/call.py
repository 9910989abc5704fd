"""`sidecypher call`."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

import neo4j
import typer
from neo4j.exceptions import DriverError, Neo4jError, ServiceUnavailable

from sidecypher.cli.options import AsJson, Config, Database, Home
from sidecypher.cli.output import show_json, show_next, show_table, working
from sidecypher.cli.status import server_address
from sidecypher.errors import CallError
from sidecypher.sdk.signature.names import check_procedure_name

_NO_LIMIT: Final = 0.0


def call(
    name: Annotated[str, typer.Argument(help="Call this procedure, such as `github.getIssue`.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Pass these values, as JSON or else as strings.")
    ] = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Call a procedure in Neo4j and print its rows.

    It talks to the embedded Neo4j, or to the one that `SIDECYPHER_NEO4J_URI` or
    `NEO4J_URI` names. The procedure's own timeout applies. Write `'"7"'`
    for a string that looks like JSON.

    ```sh
    sidecypher call github.getIssue Codertocat Hello-World 1
    sidecypher call github.getRepository octocat Hello-World '{"maxAge": 0}' --json
    ```
    """
    values = [value_of(argument) for argument in arguments or []]
    address = server_address(home, config, database)
    with address.driver(max_transaction_retry_time=0) as driver, working(f"Calling {name}"):
        found = call_procedure(driver, name, values, address.database)
    if as_json:
        show_json([record.data() for record in found.records])
    else:
        show_table(name, found.keys, (record.values() for record in found.records))
        show_next("sidecypher procedures", "lists what else can be called")


def value_of(argument: str) -> Any:
    """Return the value of a command-line argument: parsed as JSON, or else the text itself."""
    try:
        return json.loads(argument)
    except ValueError:
        return argument


def call_procedure(
    driver: neo4j.Driver, name: str, values: Sequence[Any], database: str | None = None
) -> neo4j.EagerResult:
    """Call a procedure in a database, by default the user's, and return all of its rows.

    Raises:
        CallError: The call failed, or the server does not answer.
        SignatureError: The name is not a valid name of a procedure.
    """
    try:
        # The procedure's own timeout ends the call; a shorter timeout of the server must not.
        return driver.execute_query(
            neo4j.Query(statement(name, len(values)), timeout=_NO_LIMIT),
            {f"a{index}": value for index, value in enumerate(values)},
            database_=database,
        )
    except OverflowError:
        raise CallError(
            f"`{name}` got a number that does not fit a Cypher INTEGER", code="SC-215"
        ) from None
    except UnicodeEncodeError:
        raise CallError(f"`{name}` got a text that is not UTF-8", code="SC-215") from None
    except (DriverError, Neo4jError) as error:
        raise CallError(
            f"`{name}` returned no rows: {getattr(error, 'message', None) or type(error).__name__}",
            code=getattr(error, "code", None) or type(error).__name__,
        ) from None
    except ValueError as error:
        # If DNS fails for good, the driver raises this.
        if not isinstance(error.__cause__, OSError):
            raise
        raise CallError(
            f"`{name}` returned no rows: {error}", code=ServiceUnavailable.__name__
        ) from None


def statement(name: str, count: int) -> str:
    """Return the statement that calls a procedure with so many parameters.

    Raises:
        SignatureError: The name is not a valid name of a procedure.
    """
    # The name is checked to be letters, digits and dots, so it cannot end the statement.
    checked = check_procedure_name(name)
    parameters = ", ".join(f"$a{index}" for index in range(count))
    return f"CALL {checked}({parameters})"
