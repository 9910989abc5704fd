"""The outbox: events that are added in the transaction of an application."""

import json
from collections.abc import Mapping
from typing import Any, Final

from psycopg import sql

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.sync.errors import InvalidEvent
from sidecypher_procedures.sync.events import checked_event
from sidecypher_procedures.sync.postgres.settings import PostgresSettings
from sidecypher_procedures.sync.postgres.statements import Statement, Steps, in_transaction

_INSERT: Final = sql.SQL("""
    INSERT INTO {}.outbox (run_id, event_id, body) VALUES (%(run)s, %(event)s, %(body)s::json)
    ON CONFLICT (event_id) DO NOTHING RETURNING id
""")
_FOUND: Final = sql.SQL("SELECT run_id, body::text FROM {}.outbox WHERE event_id = %(event)s")


class PostgresOutbox:
    """Adds events of runs to a table, from which a worker writes them to the graph.

    What a transaction adds is written if it commits, and only then. Events of one run are written
    in the order in which they were added. Of two transactions that overlap, either may be first.

    Args:
        schema: The schema with the tables; that of the environment by default.

    Raises:
        SyncSettingsError: A setting cannot be used.

    Example:
        >>> def accept(conn, order: int) -> None:
        ...     with conn.transaction():
        ...         conn.execute("UPDATE orders SET accepted = true WHERE id = %s", [order])
        ...         event = {"type": "userMessage", "content": "Accepted"}
        ...         PostgresOutbox().add(conn, f"order-{order}", event)
    """

    def __init__(self, schema: str | None = None) -> None:
        self._schema = schema or PostgresSettings.load().namespace

    @in_transaction
    def add(self, run_id: str, event: Mapping[str, Any]) -> Steps[str]:
        """Add an event of a run, in the current transaction of the connection.

        The first argument is a `Connection` of psycopg, or an `AsyncConnection`, with which the
        result has to be awaited. An event that is added again with the same id is written once.

        Args:
            run_id: The run, which must exist when the event is written to the graph.
            event: As `runs.append` takes it. Without `id` it gets a UUID version 7; an event with
                such an id and without `createdAt` happened at the time in the id.

        Returns:
            The id of the event.

        Raises:
            InvalidEvent: `runs.append` would not accept it, or its id is that of another event.
            PostgresUnsuitable: The tables are missing, or the role lacks rights.
            psycopg.Error: Anything else is wrong with the transaction or the connection.
        """
        return (yield from add_event(self._schema, run_id, event))


def add_event(schema: str, run_id: str, event: Mapping[str, Any]) -> Steps[str]:
    """Add an event; see `PostgresOutbox.add`."""
    event_id, fields = checked_event(run_id, event)
    if "\0" in run_id + event_id:
        raise InvalidEvent("An id holds a zero character", hint="PostgreSQL cannot store it.")
    params = {"run": run_id, "event": event_id, "body": fields["event"]}
    while not (yield Statement(_INSERT.format(sql.Identifier(schema)), params)):
        found = yield Statement(_FOUND.format(sql.Identifier(schema)), params)
        # Not found, if it has been written to the graph in between: then it is added again.
        for row in found:
            if row["run_id"] == run_id and _is_equal(row["body"], fields["event"]):
                return event_id
            raise InvalidEvent(
                f"The id `{shown_id(event_id)}` belongs to another event in the outbox",
                hint="Give another `id`, or leave it out.",
            )
    return event_id


def _is_equal(one: str, other: str) -> bool:
    """Return whether two texts of JSON say the same."""
    return bool(json.loads(one) == json.loads(other))
