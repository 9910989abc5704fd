"""A PostgreSQL server for the benchmark, with an equivalent append to a run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg

_SCHEMA: Final = """
    CREATE TABLE run (id text PRIMARY KEY, last_seq bigint NOT NULL);
    CREATE TABLE event (
        id text PRIMARY KEY, run_id text NOT NULL REFERENCES run, seq bigint NOT NULL,
        type text NOT NULL, content text, created_at timestamptz NOT NULL,
        content_digest text NOT NULL, digest text NOT NULL, UNIQUE (run_id, seq)
    );
    INSERT INTO run VALUES ('benchmark', 0);
"""
# The row of the run is the lock, as its node is in Neo4j.
_APPEND: Final = """
    WITH held AS (
        UPDATE run SET last_seq = last_seq + 1 WHERE id = 'benchmark' RETURNING id, last_seq
    )
    INSERT INTO event
    SELECT gen_random_uuid(), id, last_seq, 'userMessage', %s, clock_timestamp(), %s, %s FROM held
"""


class Postgresql:
    """A server with an empty run.

    Args:
        connection: Connection to it; each statement is its own transaction.

    Attributes:
        url: Its address.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        connection.execute(_SCHEMA)
        found = connection.info
        self.url = f"postgresql://{found.user}@/{found.dbname}?host={found.host}"

    def append(self, content: str) -> None:
        """Append an event to the run, and wait until it is on the disk."""
        self._connection.execute(_APPEND, (content, 64 * "0", 64 * "0"))


@contextmanager
def postgresql() -> Iterator[Postgresql | None]:
    """Start a server with default settings in a temporary folder; None if not installed."""
    programs = _programs()
    if programs is None:
        yield None
        return
    # It refuses to run as root; its package has created a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    with TemporaryDirectory(prefix="sidecypher-bench-") as folder:
        if user is not None:
            shutil.chown(folder, user)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "--pgdata", f"{folder}/data", *arguments]
            subprocess.run(
                command, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True, timeout=60
            )

        run("initdb", "--username", "benchmark", "--auth", "trust")
        options = f"-k {folder} -c listen_addresses=''"
        run("pg_ctl", "--wait", "--log", f"{folder}/log", "--options", options, "start")
        try:
            given = {"host": folder, "user": "benchmark", "dbname": "postgres"}
            with psycopg.connect(**given, autocommit=True) as connection:
                yield Postgresql(connection)
        finally:
            run("pg_ctl", "--wait", "--mode", "fast", "stop")


def _programs() -> Path | None:
    """Return the folder of the server's programs; Debian does not put it on the PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
