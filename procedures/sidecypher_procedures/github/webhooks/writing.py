"""Writing webhook deliveries to the graph."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Final

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, SidecarContext, split_code
from sidecypher_procedures.github.errors import GithubError, WebhooksUnstored
from sidecypher_procedures.github.settings import WebhookSettings
from sidecypher_procedures.github.sharing.pipe import RedisAway
from sidecypher_procedures.github.webhooks.queue import LONGEST_PAUSE, Delivery, Queue
from sidecypher_procedures.github.webhooks.redis_queue import open_queue
from sidecypher_procedures.github.webhooks.spool import HomeQueue

KEEP_SECONDS: Final = 3600.0
"""Seconds for which a delivery is retried although Neo4j and a sidecar have answered."""

MOST_FAILURES: Final = 3
"""Number of failures, although Neo4j answers, after which other deliveries go first."""

POLL_SECONDS: Final = 0.5
"""Interval of asking for deliveries of other sidecars, and of trying to be the one that takes."""

MOST_AT_A_TIME: Final = 8
"""Most deliveries that are written at a time, each of another repository."""

_SHORTEST_PAUSE: Final = 0.5

# A stopping sidecar has ended the call, no sidecar could begin it, its outcome is unknown, or it
# has timed out.
_NO_OUTCOME: Final = frozenset({"SC-207", "SC-210", "SC-211", "SC-212", "SC-213"})

_NOT_BEGUN: Final = frozenset({"SC-210", "SC-211"})
"""Errors of calls that no sidecar began: there is none, or all are busy."""

# The operator can fix these: the plugin is missing, or the user may not call the procedure.
_NOT_SET_UP: Final = ("Neo.ClientError.Procedure.ProcedureNotFound", "Neo.ClientError.Security.")

_TIMED_OUT: Final = "Neo.ClientError.Transaction.TransactionTimedOut"
"""Prefix of Neo4j's codes for transactions that timed out."""

_RECEIVE: Final = "CALL github.receiveWebhook($id, $event, $payload, $receivedAt)"


class Inbox:
    """The queues of a sidecar; one per sidecar.

    With a Redis, deliveries go there, and any sidecar may write them. The file of the home takes
    them while Redis is away.
    """

    def __init__(self) -> None:
        self._shared = open_queue()
        self._home: HomeQueue | None = None

    def queues(self, home: Path) -> list[Queue]:
        """Return the queues, the preferred one first."""
        if self._home is None:
            self._home = HomeQueue(home)
        return [self._home] if self._shared is None else [self._shared, self._home]

    async def put(self, delivery: Delivery, home: Path) -> None:
        """Store a delivery durably, to be written to the graph later.

        Raises:
            WebhooksUnstored: It could not be stored.
        """
        *preferred, last = self.queues(home)
        for queue in preferred:
            with contextlib.suppress(WebhooksUnstored):
                return await queue.put(delivery)
        return await last.put(delivery)

    async def stop(self) -> None:
        """Close the file and the connection."""
        if self._home is not None:
            self._home.stop()
        if self._shared is not None:
            await self._shared.stop()


async def write_all(context: SidecarContext) -> None:
    """Write stored deliveries to the graph for as long as the sidecar runs.

    A sidecar may be killed between writing a delivery and removing it; the graph then recognises
    its id.
    """
    if context.resource(WebhookSettings).key is None:
        return
    async with asyncio.TaskGroup() as tasks:
        for queue in context.resource(Inbox).queues(context.home):
            tasks.create_task(_write_from(queue, context))


async def _write_from(queue: Queue, context: SidecarContext) -> None:
    pause = _SHORTEST_PAUSE
    while True:
        begun = time.monotonic()
        try:
            with queue.writing():
                await _write_deliveries(queue, context)
        except (BlockingIOError, RedisAway):
            await asyncio.sleep(POLL_SECONDS)
        except (GithubError, OSError) as error:
            reason = error.message if isinstance(error, GithubError) else error.strerror
            context.log.error("webhooks not written", reason=reason)  # noqa: TRY400 - the same
            # A busy disk is back in a moment, and a full one is not.
            if time.monotonic() - begun > LONGEST_PAUSE:
                pause = _SHORTEST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


async def _write_deliveries(queue: Queue, context: SidecarContext) -> None:
    """Write deliveries, those of each repository in order, of several repositories at a time."""
    pauses: dict[str, float] = {}
    writing: set[asyncio.Task[None]] = set()
    try:
        while True:
            queue.arrived.clear()
            for task in [each for each in writing if each.done()]:
                writing.remove(task)
                task.result()
            await queue.keep()
            delivery = await queue.take() if len(writing) < MOST_AT_A_TIME else None
            if delivery is None:
                await _wait(queue.arrived, POLL_SECONDS)
                continue
            task = asyncio.create_task(_handle(queue, delivery, context, pauses))
            task.add_done_callback(lambda _: queue.arrived.set())
            writing.add(task)
    finally:
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)


async def _handle(
    queue: Queue, delivery: Delivery, context: SidecarContext, pauses: dict[str, float]
) -> None:
    """Try to write a delivery; after a failure, wait for a pause of its repository."""
    error = await _write(delivery, context.resource(BoltClient))
    if error is None:
        await queue.remove(delivery)
        pauses.pop(delivery.repository, None)
    elif not _is_transient(error) or (_has_answered(error) and _is_old(delivery)):
        context.log.error("webhook given up", **_facts(delivery, error))
        await queue.remove(delivery)
    else:
        context.log.warning("webhook waits", **_facts(delivery, error))
        await _postpone(queue, delivery, pauses, counts=_has_answered(error))
    await queue.release(delivery)


async def _postpone(
    queue: Queue, delivery: Delivery, pauses: dict[str, float], *, counts: bool
) -> None:
    pause = min(2 * pauses.get(delivery.repository, 0.0) or _SHORTEST_PAUSE, LONGEST_PAUSE)
    pauses[delivery.repository] = pause
    if not counts:
        # This sidecar cannot write; another one may.
        await queue.rest(delivery, pause)
    elif delivery.failures + 1 < MOST_FAILURES:
        await queue.put_off(delivery, 0.0)
        await asyncio.sleep(pause)
    else:
        late = min(_SHORTEST_PAUSE * 2.0**delivery.failures, LONGEST_PAUSE)
        await queue.put_off(delivery, late)
        pauses.pop(delivery.repository, None)


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
        return is_set_up and split_code(error.message)[0] not in _NOT_BEGUN
    return isinstance(error, Neo4jUnavailable) and "neo4jCode" in error.details


def _is_transient(error: Exception) -> bool:
    if isinstance(error, Neo4jUnavailable):
        return True
    if not isinstance(error, CypherError):
        return False
    return (
        error.retryable
        or error.neo4j_code.startswith((_TIMED_OUT, *_NOT_SET_UP))
        or split_code(error.message)[0] in _NO_OUTCOME
    )


def _facts(delivery: Delivery, error: Exception) -> dict[str, str]:
    return {"delivery": delivery.id, "webhook": delivery.event, "reason": _reason(error)}


def _reason(error: Exception) -> str:
    if isinstance(error, CypherError):
        return error.neo4j_code
    return error.code if isinstance(error, Neo4jUnavailable) else type(error).__name__
