"""Queue of webhook deliveries in a file of the home."""

import asyncio
import contextlib
import fcntl
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.webhooks.queue import LONGEST_PAUSE, Delivery

FILE: Final = "webhooks.sqlite"

MOST_BYTES: Final = 256 * 1024 * 1024
"""The largest size of the file; above it SQLite reports a full disk."""

LOCK_SECONDS: Final = 5.0
"""Seconds to wait for another sidecar that writes to the file. GitHub gives up after 10."""

_LOCK: Final = "webhooks.lock"
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


class HomeQueue:
    """The file as a queue. Of all sidecars of a home, one takes from it.

    The operating system releases the lock of a process that dies.
    """

    def __init__(self, home: Path) -> None:
        self.arrived = asyncio.Event()
        self._home = home
        self._spool = Spool(home / FILE)
        self._busy: set[str] = set()

    async def put(self, delivery: Delivery) -> None:
        """Store a delivery on the disk.

        Raises:
            WebhooksUnstored: It could not be stored.
        """
        await asyncio.to_thread(self._spool.put, delivery)
        self.arrived.set()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of the home; raise BlockingIOError if another process has it."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            self._busy.clear()
            os.close(lock)

    async def take(self) -> Delivery | None:
        """Return the first one that is due, of a repository that none is taken of."""
        found = await asyncio.to_thread(self._spool.first, LONGEST_PAUSE, list(self._busy))
        if found is not None:
            self._busy.add(found.repository)
        return found

    async def remove(self, delivery: Delivery) -> None:
        """Remove a delivery that was written or given up."""
        await asyncio.to_thread(self._spool.remove, delivery)

    async def put_off(self, delivery: Delivery, pause: float) -> None:
        """Count a failure; with a `pause`, also postpone the delivery behind others."""
        await asyncio.to_thread(self._spool.put_off, delivery, pause)

    async def rest(self, delivery: Delivery, pause: float) -> None:  # noqa: ARG002 - no other may
        """Wait for a pause in seconds."""
        await asyncio.sleep(pause)

    async def release(self, delivery: Delivery) -> None:
        """Let the next one of its repository be taken."""
        self._busy.discard(delivery.repository)

    async def keep(self) -> None:
        """Nothing is to be done: the lock is held."""

    def stop(self) -> None:
        """Close the file."""
        self._spool.close()
