"""The state of all partitions, as Redis tells it."""

from dataclasses import dataclass
from typing import Any

from sidecypher_procedures.sync.connection import translating
from sidecypher_procedures.sync.streams import GROUP, dead_key, events_key, lease_key, parked_key


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The state of one partition.

    Attributes:
        partition: Its number.
        consumer: Name of the consumer that has it, None without one.
        lag: Entries that no consumer has read.
        pending: Entries that were read and are not in the graph yet.
        oldest_seconds: Age of the oldest of these; 0 without any.
        dead: Dead letters.
        parked: Runs whose events become dead letters.
    """

    partition: int
    consumer: str | None
    lag: int
    pending: int
    oldest_seconds: float
    dead: int
    parked: int


async def read_status(redis: Any, partitions: int) -> list[PartitionStatus]:
    """Return the state of all partitions.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    with translating():
        seconds, microseconds = await redis.time()
        now = seconds + microseconds / 1e6
        return [await _status(redis, number, now) for number in range(partitions)]


async def _status(redis: Any, number: int, now: float) -> PartitionStatus:
    stream = events_key(number)
    groups = await redis.xinfo_groups(stream) if await redis.exists(stream) else []
    group = next((each for each in groups if each["name"] == GROUP), None)
    # Redis gives no lag once entries in the middle were deleted.
    lag = await redis.xlen(stream) if group is None or group["lag"] is None else group["lag"]
    return PartitionStatus(
        partition=number,
        consumer=await redis.get(lease_key(number)),
        lag=lag,
        pending=0 if group is None else group["pending"],
        oldest_seconds=await _age_of_oldest(redis, stream, group, now),
        dead=await redis.xlen(dead_key(number)),
        parked=await redis.hlen(parked_key(number)),
    )


async def _age_of_oldest(redis: Any, stream: str, group: Any, now: float) -> float:
    """Return the age of the oldest entry that is not in the graph, in seconds."""
    pending = None if group is None else (await redis.xpending(stream, GROUP))["min"]
    after = "-" if group is None else f"({group['last-delivered-id']}"
    unread = await redis.xrange(stream, min=after, max="+", count=1)
    oldest = pending or (unread[0][0] if unread else None)
    if oldest is None:
        return 0.0
    return round(max(0.0, now - int(oldest.split("-")[0]) / 1000), 3)
