"""Statements of the worker on the outbox, all in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import sql

from sidecypher_procedures.sync.postgres.connection import Connection

EVENT_BYTES: Final = 8 * 1024 * 1024
"""No event that `runs.append` accepts is longer as JSON."""

# Rows that another worker is about to write are skipped. An id is no sign of what was there before:
# it is given at the insert, and seen from the commit.
_CLAIM: Final = """
    SELECT id, run_id, event_id, octet_length(body::text) AS size,
        CASE WHEN octet_length(body::text) <= %(bytes)s THEN body::text END AS body
    FROM {}.outbox
    WHERE next_at < 'infinity' AND next_at <= clock_timestamp()
    ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""
_LOCK: Final = """
    SELECT id FROM unnest(%(runs)s::text[]) AS run(id)
    WHERE pg_try_advisory_xact_lock(hashtextextended(%(schema)s || '.' || id, 0))
"""
# Under the lock of the run, in a statement of its own: what others have committed is seen here.
_GAPS: Final = """
    SELECT mine.run_id, gap.id, gap.is_waiting
    FROM unnest(%(runs)s::text[], %(lasts)s::bigint[]) AS mine (run_id, last)
    CROSS JOIN LATERAL (
        SELECT id, next_at > clock_timestamp() AS is_waiting
        FROM {}.outbox AS o
        WHERE o.run_id = mine.run_id AND o.id < mine.last AND o.id <> ALL(%(ids)s)
        ORDER BY o.id LIMIT 1
    ) AS gap
"""
_DELETE: Final = "DELETE FROM {}.outbox WHERE id = ANY(%(ids)s)"

# Others may hold rows of the run for a moment. These are found, and marked, when they are due.
_MARK: Final = """
    UPDATE {schema}.outbox SET next_at = {moment}
    WHERE id IN (
        SELECT id FROM {schema}.outbox WHERE run_id = %(run)s AND dead_at IS NULL
        FOR UPDATE SKIP LOCKED
    )
"""
_LATER: Final = "clock_timestamp() + make_interval(secs => %(secs)s)"

# A parent may be among the rows behind the one that waits for it.
_AS_ROW: Final = """(
    SELECT CASE WHEN waiting_since IS NULL OR next_at = 'infinity' THEN next_at
        ELSE '-infinity' END
    FROM {schema}.outbox WHERE id = %(row)s
)"""
_BURY: Final = """
    UPDATE {}.outbox
    SET dead_at = clock_timestamp(), code = %(code)s, reason = %(reason)s, next_at = 'infinity'
    WHERE id = %(id)s
"""
_HELD: Final = """
    UPDATE {}.outbox
    SET attempts = attempts + CASE WHEN %(early)s THEN 0 ELSE 1 END,
        waiting_since = CASE WHEN %(early)s THEN coalesce(waiting_since, clock_timestamp()) END
    WHERE id = %(id)s
    RETURNING attempts,
        coalesce(extract(epoch FROM clock_timestamp() - waiting_since), 0)::float8 AS seconds
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that this transaction has locked.

    Attributes:
        size: Bytes of its body.
        body: Its event in JSON; None if it is too long to be read.
    """

    id: int
    run_id: str
    event_id: str
    size: int
    body: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """The first row of a run that is before claimed ones and is not claimed itself.

    Attributes:
        is_waiting: Whether it is to be tried later, or its run is parked.
    """

    run_id: str
    id: int
    is_waiting: bool


class Queue:
    """The outbox within one transaction.

    Args:
        conn: A connection in a transaction that sees what others commit meanwhile.
        schema: The schema with the tables.
    """

    def __init__(self, conn: Connection, schema: str) -> None:
        self._conn = conn
        self._schema = schema

    async def claim(self, limit: int) -> list[Claim]:
        """Lock and return rows that are due and that nobody else has locked, in their order."""
        rows = await self._run(_CLAIM, limit=limit, bytes=EVENT_BYTES)
        return [Claim(**row) for row in rows]

    async def lock(self, runs: Sequence[str]) -> set[str]:
        """Return the runs that no other worker writes, and lock them."""
        rows = await self._run(_LOCK, runs=list(runs), schema=self._schema)
        return {row["id"] for row in rows}

    async def gaps(self, lasts: Mapping[str, int], ids: Sequence[int]) -> dict[str, Gap]:
        """Return the first row of each run that is missing in the claimed ones.

        Args:
            lasts: The last claimed row of each run.
            ids: All claimed rows.
        """
        runs, numbers = list(lasts), list(lasts.values())
        rows = await self._run(_GAPS, runs=runs, lasts=numbers, ids=list(ids))
        return {row["run_id"]: Gap(**row) for row in rows}

    async def delete(self, ids: Sequence[int]) -> None:
        """Delete rows whose events are in the graph."""
        await self._run(_DELETE, ids=list(ids))

    async def count_attempt(self, row: int, *, early: bool) -> tuple[int, float]:
        """Count that a row was refused; return how often it was, and for how long it has waited.

        Args:
            row: The row.
            early: Whether it waits for a parent, which does not count.

        Returns:
            How often it was refused, and the seconds since it waits for a parent.
        """
        [found] = await self._run(_HELD, id=row, early=early)
        return found["attempts"], found["seconds"]

    async def wait(self, run_id: str, seconds: float) -> None:
        """Let a run wait for some time."""
        await self._mark(_LATER, run_id, secs=seconds)

    async def follow(self, run_id: str, row: int) -> None:
        """Let a run wait as long as one of its rows; if that waits for a parent, try at once."""
        await self._mark(_AS_ROW, run_id, row=row)

    async def park(self, run_id: str) -> None:
        """Let a run wait until somebody decides about its dead letter."""
        await self._mark("'infinity'", run_id)

    async def bury(self, row: int, code: str, reason: str) -> None:
        """Make a row a dead letter."""
        await self._run(_BURY, id=row, code=code, reason=reason)

    async def _mark(self, moment: LiteralString, run_id: str, **params: float) -> None:
        schema = sql.Identifier(self._schema)
        found = sql.SQL(moment).format(schema=schema)
        statement = sql.SQL(_MARK).format(schema=schema, moment=found)
        await self._conn.execute(statement, {"run": run_id, **params})

    async def _run(self, statement: LiteralString, **params: Any) -> list[dict[str, Any]]:
        query = sql.SQL(statement).format(sql.Identifier(self._schema))
        cursor = await self._conn.execute(query, params)
        return await cursor.fetchall() if cursor.description else []
