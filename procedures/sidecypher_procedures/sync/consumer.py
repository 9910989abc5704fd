"""The consumer: one process that takes its share of the partitions and writes their events."""

import asyncio
import contextlib
import math
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Any

from redis import RedisError
from redis.asyncio.lock import Lock
from redis.exceptions import LockError

from sidecypher import BoltClient
from sidecypher_procedures.sync.connection import check_partitions
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.lease import RENEWALS, WHEN_FULL, acquired, work_under
from sidecypher_procedures.sync.partition import Partition
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import CONSUMERS, PARTITIONS, events_key, lease_key
from sidecypher_procedures.sync.writing import LeaseLost, PartitionWriter


def consumer_name() -> str:
    """Return a name of this process that no other one has, and that people can find it by."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass
class _Tenure:
    """The work on a partition, and what tells it to give the partition back."""

    task: "asyncio.Task[None]"
    leave: asyncio.Event

    async def end(self) -> None:
        """Give the partition back."""
        self.leave.set()
        await asyncio.wait([self.task])


class Consumer:
    """Writes the events of Redis to Neo4j, until it is told to stop.

    Several consumers share the partitions evenly. If one dies, the others take its partitions when
    its leases have run out.

    Args:
        redis: An async client of Redis.
        client: A client of Neo4j.
        log: Gets events and facts, never data of a user.

    Attributes:
        name: Its name in Redis and in the graph.
        counts: What it has done so far.
    """

    def __init__(self, redis: Any, client: BoltClient, settings: SyncSettings, log: Any) -> None:
        self.name = consumer_name()
        self.counts = Counts()
        self._redis = redis
        self._client = client
        self._settings = settings
        self._log = log.bind(consumer=self.name)
        self._owned: dict[int, _Tenure] = {}
        self._stop = asyncio.Event()

    @property
    def partitions(self) -> list[int]:
        """The partitions that it has."""
        return sorted(self._owned)

    def stop(self) -> None:
        """Let `run` give back all partitions and return.

        A cancellation could be lost; see `lease`.
        """
        self._stop.set()

    async def run(self) -> None:
        """Write events until `stop` is called.

        Raises:
            SyncSettingsError: Redis has another number of partitions.
        """
        pause = self._settings.lease_seconds / RENEWALS
        try:
            while not self._stop.is_set():
                try:
                    await self._check_partitions()
                    await self._take_share()
                except (RedisError, OSError) as error:
                    self._log.warning("sync.redis_away", kind=type(error).__name__)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._stop.wait()
        finally:
            await self._leave()

    async def _check_partitions(self) -> None:
        number = self._settings.partitions
        command = ("SET", PARTITIONS, number, "NX", "GET")
        check_partitions(await self._redis.eval(WHEN_FULL, 0, *command), number)

    async def _take_share(self) -> None:
        """Take free partitions up to a fair share, and give back what is above it."""
        for number, tenure in [*self._owned.items()]:
            if tenure.task.done():
                del self._owned[number]
                self._report(number, tenure.task)
        fair = math.ceil(self._settings.partitions / await self._consumers())
        for number in self.partitions[fair:]:
            await self._owned.pop(number).end()
        # Each consumer begins elsewhere, so that they do not all ask for the same one.
        start = hash(self.name)
        for offset in range(self._settings.partitions):
            number = (start + offset) % self._settings.partitions
            if len(self._owned) >= fair:
                return
            if number not in self._owned:
                await self._try_to_take(number)

    async def _consumers(self) -> int:
        """Tell the others of this consumer, and return how many there are."""
        # The clock of Redis: those of two machines may differ.
        seconds, _ = await self._redis.time()
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.eval(WHEN_FULL, 0, "ZADD", CONSUMERS, seconds, self.name)
            pipe.zremrangebyscore(CONSUMERS, "-inf", seconds - self._settings.lease_seconds)
            pipe.zcard(CONSUMERS)
            return max(1, int((await pipe.execute())[-1]))

    async def _try_to_take(self, number: int) -> None:
        seconds = self._settings.lease_seconds
        lease = await acquired(self._redis, lease_key(number), self.name, seconds)
        if lease is not None:
            leave = asyncio.Event()
            task = asyncio.create_task(self._hold(number, lease, leave))
            self._owned[number] = _Tenure(task, leave)

    async def _hold(self, number: int, lease: Lock, leave: asyncio.Event) -> None:
        """Work on a partition while its lease can be renewed, until it is to be given back."""
        partition = Partition(
            number,
            consumer=self.name,
            redis=self._redis,
            writer=PartitionWriter(self._client, events_key(number), self.name),
            settings=self._settings,
            counts=self.counts,
            log=self._log,
        )
        await work_under(lease, self._settings.lease_seconds, partition.run(), leave)

    def _report(self, number: int, task: "asyncio.Task[None]") -> None:
        """Log why work on a partition has ended."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, LeaseLost | LockError):
            self._log.info("sync.lease_lost", partition=number)
        elif isinstance(error, RedisError | OSError):
            self._log.warning("sync.redis_away", partition=number, kind=type(error).__name__)
        elif error is not None:
            self._log.error("sync.partition_failed", partition=number, exc_info=error)

    async def _leave(self) -> None:
        """Give all partitions back, so that others need not wait for the leases to run out."""
        owned, self._owned = self._owned, {}
        await asyncio.gather(*(tenure.end() for tenure in owned.values()))
        with contextlib.suppress(RedisError, OSError):
            await self._redis.zrem(CONSUMERS, self.name)
