"""The lock that lets only one run at a time change a schema.

It is a node with a unique name and a lease. Its holder renews the lease while it works. If it
crashes, the lease expires and the next run takes the lock. Before it writes, a holder checks that
it still has the lock, in the writing transaction if there is one. Without one, it relies on the
lease while half of it is left: after each new constraint or index, Neo4j plans all statements
again, also the check.
"""

import getpass
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import neo4j

from sidecypher_schema.errors import LockHeld, LockLost, SchemaError
from sidecypher_schema.graph import Graph, afterwards

LEASE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2

_CONSTRAINT: Final[LiteralString] = (
    "CREATE CONSTRAINT sidecypher_migration_lock IF NOT EXISTS "
    "FOR (l:__SidecypherMigrationLock) REQUIRE l.name IS UNIQUE"
)
_HAS_CONSTRAINT: Final[LiteralString] = (
    "SHOW CONSTRAINTS YIELD name WHERE name = 'sidecypher_migration_lock' RETURN name"
)
# The first SET takes the write lock of the node, so that the values read after it are the latest.
_TAKE: Final[LiteralString] = """
    MERGE (l:__SidecypherMigrationLock {name: 'migrate'})
    SET l.asked = true
    WITH l, l.token IS NULL OR l.token = $token OR l.until < datetime.realtime() AS free
    FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
        SET l.token = $token, l.holder = $holder,
            l.until = datetime.realtime() + duration({milliseconds: $milliseconds}))
    RETURN free, l.holder AS holder, toString(l.until) AS until
"""
_RENEW: Final[LiteralString] = """
    MATCH (l:__SidecypherMigrationLock {name: 'migrate'})
    SET l.asked = true
    WITH l WHERE l.token = $token
    SET l.until = datetime.realtime() + duration({milliseconds: $milliseconds})
    RETURN count(*) AS mine
"""
_RELEASE: Final[LiteralString] = """
    MATCH (l:__SidecypherMigrationLock {name: 'migrate', token: $token}) DELETE l
"""


@dataclass(slots=True)
class Lock:
    """A lock that is held.

    Attributes:
        graph: Database of the lock.
        token: Identity of this holder.
        lease: Seconds until it expires unless it is renewed.
        renewed: Time when the lease last began, by the clock that also counts while the machine
            sleeps.
    """

    graph: Graph
    token: str
    lease: float
    renewed: float = 0.0

    def confirm(self, tx: neo4j.Transaction | None = None) -> None:
        """Check that the lock is still held, and renew the lease if that needs a query.

        Args:
            tx: Transaction that is about to commit; it always runs the query. Without one, half a
                lease is enough, since no other run can take the lock before the lease ends.

        Raises:
            LockLost: Another run has begun.
        """
        if tx is None:
            mine = self._is_fresh() or self.renew()
        else:
            mine = tx.run(_RENEW, self.parameters).single(strict=True)["mine"] > 0
        if not mine:
            raise LockLost("Another run has begun, since this one's lease had ended")

    def renew(self) -> bool:
        """Renew the lease, in its own transaction; return whether the lock is still held."""
        asked = time.time()
        mine = bool(self.graph.run(_RENEW, self.parameters)[0]["mine"])
        if mine:
            self.renewed = asked
        return mine

    def _is_fresh(self) -> bool:
        # A time in the future is from before the clock was set back.
        return 0 <= time.time() - self.renewed < self.lease / 2

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of its statements."""
        return {"token": self.token, "milliseconds": round(self.lease * 1000)}


@contextmanager
def held(graph: Graph, *, wait: float = 0.0, lease: float = LEASE_SECONDS) -> Iterator[Lock]:
    """Hold the lock while the block runs.

    Args:
        graph: The database to change.
        wait: Seconds to wait for another holder.
        lease: Seconds after which the lock of a crashed holder is free.

    Raises:
        LockHeld: Another run still holds it.
        GraphUnavailable: There is no connection.
    """
    lock = Lock(graph, str(uuid.uuid4()), lease)
    _take(lock, wait)
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(lock, ended), daemon=True)
    renewing.start()

    def release() -> None:
        ended.set()
        renewing.join()
        # If another run has taken the lock meanwhile, it keeps it: its token is different.
        graph.run(_RELEASE, {"token": lock.token})

    # If the lock cannot be released, the lease ends anyway.
    with afterwards(release):
        yield lock


def _take(lock: Lock, wait: float) -> None:
    deadline = time.monotonic() + wait
    # Only if the constraint is missing, since two runs that create it at once have a deadlock.
    # It is never dropped: before the next statement, two runs could then create a lock each.
    if not lock.graph.run(_HAS_CONSTRAINT):
        lock.graph.run(_CONSTRAINT)
    while True:
        [found] = lock.graph.run(_TAKE, {**lock.parameters, "holder": machine_user_and_process()})
        if found["free"]:
            # A node that its last holder deletes at this moment seems free, but is not updated.
            if lock.renew():
                return
            continue
        if time.monotonic() >= deadline:
            raise LockHeld(
                f"A run of {found['holder']} is in progress, at least until {found['until']}",
                retryable=True,
                details={"holder": found["holder"], "until": found["until"]},
            )
        time.sleep(_POLL_SECONDS)


def _renew(lock: Lock, ended: threading.Event) -> None:
    while not ended.wait(lock.lease / 3):
        # The run itself checks the lock before it writes.
        with suppress(SchemaError):
            lock.renew()


def machine_user() -> str:
    """Return the name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def machine_user_and_process() -> str:
    """Return the holder of a lock, for a person who waits for it."""
    return f"{machine_user()}@{socket.gethostname()}, process {os.getpid()}"
