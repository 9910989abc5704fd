"""A partition whose consumer changes while the one before still reads."""

import asyncio

import structlog
from fix_waiting import awaited, wait_until
from integration.sync.conftest import PARTITIONS

from sidecypher import BoltClient
from sidecypher_procedures.sync.connection import open_async_redis
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.partition import Partition
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import events_key, partition_of
from sidecypher_procedures.sync.writing import LeaseLost, PartitionWriter


@awaited
async def test_what_a_consumer_reads_after_its_lease_is_written_in_its_place(sync, server):
    """It may take entries before it learns that the lease is lost; the next one writes them."""
    run, published = sync.new_run(), []

    def publish():
        published.append(f"message {len(published)}")
        sync.publish(run, published[-1])

    async with open_async_redis(sync.url) as redis:
        client = BoltClient.at(server.facts["bolt"], "neo4j", server.password)
        number = partition_of(run, PARTITIONS)
        former = asyncio.create_task(partition(redis, client, "former", number).run())
        later = None
        try:
            publish()
            await asyncio.to_thread(wait_until, lambda: sync.contents(run) == published)
            later = asyncio.create_task(partition(redis, client, "later", number).run())
            await asyncio.to_thread(wait_until, lambda: readers(sync.redis) == 2)
            # Redis gives each entry to one of both.
            while not former.done():
                publish()
                await asyncio.wait([former], timeout=0.1)
            assert isinstance(former.exception(), LeaseLost)
            await asyncio.to_thread(wait_until, lambda: sync.contents(run) == published)
        finally:
            for task in filter(None, (former, later)):
                # Before Python 3.12, a cancellation may be lost.
                while not task.done():
                    task.cancel()
                    await asyncio.wait([task], timeout=0.1)
            await client.stop()


def partition(redis, client, name, number):
    return Partition(
        number,
        consumer=name,
        redis=redis,
        writer=PartitionWriter(client, events_key(number), name),
        settings=SyncSettings(),
        counts=Counts(),
        log=structlog.get_logger(),
    )


def readers(redis):
    """Return how many clients wait for entries."""
    return sum("b" in each["flags"] for each in redis.client_list())
