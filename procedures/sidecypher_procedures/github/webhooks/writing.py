"""Deliveries on their way from the file of the home into the graph, one after the other."""

import asyncio
import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, WebhookContext
from sidecypher_procedures.github.errors import GithubError
from sidecypher_procedures.github.webhooks.settings import WebhookSettings
from sidecypher_procedures.github.webhooks.spool import FILE, Delivery, Spool

KEEP_SECONDS: Final = 3600.0
"""How long a delivery is tried again though Neo4j and a sidecar have answered."""

MOST_FAILURES: Final = 3
"""How often a delivery may fail, though Neo4j answers, before the others go first."""

LOOK_SECONDS: Final = 0.5
"""How often the file is looked at for what other sidecars have stored, and the lock is tried."""

LONGEST_PAUSE: Final = 30.0
_SHORTEST_PAUSE: Final = 0.5
_LOCK: Final = "webhooks.lock"

# A sidecar that stops has ended the call, or none could begin it, or nobody knows how it ended, or
# its time was used up.
_AWAY: Final = re.compile(r"\[SC-(?:207|21[0-3])\]")

_NOT_BEGUN: Final = re.compile(r"\[SC-21[01]\]")
"""There is no sidecar that could begin the call, or all are busy."""

# What whoever runs Neo4j can mend: there is no plugin, or the user may not call the procedure.
_NOT_SET_UP: Final = ("Neo.ClientError.Procedure.ProcedureNotFound", "Neo.ClientError.Security.")

_TOO_LATE: Final = "Neo.ClientError.Transaction.TransactionTimedOut"
"""Neo4j's codes for a transaction that took too long begin so."""

_RECEIVE: Final = "CALL github.receiveWebhook($id, $event, $payload, $receivedAt)"


class Inbox:
    """The file of the home as this sidecar uses it; one per sidecar."""

    def __init__(self) -> None:
        self._spool: Spool | None = None
        self.came = asyncio.Event()

    def spool(self, home: Path) -> Spool:
        """Return the file of a home."""
        if self._spool is None:
            self._spool = Spool(home / FILE)
        return self._spool

    async def put(self, delivery: Delivery, home: Path) -> None:
        """Store a delivery; when this returns, it will be written whatever happens.

        Raises:
            WebhooksUnstored: It is not stored.
        """
        await asyncio.to_thread(self.spool(home).put, delivery)
        self.came.set()

    def stop(self) -> None:
        """Close the file."""
        if self._spool is not None:
            self._spool.close()


async def write_all(context: WebhookContext) -> None:
    """Write what is stored, and what will be, for as long as the sidecar runs.

    Of all sidecars of a home one writes, in the order of the file: the one that has the lock, which
    the operating system takes from a process that dies. A delivery that was written and is still
    in the file, because a sidecar was killed in between, is known to the graph by its id.
    """
    while True:
        try:
            if context.resource(WebhookSettings).key is None:
                return
            with _lock(context.home):
                await _write_as_they_come(context)
        except BlockingIOError:
            await asyncio.sleep(LOOK_SECONDS)
        except (GithubError, OSError) as error:
            reason = error.message if isinstance(error, GithubError) else error.strerror
            context.log.error("webhooks not written", reason=reason)  # noqa: TRY400 - the same
            await asyncio.sleep(LONGEST_PAUSE)


@contextlib.contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Be the one that writes; raise BlockingIOError while another one is."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


async def _write_as_they_come(context: WebhookContext) -> None:
    inbox = context.resource(Inbox)
    spool = inbox.spool(context.home)
    pause = 0.0
    while True:
        inbox.came.clear()
        delivery = await asyncio.to_thread(spool.first, LONGEST_PAUSE)
        if delivery is None:
            await _wait(inbox.came, LOOK_SECONDS)
            continue
        error = await _write(delivery, context.resource(BoltClient))
        if error is None:
            await asyncio.to_thread(spool.remove, delivery)
            pause = 0.0
            continue
        if not _may_heal(error) or (_has_answered(error) and _is_old(delivery)):
            context.log.error("webhook given up", **_facts(delivery, error))
            await asyncio.to_thread(spool.remove, delivery)
            continue
        context.log.warning("webhook waits", **_facts(delivery, error))
        pause = min(2 * pause or _SHORTEST_PAUSE, LONGEST_PAUSE)
        if not _has_answered(error):
            await asyncio.sleep(pause)
        elif delivery.failures + 1 < MOST_FAILURES:
            await asyncio.to_thread(spool.put_off, delivery, 0.0)
            await asyncio.sleep(pause)
        else:
            late = min(_SHORTEST_PAUSE * 2.0**delivery.failures, LONGEST_PAUSE)
            await asyncio.to_thread(spool.put_off, delivery, late)
            pause = 0.0


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def _write(delivery: Delivery, neo4j: BoltClient) -> Exception | None:
    """Write it, unless the graph knows that it was written before; return why it was not."""
    try:
        await neo4j.run(
            _RECEIVE,
            id=delivery.id,
            event=delivery.event,
            payload=delivery.payload.decode(),
            receivedAt=delivery.received_at,
        )
    # Whatever it is, the deliveries behind this one must not wait for it.
    except Exception as error:  # noqa: BLE001
        return error
    return None


def _is_old(delivery: Delivery) -> bool:
    return delivery.failed_at is not None and time.time() - delivery.failed_at >= KEEP_SECONDS


def _has_answered(error: Exception) -> bool:
    """Tell whether Neo4j and a sidecar have tried: then it is the delivery's own failure."""
    if isinstance(error, CypherError):
        is_set_up = not error.neo4j_code.startswith(_NOT_SET_UP)
        return is_set_up and _NOT_BEGUN.match(error.message) is None
    return isinstance(error, Neo4jUnavailable) and "neo4jCode" in error.details


def _may_heal(error: Exception) -> bool:
    if isinstance(error, Neo4jUnavailable):
        return True
    if not isinstance(error, CypherError):
        return False
    return (
        error.retryable
        or error.neo4j_code.startswith((_TOO_LATE, *_NOT_SET_UP))
        or _AWAY.match(error.message) is not None
    )


def _facts(delivery: Delivery, error: Exception) -> dict[str, str]:
    return {"delivery": delivery.id, "webhook": delivery.event, "reason": _reason(error)}


def _reason(error: Exception) -> str:
    if isinstance(error, CypherError):
        return error.neo4j_code
    return error.code if isinstance(error, Neo4jUnavailable) else type(error).__name__
