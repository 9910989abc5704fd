"""Checks of `sidecypher doctor`: PostgreSQL, its tables, and what waits in the outbox."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sidecypher import CannotCheck, Check, CheckContext, Finding
from sidecypher_procedures.sync.errors import SyncError
from sidecypher_procedures.sync.postgres.settings import PostgresSettings, postgres_url

if TYPE_CHECKING:
    from sidecypher_procedures.sync.postgres.status import OutboxStatus

_OLDEST_MAJOR: Final = 15
"""The oldest major version of PostgreSQL that is tested."""

_OLD_SECONDS: Final = 60.0
"""With an older event that is not in the graph, the worker is too slow or does not run."""

_NONE: Final = Finding.ok("none is named")

_Answer = TypeVar("_Answer")


def look_at_connection(_ctx: CheckContext) -> Finding:
    """Check that PostgreSQL answers, and its version."""
    if PostgresSettings.load().url is None:
        return _NONE
    try:
        version = _ask(_major)
    except SyncError as error:
        return _failed(error)
    if version < _OLDEST_MAJOR:
        return Finding.warn(
            f"PostgreSQL {version} is older than {_OLDEST_MAJOR}, the oldest that is tested",
            "Use a newer PostgreSQL.",
        )
    return Finding.ok(f"PostgreSQL {version} answers")


def look_at_tables(_ctx: CheckContext) -> Finding:
    """Check that the tables have the version of this program."""
    if PostgresSettings.load().url is None:
        return _NONE
    try:
        return Finding.ok(f"version {_ask(_schema_version)}")
    except SyncError as error:
        return _failed(error)


def look_at_lag(_ctx: CheckContext) -> Finding:
    """Check that workers keep up with what is added."""
    if PostgresSettings.load().url is None:
        return _NONE
    found = _asked_status()
    text = f"{found.waiting} events wait, the oldest for {found.oldest_seconds:.0f} s"
    if not found.workers:
        return Finding.warn(f"{text}; no worker runs", "Run `sidecypher sync postgres run`.")
    if found.oldest_seconds > _OLD_SECONDS:
        return Finding.warn(text, "Look for `sync.away` in the worker's log.")
    return Finding.ok(text)


def look_at_dead_letters(_ctx: CheckContext) -> Finding:
    """Check that every event could be written."""
    if PostgresSettings.load().url is None:
        return _NONE
    found = _asked_status()
    if found.dead:
        return Finding.warn(
            f"{found.dead} events, {found.behind} wait behind them",
            "`sidecypher sync postgres dead` says why.",
        )
    return Finding.ok("no event")


def _failed(error: SyncError) -> Finding:
    return Finding.error(f"{error.message} [{error.code}]", error.hint or "Start it again.")


def _asked_status() -> "OutboxStatus":
    try:
        return _ask(_status)
    except SyncError as error:
        raise CannotCheck(error.message, "See the checks `connection` and `tables`.") from None


async def _major(conn: Any, _schema: str) -> int:
    return int(conn.info.server_version) // 10_000


async def _schema_version(conn: Any, schema: str) -> int:
    from sidecypher_procedures.sync.postgres.schema import check_schema  # noqa: PLC0415

    return await check_schema(conn, schema)


async def _status(conn: Any, schema: str) -> "OutboxStatus":
    from sidecypher_procedures.sync.postgres.status import read_status  # noqa: PLC0415

    return await read_status(conn, schema)


def _ask(work: Callable[[Any, str], Awaitable[_Answer]]) -> _Answer:
    # Before the import that needs the library, since its error says what to install.
    url = postgres_url()
    from sidecypher_procedures.sync.postgres.connection import ask_postgres  # noqa: PLC0415

    schema = PostgresSettings.load().namespace
    return ask_postgres(url, lambda conn: work(conn, schema))


CHECKS: Final = (
    Check("PostgreSQL", "connection", look_at_connection),
    Check("PostgreSQL", "tables", look_at_tables),
    Check("PostgreSQL", "lag", look_at_lag),
    Check("PostgreSQL", "dead letters", look_at_dead_letters),
)
