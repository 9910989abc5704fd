"""Deliveries on their way to the graph: GitHub waits 10 seconds, Neo4j may be away for longer."""

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from structlog.typing import FilteringBoundLogger

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, WebhookRequest

MOST_DELIVERIES: Final = 1000
MOST_BYTES: Final = 32 * 1024 * 1024

KEEP_SECONDS: Final = 3600.0
"""How long a delivery waits for a Neo4j, or a sidecar behind it, that is away."""

LONGEST_PAUSE: Final = 30.0
_SHORTEST_PAUSE: Final = 0.5

DRAIN_SECONDS: Final = 4.0
"""How long deliveries may still be written once their inbox is replaced."""

# A sidecar that stops has ended the call, or none could begin it, or nobody knows how it ended, or
# its time was used up.
_AWAY: Final = re.compile(r"\[SC-(?:207|21[0-3])\]")

_TOO_LATE: Final = "Neo.ClientError.Transaction.TransactionTimedOut"
"""How Neo4j's codes begin that say that a transaction took too long."""

_RECEIVE: Final = "CALL github.receiveWebhook($id, $event, $payload, $receivedAt)"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to be written of one delivery.

    Attributes:
        id: GitHub's id of it, which it keeps when it is sent again.
        payload: JSON, what the graph is told of it.
    """

    id: str
    event: str
    payload: bytes
    received_at: datetime


class Inbox:
    """Writes deliveries in the order in which they came, one at a time; one per sidecar.

    All methods are called on one event loop, so there is nothing to lock.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Delivery] = {}
        self._bytes = 0
        self._work: asyncio.Task[None] | None = None
        self._stopped = False

    def put(self, delivery: Delivery, request: WebhookRequest) -> bool:
        """Take a delivery, unless there is no room; one that waits here already is taken as it is.

        Returns:
            Whether it was taken.
        """
        if delivery.id in self._waiting:
            return True
        size = self._bytes + len(delivery.payload)
        if self._stopped or len(self._waiting) >= MOST_DELIVERIES or size > MOST_BYTES:
            return False
        self._waiting[delivery.id] = delivery
        self._bytes = size
        if self._work is None or self._work.done():
            work = self._write_all(request.resource(BoltClient), request.log)
            self._work = asyncio.create_task(work)
        return True

    async def stop(self) -> None:
        """Take no more, and write what is here if that is soon done."""
        self._stopped = True
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=DRAIN_SECONDS)
            self._work.cancel()

    async def _write_all(self, neo4j: BoltClient, log: FilteringBoundLogger) -> None:
        try:
            while self._waiting:
                delivery = next(iter(self._waiting.values()))
                await _write(delivery, neo4j, log)
                del self._waiting[delivery.id]
                self._bytes -= len(delivery.payload)
        except asyncio.CancelledError:
            log.error("webhooks lost", deliveries=len(self._waiting))  # noqa: TRY400
            raise


async def _write(delivery: Delivery, neo4j: BoltClient, log: FilteringBoundLogger) -> None:
    """Try until it is written or there is no hope; the graph knows what was written before."""
    clock = asyncio.get_running_loop().time
    end, pause = clock() + KEEP_SECONDS, _SHORTEST_PAUSE
    while True:
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
            if clock() >= end or not _may_heal(error):
                # Not `exception`: its text may hold data.
                log.error("webhook given up", **_facts(delivery, error))  # noqa: TRY400
                return
            log.warning("webhook waits", **_facts(delivery, error))
        else:
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _may_heal(error: Exception) -> bool:
    if not isinstance(error, Neo4jUnavailable | CypherError):
        return False
    if isinstance(error, CypherError) and error.neo4j_code.startswith(_TOO_LATE):
        return True
    return error.retryable or _AWAY.search(error.message) is not None


def _facts(delivery: Delivery, error: Exception) -> dict[str, str]:
    return {"delivery": delivery.id, "webhook": delivery.event, "reason": _reason(error)}


def _reason(error: Exception) -> str:
    if isinstance(error, CypherError):
        return error.neo4j_code
    return error.code if isinstance(error, Neo4jUnavailable) else type(error).__name__
