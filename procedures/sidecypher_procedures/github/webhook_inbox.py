"""Queue of webhook deliveries in a file of the home, until they are in the graph."""

import asyncio
import contextlib
import fcntl
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, SidecarContext
from sidecypher_procedures.github.errors import GithubError, WebhooksUnstored
from sidecypher_procedures.github.settings import WebhookSettings

FILE: Final = "webhooks.sqlite"

MOST_BYTES: Final = 256 * 1024 * 1024
"""The largest size of the file; above it SQLite reports a full disk."""

LOCK_SECONDS: Final = 5.0
"""Seconds to wait for another sidecar that writes to the file. GitHub gives up after 10."""

_PAGE_BYTES: Final = 4096
_VERSION: Final = 2

# Deliveries of a version 1 have no repository, and are written in their order.
_UPGRADES: Final = (
    """
    CREATE TABLE delivery (
        place INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        event TEXT NOT NULL,
        payload BLOB NOT NULL,
        received_at TEXT NOT NULL,
        failures INTEGER NOT NULL DEFAULT 0,
        failed_at REAL,
        due REAL NOT NULL DEFAULT 0
    ) STRICT
    """,
    "ALTER TABLE delivery ADD COLUMN repository TEXT NOT NULL DEFAULT ''",
)

# `BETWEEN` ignores due times that are too far ahead, as after the clock was set back.
_FIRST: Final = """
    SELECT id, event, payload, received_at, failures, failed_at, repository FROM delivery
    WHERE due NOT BETWEEN :now AND :now + :longest
        AND repository NOT IN (SELECT value FROM json_each(:busy))
    ORDER BY place LIMIT 1
"""
_PUT_OFF: Final = """
    UPDATE delivery
    SET failures = failures + 1, failed_at = coalesce(failed_at, :now), due = :now + :pause,
        place = iif(:pause > 0, (SELECT max(place) + 1 FROM delivery), place)
    WHERE id = :id
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored delivery.

    Attributes:
        id: GitHub's id, which stays the same when it is sent again.
        payload: JSON of the fields that are kept for the graph.
        failures: Number of failures although Neo4j answered.
        failed_at: Time of the first of them, in seconds since 1970.
        repository: Id of its repository, whose deliveries are written in order; empty without one.
    """

    id: str
    event: str
    payload: bytes
    received_at: datetime
    failures: int = 0
    failed_at: float | None = None
    repository: str = ""


class Spool:
    """Queue in a SQLite file, created if missing. Thread-safe.

    Raises:
        WebhooksUnstored: Any method, if the file cannot be read or written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    def put(self, delivery: Delivery) -> None:
        """Store a delivery durably; an existing one is not changed."""
        values = (
            delivery.id,
            delivery.event,
            delivery.payload,
            delivery.received_at.isoformat(),
            delivery.repository,
        )
        with self._transaction() as file:
            file.execute(
                "INSERT INTO delivery (id, event, payload, received_at, repository) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                values,
            )

    def first(self, longest: float, busy: Iterable[str] = ()) -> Delivery | None:
        """Return the first delivery that is due and not of a `busy` repository, None without one.

        No delivery is postponed for more than `longest` seconds.
        """
        with self._transaction() as file:
            given = {"now": time.time(), "longest": longest, "busy": json.dumps([*busy])}
            row = file.execute(_FIRST, given).fetchone()
        if row is None:
            return None
        id_, event, payload, received_at, failures, failed_at, repository = row
        at = datetime.fromisoformat(received_at)
        return Delivery(id_, event, payload, at, failures, failed_at, repository)

    def remove(self, delivery: Delivery) -> None:
        """Remove a delivery that was written or given up."""
        with self._transaction() as file:
            file.execute("DELETE FROM delivery WHERE id = ?", (delivery.id,))

    def put_off(self, delivery: Delivery, pause: float) -> None:
        """Count a failure; with a `pause` in seconds, also postpone the delivery behind others."""
        with self._transaction() as file:
            file.execute(_PUT_OFF, {"id": delivery.id, "now": time.time(), "pause": pause})

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._opened is None:
                    self._opened = _open(self._file)
                with self._opened:
                    yield self._opened
            except sqlite3.DatabaseError as error:
                raise _unstored(str(error)) from None
            except OSError as error:
                raise _unstored(error.strerror or "it cannot be opened") from None


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite creates its other files with the mode of this one. An existing file must not be opened
    # and closed, which would release the locks of another connection in this process.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    file = sqlite3.connect(path, timeout=LOCK_SECONDS, check_same_thread=False)
    try:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = FULL")
        file.execute(f"PRAGMA max_page_count = {MOST_BYTES // _PAGE_BYTES}")
        with file:
            file.execute("BEGIN IMMEDIATE")
            _prepare(file)
    except BaseException:
        file.close()
        raise
    return file


def _prepare(file: sqlite3.Connection) -> None:
    [version] = file.execute("PRAGMA user_version").fetchone()
    if version > _VERSION:
        raise _unstored("a newer version of sidecypher has written it")
    for upgrade in _UPGRADES[version:]:
        file.execute(upgrade)
    if version < _VERSION:
        file.execute(f"PRAGMA user_version = {_VERSION}")


def _unstored(reason: str) -> WebhooksUnstored:
    return WebhooksUnstored(f"Deliveries cannot be stored in `{FILE}`: {reason}")


KEEP_SECONDS: Final = 3600.0
"""Seconds for which a delivery is retried although Neo4j and a sidecar have answered."""

MOST_FAILURES: Final = 3
"""Number of failures, although Neo4j answers, after which other deliveries go first."""

POLL_SECONDS: Final = 0.5
"""Interval of polling the file for deliveries of other sidecars, and of trying the lock."""

MOST_AT_A_TIME: Final = 8
"""Most deliveries that are written at a time, each of another repository."""

LONGEST_PAUSE: Final = 30.0
_SHORTEST_PAUSE: Final = 0.5
_LOCK: Final = "webhooks.lock"

# A stopping sidecar has ended the call, no sidecar could begin it, its outcome is unknown, or it
# has timed out.
_NO_OUTCOME: Final = re.compile(r"\[SC-(?:207|21[0-3])\]")

_NOT_BEGUN: Final = re.compile(r"\[SC-21[01]\]")
"""Errors of calls that no sidecar began: there is none, or all are busy."""

# The operator can fix these: the plugin is missing, or the user may not call the procedure.
_NOT_SET_UP: Final = ("Neo.ClientError.Procedure.ProcedureNotFound", "Neo.ClientError.Security.")

_TIMED_OUT: Final = "Neo.ClientError.Transaction.TransactionTimedOut"
"""Prefix of Neo4j's codes for transactions that timed out."""

_RECEIVE: Final = "CALL github.receiveWebhook($id, $event, $payload, $receivedAt)"


class Inbox:
    """The queue of a sidecar, with an event for new deliveries; one per sidecar."""

    def __init__(self) -> None:
        self._spool: Spool | None = None
        self.arrived = asyncio.Event()

    def spool(self, home: Path) -> Spool:
        """Return the queue in a home."""
        if self._spool is None:
            self._spool = Spool(home / FILE)
        return self._spool

    async def put(self, delivery: Delivery, home: Path) -> None:
        """Store a delivery durably, to be written to the graph later.

        Raises:
            WebhooksUnstored: It could not be stored.
        """
        await asyncio.to_thread(self.spool(home).put, delivery)
        self.arrived.set()

    def stop(self) -> None:
        """Close the file."""
        if self._spool is not None:
            self._spool.close()


async def write_all(context: SidecarContext) -> None:
    """Write stored deliveries to the graph for as long as the sidecar runs.

    Of all sidecars of a home, the one with the lock writes, in the order of the file. The operating
    system releases the lock of a process that dies. A sidecar may be killed between writing a
    delivery and removing it; the graph then recognises its id.
    """
    while True:
        try:
            if context.resource(WebhookSettings).key is None:
                return
            with _lock(context.home):
                await _write_deliveries(context)
        except BlockingIOError:
            await asyncio.sleep(POLL_SECONDS)
        except (GithubError, OSError) as error:
            reason = error.message if isinstance(error, GithubError) else error.strerror
            context.log.error("webhooks not written", reason=reason)  # noqa: TRY400 - the same
            await asyncio.sleep(LONGEST_PAUSE)


@contextlib.contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Hold the lock for writing; raise BlockingIOError if another process has it."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


async def _write_deliveries(context: SidecarContext) -> None:
    """Write deliveries, those of each repository in order, of several repositories at a time."""
    inbox = context.resource(Inbox)
    spool = inbox.spool(context.home)
    pauses: dict[str, float] = {}
    writing: dict[str, asyncio.Task[None]] = {}
    try:
        while True:
            inbox.arrived.clear()
            for repository in [each for each, task in writing.items() if task.done()]:
                writing.pop(repository).result()
            delivery = None
            if len(writing) < MOST_AT_A_TIME:
                delivery = await asyncio.to_thread(spool.first, LONGEST_PAUSE, list(writing))
            if delivery is None:
                await _wait(inbox.arrived, POLL_SECONDS)
                continue
            task = asyncio.create_task(_handle(context, spool, delivery, pauses))
            task.add_done_callback(lambda _: inbox.arrived.set())
            writing[delivery.repository] = task
    finally:
        for task in writing.values():
            task.cancel()
        await asyncio.gather(*writing.values(), return_exceptions=True)


async def _handle(
    context: SidecarContext, spool: Spool, delivery: Delivery, pauses: dict[str, float]
) -> None:
    """Try to write a delivery; after a failure, wait for a pause of its repository."""
    error = await _write(delivery, context.resource(BoltClient))
    if error is None:
        await asyncio.to_thread(spool.remove, delivery)
        pauses.pop(delivery.repository, None)
        return
    if not _is_transient(error) or (_has_answered(error) and _is_old(delivery)):
        context.log.error("webhook given up", **_facts(delivery, error))
        await asyncio.to_thread(spool.remove, delivery)
        return
    context.log.warning("webhook waits", **_facts(delivery, error))
    pause = min(2 * pauses.get(delivery.repository, 0.0) or _SHORTEST_PAUSE, LONGEST_PAUSE)
    pauses[delivery.repository] = pause
    if not _has_answered(error):
        await asyncio.sleep(pause)
    elif delivery.failures + 1 < MOST_FAILURES:
        await asyncio.to_thread(spool.put_off, delivery, 0.0)
        await asyncio.sleep(pause)
    else:
        late = min(_SHORTEST_PAUSE * 2.0**delivery.failures, LONGEST_PAUSE)
        await asyncio.to_thread(spool.put_off, delivery, late)
        pauses.pop(delivery.repository)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def _write(delivery: Delivery, neo4j: BoltClient) -> Exception | None:
    """Write a delivery to the graph; return the error if that failed."""
    try:
        await neo4j.run(
            _RECEIVE,
            id=delivery.id,
            event=delivery.event,
            payload=delivery.payload.decode(),
            receivedAt=delivery.received_at,
        )
    # Any error: the deliveries behind this one must not be blocked.
    except Exception as error:  # noqa: BLE001
        return error
    return None


def _is_old(delivery: Delivery) -> bool:
    return delivery.failed_at is not None and time.time() - delivery.failed_at >= KEEP_SECONDS


def _has_answered(error: Exception) -> bool:
    """Return whether Neo4j and a sidecar have run the call, so the delivery itself failed."""
    if isinstance(error, CypherError):
        is_set_up = not error.neo4j_code.startswith(_NOT_SET_UP)
        return is_set_up and _NOT_BEGUN.match(error.message) is None
    return isinstance(error, Neo4jUnavailable) and "neo4jCode" in error.details


def _is_transient(error: Exception) -> bool:
    if isinstance(error, Neo4jUnavailable):
        return True
    if not isinstance(error, CypherError):
        return False
    return (
        error.retryable
        or error.neo4j_code.startswith((_TIMED_OUT, *_NOT_SET_UP))
        or _NO_OUTCOME.match(error.message) is not None
    )


def _facts(delivery: Delivery, error: Exception) -> dict[str, str]:
    return {"delivery": delivery.id, "webhook": delivery.event, "reason": _reason(error)}


def _reason(error: Exception) -> str:
    if isinstance(error, CypherError):
        return error.neo4j_code
    return error.code if isinstance(error, Neo4jUnavailable) else type(error).__name__
