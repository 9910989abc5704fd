"""The worker: it writes the events of the outbox to the graph, each once and in order."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
from psycopg import sql

from sidecypher import BoltClient
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.errors import PostgresUnavailable
from sidecypher_procedures.sync.postgres.batch import Batch
from sidecypher_procedures.sync.postgres.connection import Connection, connect, translating
from sidecypher_procedures.sync.postgres.queue import Queue
from sidecypher_procedures.sync.postgres.schema import check_schema
from sidecypher_procedures.sync.postgres.settings import PostgresSettings
from sidecypher_procedures.sync.postgres.status import WORKER
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.writing import Away

_SHORTEST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0


class Worker:
    """Writes the events of a PostgreSQL to Neo4j, until it is told to stop.

    Several workers may run at once. A run is written by one of them at a time.

    Args:
        url: The address of PostgreSQL.
        client: A client of Neo4j.
        log: Gets events and facts, never data of a user.

    Attributes:
        counts: What it has done so far.
    """

    def __init__(self, url: str, client: BoltClient, log: Any) -> None:
        self.counts = Counts()
        self._url = url
        self._client = client
        self._log = log
        self._settings = PostgresSettings.load()
        self._limits = SyncSettings.load()
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Let `run` return after the batch that it is writing."""
        self._stop.set()

    async def run(self) -> None:
        """Write events until `stop` is called.

        Raises:
            PostgresUnsuitable: The tables are of another version, or the role lacks rights.
        """
        pause = _SHORTEST_PAUSE
        while not self._stop.is_set():
            try:
                async with await connect(self._url) as conn:
                    with translating():
                        await check_schema(conn, self._settings.namespace)
                        await self._listen(conn)
                        pause = _SHORTEST_PAUSE
                        await self._write_all(conn)
            except PostgresUnavailable as error:
                self._log.warning("sync.postgres_away", why=error.message, pause=pause)
                await self._rest(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _listen(self, conn: Connection) -> None:
        await conn.execute(sql.SQL("SET application_name = {}").format(WORKER))
        # A worker that is paused keeps its connection, and would keep its locks.
        await conn.execute(
            sql.SQL("SET idle_in_transaction_session_timeout = {}").format(
                int(1000 * self._limits.lease_seconds)
            )
        )
        channel = sql.Identifier(f"{self._settings.namespace}.outbox")
        await conn.execute(sql.SQL("LISTEN {}").format(channel))

    async def _write_all(self, conn: Connection) -> None:
        """Write batches, and wait for more when there is nothing to do."""
        pause = _SHORTEST_PAUSE
        while not self._stop.is_set():
            try:
                async with conn.transaction(), self._beating(conn):
                    batch = Batch(
                        Queue(conn, self._settings.namespace),
                        client=self._client,
                        limits=self._limits,
                        counts=self.counts,
                        log=self._log,
                    )
                    has_done = await batch.write()
            except Away as away:
                # Nothing is locked meanwhile.
                self.counts.failures += 1
                self._log.warning("sync.away", why=str(away), pause=pause)
                await self._rest(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _SHORTEST_PAUSE
            if not has_done:
                await self._wait(conn)

    @contextlib.asynccontextmanager
    async def _beating(self, conn: Connection) -> AsyncIterator[None]:
        """Show PostgreSQL that this worker runs, while its transaction waits for Neo4j."""
        done = asyncio.Event()

        async def beat() -> None:
            # What has ended the transaction is raised by its own next statement.
            with contextlib.suppress(psycopg.Error):
                while not done.is_set():
                    await conn.execute("SELECT 1")
                    await _within(self._limits.lease_seconds / 3, done)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            # Not cancelled: within a statement, that would end the transaction.
            done.set()
            await beating

    async def _wait(self, conn: Connection) -> None:
        """Wait for a notification, for the time of the next poll, or for `stop`."""

        async def notified() -> None:
            # A notification may be lost, with the connection or in a pooler.
            async for _ in conn.notifies(timeout=self._settings.poll_seconds, stop_after=1):
                pass

        tasks = [asyncio.create_task(each) for each in (notified(), self._stop.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if not tasks[0].cancelled():
            # Raises what ended the connection.
            await tasks[0]

    async def _rest(self, seconds: float) -> None:
        await _within(seconds * random.uniform(0.5, 1.0), self._stop)  # noqa: S311 - no secret


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, for at most so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
