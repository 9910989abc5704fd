"""The connection to PostgreSQL: opened, and with errors that say what to do."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from sidecypher_procedures.sync.errors import (
    PostgresUnavailable,
    PostgresUnsuitable,
    SyncError,
    SyncSettingsError,
)

Answer = TypeVar("Answer")
Connection = AsyncConnection[DictRow]

# The address may say otherwise. A dead connection is found even while no answer is awaited.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "application_name": "sidecypher",
    # Text of a database with the encoding SQL_ASCII would be bytes.
    "client_encoding": "UTF8",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# libpq has no code for what a server says before it accepts a connection.
_REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
    "password": (
        "PostgreSQL refuses the password",
        "Correct the password in SIDECYPHER_POSTGRES_URL.",
    ),
    "role": ("PostgreSQL does not know the user", "Correct SIDECYPHER_POSTGRES_URL."),
    "database": (
        "PostgreSQL has no such database",
        "Create it by `createdb`, or correct SIDECYPHER_POSTGRES_URL.",
    ),
    "pg_hba.conf": (
        "PostgreSQL accepts no connection of this user from here",
        "Add a line to `pg_hba.conf`, or correct SIDECYPHER_POSTGRES_URL.",
    ),
}


async def connect(url: str) -> Connection:
    """Return a connection whose statements are committed one by one outside of transactions.

    Raises:
        SyncSettingsError: The address cannot be used.
        PostgresUnavailable: PostgreSQL cannot be reached, or refuses the user.
    """
    conninfo = conninfo_of(url)
    try:
        conn = await AsyncConnection.connect(conninfo, autocommit=True, row_factory=dict_row)
    except psycopg.Error as error:
        raise _refusal(str(error)) from None
    # Each statement has to see what others have committed, whatever the server's default is.
    await conn.set_isolation_level(IsolationLevel.READ_COMMITTED)
    return conn


def conninfo_of(url: str) -> str:
    """Return the parameters of a connection, as libpq takes them.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    try:
        return make_conninfo(**{**_DEFAULTS, **conninfo_to_dict(url)})
    except psycopg.ProgrammingError:
        # Its text may hold the password.
        raise SyncSettingsError(
            "The address of PostgreSQL cannot be used",
            hint="Give postgresql://USER:PASSWORD@HOST:5432/DATABASE.",
        ) from None


def ask_postgres(url: str, work: Callable[[Connection], Awaitable[Answer]]) -> Answer:
    """Run an async function with a connection to PostgreSQL, and return what it returns.

    Raises:
        SyncSettingsError: The address cannot be used.
        PostgresUnavailable: PostgreSQL cannot be reached, or refuses a statement.
        PostgresUnsuitable: The tables are missing, or the role lacks rights.
    """

    async def opened() -> Answer:
        async with await connect(url) as conn:
            with translating():
                return await work(conn)

    return asyncio.run(opened())


def _refusal(text: str) -> PostgresUnavailable:
    """Return the error for what libpq says; its text may hold names, so it is not shown."""
    for word, (message, hint) in _REFUSALS.items():
        if "FATAL" in text and word in text and "starting up" not in text:
            return PostgresUnavailable(message, hint=hint)
    return PostgresUnavailable(
        "PostgreSQL cannot be reached",
        hint="See whether it runs, and whether SIDECYPHER_POSTGRES_URL names it.",
        retryable=True,
    )


@contextmanager
def translating() -> Iterator[None]:
    """Raise errors of PostgreSQL as those of sidecypher.

    Raises:
        PostgresUnavailable: PostgreSQL cannot be reached, or refuses a statement.
        PostgresUnsuitable: The tables are missing, or the role lacks rights.
    """
    try:
        yield
    except psycopg.Error as error:
        raise _translated(error) from None


@contextmanager
def translating_setup() -> Iterator[None]:
    """Raise errors about tables and rights as those of sidecypher, and leave others as they are.

    Raises:
        PostgresUnsuitable: The tables are missing, or the role lacks rights.
    """
    try:
        yield
    except psycopg.Error as error:
        if isinstance(found := _translated(error), PostgresUnsuitable):
            raise found from error
        raise


def _translated(error: psycopg.Error) -> SyncError:
    match error:
        case psycopg.errors.InsufficientPrivilege():
            return PostgresUnsuitable(
                "The role lacks a right in PostgreSQL",
                hint="Grant it what docs/postgres.md lists, or use another role.",
            )
        case psycopg.errors.UndefinedTable() | psycopg.errors.InvalidSchemaName():
            return missing_schema()
        case psycopg.errors.ReadOnlySqlTransaction():
            return PostgresUnsuitable(
                "PostgreSQL is a replica, which cannot be written to",
                hint="Name the primary in SIDECYPHER_POSTGRES_URL.",
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return PostgresUnavailable("PostgreSQL does not answer", retryable=True)
        case _:
            # What the server says may hold data.
            return PostgresUnavailable(
                f"PostgreSQL has refused a statement ({type(error).__name__})",
                hint="Look into the log of PostgreSQL.",
            )


def missing_schema() -> PostgresUnsuitable:
    """Return the error for tables that are not there."""
    return PostgresUnsuitable(
        "The tables of sidecypher are missing in PostgreSQL",
        hint="Run `sidecypher sync postgres init`.",
    )
