"""Dead letters of a real Redis that are dropped while others are added or tried again."""

import asyncio
import contextlib
import json

import structlog
from fix_waiting import awaited, wait_until

from sidecypher_procedures.sync.connection import open_async_redis
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.dead_letters import drop, letter_of, parking, requeue
from sidecypher_procedures.sync.partition import Partition
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import Entry, dead_key, events_key, lease_key, parked_key
from sidecypher_procedures.sync.writing import Refused


def fields(run, event="e1"):
    return Entry("1-0", run, {"id": event}, f'{{"id": "{event}"}}').fields


@contextlib.asynccontextmanager
async def parked(redis_server, letters=1):
    """Park the run `r`, with so many dead letters, in the only partition; give a client."""
    letter = letter_of(Entry("1-0", "r", {"id": "e1"}, '{"id": "e1"}'), "SC-903", "no such run")
    async with open_async_redis(redis_server.url) as redis:
        async with redis.pipeline() as pipe:
            pipe.hset(parked_key(0), "r", parking("e1", "SC-903", "no such run"))
            for _ in range(letters):
                pipe.xadd(dead_key(0), letter)
            await pipe.execute()
        yield redis


@awaited
async def test_letters_are_dropped_while_others_are_added(redis_server):
    """However often the partition gets dead letters of other runs, the command ends.

    The consumer frees the run as one that was requeued.
    """
    async with parked(redis_server, letters=2000) as redis:

        async def add():
            while True:
                await redis.xadd(dead_key(0), fields("other"))

        adding = asyncio.create_task(add())
        try:
            async with asyncio.timeout(30):
                assert await drop(redis, 1, "r") == 2000
        finally:
            await ended(adding)
        parking = await redis.hget(parked_key(0), "r")
        assert json.loads(parking)["requeued"]


@awaited
async def test_a_run_that_is_dropped_while_it_is_tried_again_stays_free(redis_server):
    """Otherwise it would be parked without a dead letter, and its later events would be lost."""
    async with parked(redis_server) as redis:
        await requeue(redis, 1, "r")
        await redis.xadd(events_key(0), fields("r", "e2"))
        await redis.set(lease_key(0), "a consumer")
        exists, writer = redis_server.client.exists, Dropping(redis)
        partition = Partition(
            0,
            consumer="a consumer",
            redis=redis,
            writer=writer,
            settings=SyncSettings(),
            counts=Counts(),
            log=structlog.get_logger(),
        )
        working = asyncio.create_task(partition.run())
        try:
            await asyncio.to_thread(wait_until, lambda: writer.written)
            await asyncio.to_thread(wait_until, lambda: not exists(parked_key(0)))
        finally:
            await ended(working)
        assert writer.written == ["e2"]


class Dropping:
    """Stands in for the graph, and drops the run `r` while its dead letter is tried again."""

    def __init__(self, redis):
        self._redis = redis
        self.tried = False
        self.written = []

    async def claim(self):
        pass

    async def append(self, runs):
        [entry] = runs["r"]
        if not self.tried:
            await drop(self._redis, 1, "r")
            self.tried = True
            raise Refused("SC-903", "no such run")
        self.written.append(entry.event_id)
        return 1


async def ended(task):
    """End a task; before Python 3.12, a cancellation may be lost."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
