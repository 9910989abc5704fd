"""Dead letters of the outbox: events that cannot be written, and what waits behind them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg import sql

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.sync.errors import NoDeadLetters
from sidecypher_procedures.sync.postgres.connection import Connection

_LIST: Final = """
    SELECT dead.run_id, dead.event_id, dead.code, dead.reason, dead.dead_at AS at,
        (
            SELECT count(*) FROM {schema}.outbox AS o
            WHERE o.run_id = dead.run_id AND o.dead_at IS NULL
        ) AS behind
    FROM {schema}.outbox AS dead
    WHERE dead.dead_at IS NOT NULL AND (%(run)s::text IS NULL OR dead.run_id = %(run)s)
    ORDER BY dead.id
"""
# No worker marks rows of the run meanwhile.
_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended({name} || '.' || %(run)s, 0)) AS locked"
)
_REQUEUE: Final = """
    UPDATE {schema}.outbox
    SET next_at = '-infinity', attempts = 0, waiting_since = NULL,
        dead_at = NULL, code = NULL, reason = NULL
    WHERE run_id = %(run)s AND next_at = 'infinity'
    RETURNING id
"""
_DROP: Final = """
    DELETE FROM {schema}.outbox
    WHERE run_id = %(run)s AND next_at = 'infinity'
        AND (%(event)s::text IS NULL OR event_id = %(event)s)
    RETURNING id
"""
_DEAD: Final = """
    SELECT id FROM {schema}.outbox WHERE run_id = %(run)s AND dead_at IS NOT NULL LIMIT 1
"""
_NOTIFY: Final = "SELECT pg_notify({name} || '.outbox', '') AS sent"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that cannot be written.

    Attributes:
        code: Code of the error.
        reason: The error's text.
        at: When it became a dead letter.
        behind: How many events of its run wait behind it.
    """

    run_id: str
    event_id: str
    code: str
    reason: str
    at: datetime
    behind: int


async def list_dead(conn: Connection, schema: str, run_id: str | None) -> list[DeadLetter]:
    """Return the dead letters of all runs or of one, in the order of their addition."""
    return [DeadLetter(**row) for row in await _run(conn, schema, _LIST, run_id)]


async def requeue(conn: Connection, schema: str, run_id: str) -> int:
    """Let the worker write the dead letter of a run again, and what is behind it.

    Returns:
        How many events these are.

    Raises:
        NoDeadLetters: The run has no dead letter.
    """
    async with conn.transaction():
        await _run(conn, schema, _LOCK, run_id)
        count = len(await _run(conn, schema, _REQUEUE, run_id))
        if not count:
            raise _none(run_id)
        await _run(conn, schema, _NOTIFY, run_id)
    return count


async def drop(conn: Connection, schema: str, run_id: str, event_id: str | None) -> int:
    """Delete one event of a parked run, or all of them.

    If the run has no dead letter then, what is left of it is written.

    Returns:
        How many were deleted.

    Raises:
        NoDeadLetters: The run is not parked, or has no such event.
    """
    async with conn.transaction():
        await _run(conn, schema, _LOCK, run_id)
        count = len(await _run(conn, schema, _DROP, run_id, event_id))
        if not count:
            raise _none(run_id)
        if not await _run(conn, schema, _DEAD, run_id):
            await _run(conn, schema, _REQUEUE, run_id)
            await _run(conn, schema, _NOTIFY, run_id)
    return count


def _none(run_id: str) -> NoDeadLetters:
    return NoDeadLetters(
        f"The run `{shown_id(run_id)}` has no dead letter, or no such event",
        hint="`sidecypher sync postgres dead` lists the dead letters.",
    )


async def _run(
    conn: Connection,
    schema: str,
    statement: LiteralString,
    run_id: str | None,
    event_id: str | None = None,
) -> list[dict[str, Any]]:
    query = sql.SQL(statement).format(schema=sql.Identifier(schema), name=sql.Literal(schema))
    cursor = await conn.execute(query, {"run": run_id, "event": event_id})
    return await cursor.fetchall()
