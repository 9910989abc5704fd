"""Records of Neo4j's driver as those of `ctx.run`."""

from typing import Any

import neo4j

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec.driver import UnknownDriverValueError
from sidecypher.values.coders import from_driver


def record_of(record: neo4j.Record) -> dict[str, Any]:
    """Return a record of the driver as a dict by column name.

    Raises:
        ValueTypeError: A column holds a value that sidecypher has no class for.
    """
    return {column: _value(record, column) for column in record.keys()}  # noqa: SIM118


def _value(record: neo4j.Record, column: str) -> Any:
    try:
        return from_driver(record[column])
    except neo4j.exceptions.BrokenRecordError:
        kind = "a value that Neo4j's driver cannot read, such as a date outside the years 1 to 9999"
    except UnknownDriverValueError as error:
        kind = f"a value of the driver's type {error}"
    raise ValueTypeError(
        f"The column `{column}` has {kind}",
        hint="Convert it in the statement, with `toString` or `toFloatList`.",
    )
