"""Deliveries that were answered and are not in the graph yet: an SQLite file in the home.

All sidecars of a home use the same file. What is in it survives their end, whatever ends them.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sidecypher_procedures.github.errors import WebhooksUnstored

FILE: Final = "webhooks.sqlite"

MOST_BYTES: Final = 256 * 1024 * 1024
"""How large the file may become; beyond it SQLite calls the disk full."""

LOCK_SECONDS: Final = 5.0
"""How long one sidecar waits for another that writes to the file: GitHub gives up after 10."""

_PAGE_BYTES: Final = 4096
_VERSION: Final = 1

_TABLE: Final = """
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
"""

# After the clock was set back, nothing waits for longer than it was to wait at most.
_FIRST: Final = """
    SELECT id, event, payload, received_at, failures, failed_at FROM delivery
    WHERE due NOT BETWEEN :now AND :now + :longest ORDER BY place LIMIT 1
"""
_PUT_OFF: Final = """
    UPDATE delivery
    SET failures = failures + 1, failed_at = coalesce(failed_at, :now), due = :now + :pause,
        place = iif(:pause > 0, (SELECT max(place) + 1 FROM delivery), place)
    WHERE id = :id
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to be written of one delivery.

    Attributes:
        id: GitHub's id of it, which it keeps when it is sent again.
        payload: JSON, what the graph is told of it.
        failures: How often it failed though Neo4j answered.
        failed_at: When it first did, in seconds since 1970.
    """

    id: str
    event: str
    payload: bytes
    received_at: datetime
    failures: int = 0
    failed_at: float | None = None


class Spool:
    """The file; its methods may be called on any thread.

    Args:
        file: Its path; it is made when it is missing.

    Raises:
        WebhooksUnstored: Each method does when the file cannot be read or written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    def put(self, delivery: Delivery) -> None:
        """Store a delivery so that it survives a power cut; one that is stored stays as it is."""
        values = (
            delivery.id,
            delivery.event,
            delivery.payload,
            delivery.received_at.isoformat(),
        )
        with self._transaction() as file:
            file.execute(
                "INSERT INTO delivery (id, event, payload, received_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (id) DO NOTHING",
                values,
            )

    def first(self, longest: float) -> Delivery | None:
        """Return the first delivery that may be tried now, None if there is none.

        Args:
            longest: The seconds for which one is put off at most.
        """
        with self._transaction() as file:
            row = file.execute(_FIRST, {"now": time.time(), "longest": longest}).fetchone()
        if row is None:
            return None
        id_, event, payload, received_at, failures, failed_at = row
        at = datetime.fromisoformat(received_at)
        return Delivery(id_, event, payload, at, failures, failed_at)

    def remove(self, delivery: Delivery) -> None:
        """Forget a delivery: it is written, or given up."""
        with self._transaction() as file:
            file.execute("DELETE FROM delivery WHERE id = ?", (delivery.id,))

    def put_off(self, delivery: Delivery, pause: float) -> None:
        """Note that a delivery has failed.

        Args:
            delivery: The delivery.
            pause: The seconds for which it goes behind all others; 0 leaves it where it is.
        """
        with self._transaction() as file:
            file.execute(_PUT_OFF, {"id": delivery.id, "now": time.time(), "pause": pause})

    def close(self) -> None:
        """Close the file, which the next use opens again."""
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
    # SQLite gives the files beside it the mode of this one. A file that is there must not be opened
    # and closed: that would end the locks that another connection of this process has on it.
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
    if version == 0:
        file.execute(_TABLE)
        file.execute(f"PRAGMA user_version = {_VERSION}")


def _unstored(reason: str) -> WebhooksUnstored:
    return WebhooksUnstored(f"Deliveries cannot be stored in `{FILE}`: {reason}")
