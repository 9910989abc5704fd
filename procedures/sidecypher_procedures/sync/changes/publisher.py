"""The publisher of changes: one process at a time moves them from the graph to Redis."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis import RedisError
from redis.exceptions import LockError

from sidecypher import BoltClient, SidecypherError
from sidecypher_procedures.sync.changes.store import (
    count_changes,
    delete_changes,
    fields_of,
    oldest_changes,
)
from sidecypher_procedures.sync.lease import RENEWALS, acquired, change_under, work_under
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import CHANGES, CHANGES_LEASE
from sidecypher_procedures.sync.trimming import trim_acknowledged

KEPT: Final = 100_000
"""How many changes stay in a stream that no group reads."""

_POLL_SECONDS: Final = 0.25
_LOOK_SECONDS: Final = 5.0
_LONGEST_PAUSE: Final = 5.0


class ChangePublisher:
    """Publishes the changes of the outbox to Redis in their order, until it is told to stop.

    A change is deleted in the graph after Redis has it, so it may be published twice, with the same
    `seq`.

    Args:
        redis: An async client of Redis.
        client: A client of Neo4j.
        name: Name of this process in Redis.
        log: Gets facts, never data of a user.

    Attributes:
        published: How many changes it has published.
        waiting: How many waited some seconds ago; 0 while another process publishes.
    """

    def __init__(
        self, redis: Any, client: BoltClient, settings: SyncSettings, name: str, log: Any
    ) -> None:
        self.published = 0
        self.waiting = 0
        self._redis = redis
        self._client = client
        self._settings = settings
        self._name = name
        self._log = log
        self._stop = asyncio.Event()
        self._looked_at = 0.0

    def stop(self) -> None:
        """Let `run` return."""
        self._stop.set()

    async def run(self) -> None:
        """Publish changes until `stop` is called."""
        seconds = self._settings.lease_seconds
        while not self._stop.is_set():
            try:
                lease = await acquired(self._redis, CHANGES_LEASE, self._name, seconds)
                if lease is not None:
                    await work_under(lease, seconds, self._publish_all(), self._stop)
            except LockError:
                self._log.info("sync.lease_lost", stream=CHANGES)
            except (RedisError, OSError) as error:
                self._log.warning("sync.redis_away", stream=CHANGES, kind=type(error).__name__)
            self.waiting = 0
            await self._pause(seconds / RENEWALS)

    async def _publish_all(self) -> None:
        pause = _POLL_SECONDS
        while True:
            try:
                may_be_more = await self._publish_some()
                await self._look_after()
            except SidecypherError as error:
                self._log.warning("sync.away", why=f"[{error.code}] {error.message}", pause=pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _POLL_SECONDS
                await asyncio.sleep(0 if may_be_more else _POLL_SECONDS)

    async def _publish_some(self) -> bool:
        """Publish the oldest changes; return whether there may be more."""
        changes = await oldest_changes(self._client, self._settings.batch)
        if changes:
            await self._add(changes)
            await delete_changes(self._client, changes)
            self.published += len(changes)
        return len(changes) == self._settings.batch

    async def _add(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Add changes to the stream, unless another process has the lease by now.

        Raises:
            LockError: It has; nothing was added.
        """

        async def add(pipe: Any) -> None:
            pipe.multi()
            for change in changes:
                pipe.xadd(CHANGES, fields_of(change))

        await change_under(self._redis, CHANGES_LEASE, self._name, add)

    async def _look_after(self) -> None:
        """Every few seconds, count what waits and trim the stream."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        self.waiting = await count_changes(self._client)
        if await self._redis.exists(CHANGES) and not await trim_acknowledged(self._redis, CHANGES):
            await self._redis.xtrim(CHANGES, maxlen=KEPT, approximate=True)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()
