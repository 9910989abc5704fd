"""Calls of procedures through Neo4j, as its clients make them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from sidecypher.cli.lifecycle import bolt_address
from sidecypher.errors import CallError
from sidecypher.settings import Settings
from sidecypher.signature import check_procedure_name

_NO_LIMIT: Final = 0.0


@contextmanager
def connected(settings: Settings) -> Iterator[neo4j.Driver]:
    """Connect to the server that commands talk to.

    Raises:
        NotRunning: No server is named and the embedded one does not run.
    """
    with bolt_address(settings).driver(max_transaction_retry_time=0) as driver:
        yield driver


def call_procedure(driver: neo4j.Driver, name: str, values: Sequence[Any]) -> neo4j.EagerResult:
    """Call a procedure, and return all of its rows.

    Raises:
        CallError: It has failed, or the server does not answer.
        SignatureError: The name cannot be that of a procedure.
    """
    try:
        # The procedure's own timeout ends a call. The server's would end a longer one before that.
        return driver.execute_query(
            neo4j.Query(statement(name, len(values)), timeout=_NO_LIMIT),
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


def statement(name: str, count: int) -> str:
    """Return the call of a procedure with so many parameters.

    Raises:
        SignatureError: The name cannot be that of a procedure.
    """
    # The name is checked to be letters, digits and dots, so it cannot end the statement.
    checked = check_procedure_name(name)
    parameters = ", ".join(f"$a{index}" for index in range(count))
    return f"CALL {checked}({parameters})"
