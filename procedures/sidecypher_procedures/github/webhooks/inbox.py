"""Deliveries on their way to the graph: GitHub waits 10 seconds, Neo4j may be away for longer."""

import asyncio
import contextlib
import math
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

MOST_FAILURES: Final = 3
"""How often a delivery may fail, though Neo4j answers, before the others go first."""

LONGEST_PAUSE: Final = 30.0
_SHORTEST_PAUSE: Final = 0.5

# A sidecar that stops has ended the call, or none could begin it, or nobody knows how it ended, or
# its time was used up.
_AWAY: Final = re.compile(r"\[SC-(?:207|21[0-3])\]")

_NOT_BEGUN: Final = re.compile(r"\[SC-21[01]\]")
"""There is no sidecar that could begin the call, or all are busy."""

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


@dataclass(slots=True, eq=False)
class _Waiting:
    """A delivery, and how trying to write it went so far.

    Attributes:
        failures: How often it failed though Neo4j answered.
        pause: How long it waited after it failed last.
        due: When it may be tried again.
        end: When it is given up.
    """

    delivery: Delivery
    failures: int = 0
    pause: float = 0.0
    due: float = 0.0
    end: float = math.inf


class Inbox:
    """Writes deliveries in the order in which they came, one at a time; one per sidecar.

    One that fails again and again lets the others go first. All methods are called on one event
    loop, so there is nothing to lock.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self._bytes = 0
        self._came = asyncio.Event()
        self._draining = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    def put(self, delivery: Delivery, request: WebhookRequest) -> bool:
        """Take a delivery, unless there is no room; one that waits here already is taken as it is.

        Returns:
            Whether it was taken.
        """
        if delivery.id in self._waiting:
            return True
        size = self._bytes + len(delivery.payload)
        has_room = len(self._waiting) < MOST_DELIVERIES and size <= MOST_BYTES
        if self._draining.is_set() or not has_room:
            return False
        self._waiting[delivery.id] = _Waiting(delivery)
        self._bytes = size
        self._came.set()
        if self._work is None or self._work.done():
            work = self._write_all(request.resource(BoltClient), request.log)
            self._work = asyncio.create_task(work)
        return True

    async def drain(self) -> None:
        """Take no more, and try at once, and once only, to write each that is here."""
        self._draining.set()
        self._came.set()
        if self._work is not None:
            await asyncio.wait({self._work})

    async def stop(self) -> None:
        """Take no more; what is not written by now is lost."""
        self._draining.set()
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})

    async def _write_all(self, neo4j: BoltClient, log: FilteringBoundLogger) -> None:
        lost = 0
        try:
            while self._waiting:
                waiting = await self._next()
                error = await _write(waiting.delivery, neo4j)
                if error is None:
                    self._remove(waiting)
                elif _now() >= waiting.end or not _may_heal(error):
                    log.error("webhook given up", **_facts(waiting.delivery, error))
                    self._remove(waiting)
                elif not self._draining.is_set():
                    log.warning("webhook waits", **_facts(waiting.delivery, error))
                    await self._put_off(waiting, error)
                elif _has_answered(error):
                    lost += 1
                    self._remove(waiting)
                else:
                    return
        finally:
            lost += len(self._waiting)
            if lost:
                log.error("webhooks lost", deliveries=lost)

    async def _next(self) -> _Waiting:
        """Return the first delivery that may be tried, once there is one."""
        while True:
            now = _now()
            for waiting in self._waiting.values():
                if waiting.due <= now or self._draining.is_set():
                    waiting.end = min(waiting.end, now + KEEP_SECONDS)
                    return waiting
            self._came.clear()
            await _wait(self._came, min(each.due for each in self._waiting.values()))

    def _remove(self, waiting: _Waiting) -> None:
        del self._waiting[waiting.delivery.id]
        self._bytes -= len(waiting.delivery.payload)

    async def _put_off(self, waiting: _Waiting, error: Exception) -> None:
        """Let a delivery that has failed wait: before the others, or behind them."""
        waiting.pause = min(2 * waiting.pause or _SHORTEST_PAUSE, LONGEST_PAUSE)
        has_answered = _has_answered(error)
        waiting.failures += has_answered
        if has_answered and waiting.failures >= MOST_FAILURES:
            waiting.due = _now() + waiting.pause
            self._waiting[waiting.delivery.id] = self._waiting.pop(waiting.delivery.id)
        else:
            await _wait(self._draining, _now() + waiting.pause)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _wait(event: asyncio.Event, until: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(until):
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


def _has_answered(error: Exception) -> bool:
    """Tell whether Neo4j and a sidecar have tried: then it is the delivery's own failure."""
    if isinstance(error, CypherError):
        return _NOT_BEGUN.match(error.message) is None
    return isinstance(error, Neo4jUnavailable) and "neo4jCode" in error.details


def _may_heal(error: Exception) -> bool:
    if not isinstance(error, Neo4jUnavailable | CypherError):
        return False
    if isinstance(error, CypherError) and error.neo4j_code.startswith(_TOO_LATE):
        return True
    return error.retryable or _AWAY.match(error.message) is not None


def _facts(delivery: Delivery, error: Exception) -> dict[str, str]:
    return {"delivery": delivery.id, "webhook": delivery.event, "reason": _reason(error)}


def _reason(error: Exception) -> str:
    if isinstance(error, CypherError):
        return error.neo4j_code
    return error.code if isinstance(error, Neo4jUnavailable) else type(error).__name__
