"""References between drafts in PostgreSQL and runs in the graph, looked up in pages."""

from collections.abc import Iterator
from typing import Any, Final, LiteralString

from psycopg import sql
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from sidecypher import Context
from sidecypher_procedures.sync.postgres.connection import conninfo_of, translating
from sidecypher_procedures.sync.postgres.drafts import EVENT_PREFIX
from sidecypher_procedures.sync.postgres.rows import BrokenReference, DraftRow
from sidecypher_procedures.sync.postgres.settings import PostgresSettings, postgres_url

_PAGE: Final = 500
_WAIT_SECONDS: Final = 5.0

_OF_RUN: Final = """
    SELECT id, content_type, content, metadata, status, version, created_by, created_at, updated_at
    FROM {}.drafts WHERE workflow_run_id = %(run)s AND id > %(after)s ORDER BY id LIMIT %(page)s
"""
_ALL: Final = """
    SELECT id, workflow_run_id FROM {}.drafts WHERE id > %(after)s ORDER BY id LIMIT %(page)s
"""
_GONE: Final = """
    SELECT id FROM unnest(%(ids)s::text[]) AS named (id)
    WHERE NOT EXISTS (SELECT FROM {}.drafts AS d WHERE d.id = named.id)
"""
_MISSING: Final = """
    UNWIND $ids AS id
    WITH DISTINCT id
    WHERE NOT EXISTS { (:WorkflowRun {id: id}) } AND NOT EXISTS { (:ArchivedRun {id: id}) }
    RETURN id
"""
_EVENTS: Final = """
    MATCH (e:Event)
    WHERE e.id STARTS WITH $prefix AND e.id > $after AND e.deletedAt IS NULL
    RETURN e.id AS id, e.runId AS runId ORDER BY e.id LIMIT $page
"""


class DraftPool:
    """Connections of a sidecar to PostgreSQL, opened when they are needed.

    Raises:
        SyncSettingsError: No PostgreSQL is named, or its address cannot be used.
    """

    def __init__(self) -> None:
        self._schema = sql.Identifier(PostgresSettings.load().namespace)
        self._pool: ConnectionPool[Any] = ConnectionPool(
            conninfo_of(postgres_url()),
            min_size=0,
            max_size=4,
            timeout=_WAIT_SECONDS,
            kwargs={"autocommit": True, "row_factory": dict_row},
            open=True,
        )

    def stop(self) -> None:
        """Close the connections."""
        self._pool.close()

    def run(self, statement: LiteralString, **params: Any) -> list[DictRow]:
        """Run a statement; return its rows.

        Raises:
            PostgresUnavailable: PostgreSQL does not answer.
            PostgresUnsuitable: The tables are missing, or the role lacks rights.
        """
        with translating(), self._pool.connection() as conn:
            rows: list[DictRow] = conn.execute(
                sql.SQL(statement).format(self._schema), params
            ).fetchall()
        return rows

    def paged(self, statement: LiteralString, **params: Any) -> Iterator[list[DictRow]]:
        """Yield the pages of a statement that lists rows in the order of their ids."""
        after = ""
        while page := self.run(statement, after=after, page=_PAGE, **params):
            yield page
            after = page[-1]["id"]


def drafts_of(pool: DraftPool, run_id: str) -> Iterator[DraftRow]:
    """Yield the drafts of a run, the oldest first."""
    for page in pool.paged(_OF_RUN, run=run_id):
        yield from (DraftRow(**row) for row in page)


def broken_references(ctx: Context, pool: DraftPool) -> Iterator[BrokenReference]:
    """Yield drafts whose run is missing, then runs whose draft is gone."""
    for page in pool.paged(_ALL):
        ids = [row["workflow_run_id"] for row in page]
        missing = {record["id"] for record in ctx.run(_MISSING, ids=ids)}
        for row in page:
            if row["workflow_run_id"] in missing:
                yield BrokenReference(
                    draft_id=row["id"], run_id=row["workflow_run_id"], missing="run"
                )
    for named in _named_drafts(ctx):
        gone = {row["id"] for row in pool.run(_GONE, ids=[*named])}
        for draft_id in named:
            if draft_id in gone:
                yield BrokenReference(draft_id=draft_id, run_id=named[draft_id], missing="draft")


def _named_drafts(ctx: Context) -> Iterator[dict[str, str]]:
    """Yield pages of the drafts that events name, and the run of the first such event."""
    after, last = EVENT_PREFIX, ""
    while records := list(ctx.run(_EVENTS, prefix=EVENT_PREFIX, after=after, page=_PAGE)):
        named: dict[str, str] = {}
        for record in records:
            draft_id = record["id"].removeprefix(EVENT_PREFIX).partition("/")[0]
            if draft_id != last:
                named.setdefault(draft_id, record["runId"])
            last = draft_id
        after = records[-1]["id"]
        yield named
