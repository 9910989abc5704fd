"""The tables in PostgreSQL: numbered files of SQL, each run once."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from psycopg import sql

from sidecypher_procedures.sync.errors import PostgresUnsuitable
from sidecypher_procedures.sync.postgres.connection import Connection, missing_schema

_FOLDER: Final = files("sidecypher_procedures.sync.postgres") / "migrations"

_HISTORY: Final = sql.SQL(
    "CREATE TABLE IF NOT EXISTS {}.migrations ("
    " version integer PRIMARY KEY, name text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
)


@dataclass(frozen=True, slots=True)
class Migration:
    """A file of SQL.

    Attributes:
        version: Its number, from 1 and without gaps.
        name: What it makes.
        statements: Its text.
    """

    version: int
    name: str
    statements: str


def migrations() -> list[Migration]:
    """Return the files in order."""
    names = sorted(each.name for each in _FOLDER.iterdir() if each.name.endswith(".sql"))
    return [
        Migration(int(name[:3]), name[4:-4], (_FOLDER / name).read_text("utf-8")) for name in names
    ]


async def init(conn: Connection, schema: str) -> list[str]:
    """Make the tables, or bring them to the version of this program, in one transaction.

    Returns:
        Names of the files that were run.

    Raises:
        PostgresUnsuitable: The tables are newer than this program.
    """
    async with conn.transaction():
        await conn.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('sidecypher init ' || %s, 0))", [schema]
        )
        # `IF NOT EXISTS` needs the right to create one even if it exists.
        if not await _exists(conn, "SELECT to_regnamespace(%s) IS NOT NULL AS found", schema):
            await conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        await conn.execute(_HISTORY.format(sql.Identifier(schema)))
        await conn.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(schema)))
        version = await _version(conn, schema)
        _check_not_newer(version)
        missing = [each for each in migrations() if each.version > version]
        for each in missing:
            await conn.execute(each.statements.encode())
            await conn.execute(
                "INSERT INTO migrations (version, name) VALUES (%s, %s)", [each.version, each.name]
            )
    return [each.name for each in missing]


async def check_schema(conn: Connection, schema: str) -> int:
    """Return the version of the tables.

    Raises:
        PostgresUnsuitable: They are missing, or of another version than this program's.
    """
    table = f"{schema}.migrations"
    if not await _exists(conn, "SELECT to_regclass(%s) IS NOT NULL AS found", table):
        raise missing_schema()
    version = await _version(conn, schema)
    _check_not_newer(version)
    if version < _latest():
        raise PostgresUnsuitable(
            f"The tables in PostgreSQL have version {version}, this program needs {_latest()}",
            hint="Run `sidecypher sync postgres init`.",
        )
    return version


def _latest() -> int:
    return migrations()[-1].version


def _check_not_newer(version: int) -> None:
    if version > _latest():
        raise PostgresUnsuitable(
            f"The tables in PostgreSQL have version {version}, this program knows {_latest()}",
            hint="Install the sidecypher that has made them, or a newer one.",
        )


async def _version(conn: Connection, schema: str) -> int:
    query = sql.SQL("SELECT coalesce(max(version), 0) AS version FROM {}.migrations")
    cursor = await conn.execute(query.format(sql.Identifier(schema)))
    [row] = await cursor.fetchall()
    return int(row["version"])


async def _exists(conn: Connection, query: str, name: str) -> bool:
    cursor = await conn.execute(query.encode(), [name])
    [row] = await cursor.fetchall()
    return bool(row["found"])
