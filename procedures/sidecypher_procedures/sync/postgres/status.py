"""The state of the outbox."""

from dataclasses import dataclass
from typing import Final

from psycopg import sql

from sidecypher_procedures.sync.postgres.connection import Connection

WORKER: Final = "sidecypher worker"
"""The name under which PostgreSQL lists the connections of workers."""

_STATUS: Final = sql.SQL("""
    SELECT
        count(*) FILTER (WHERE next_at < 'infinity') AS waiting,
        coalesce(extract(
            epoch FROM clock_timestamp() - min(added_at) FILTER (WHERE next_at < 'infinity')
        ), 0)::float8 AS oldest_seconds,
        count(*) FILTER (WHERE dead_at IS NOT NULL) AS dead,
        count(*) FILTER (WHERE next_at = 'infinity' AND dead_at IS NULL) AS behind,
        count(DISTINCT run_id) FILTER (WHERE next_at = 'infinity') AS parked,
        (
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = {}
        ) AS workers
    FROM {}.outbox
""")


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """The state of the outbox.

    Attributes:
        waiting: Events that are not in the graph yet, without those of parked runs.
        oldest_seconds: Age of the oldest of these; 0 without any.
        dead: Dead letters.
        behind: Events that wait behind a dead letter of their run.
        parked: Runs with a dead letter.
        workers: Workers that are connected to this database.
    """

    waiting: int
    oldest_seconds: float
    dead: int
    behind: int
    parked: int
    workers: int


async def read_status(conn: Connection, schema: str) -> OutboxStatus:
    """Return the state of the outbox."""
    query = _STATUS.format(sql.Literal(WORKER), sql.Identifier(schema))
    [row] = await (await conn.execute(query)).fetchall()
    return OutboxStatus(**row | {"oldest_seconds": round(max(0.0, row["oldest_seconds"]), 3)})
