"""Queue of webhook deliveries in Redis, from which any sidecar may write them."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.sharing.pipe import RedisAway, find_redis, open_pipe
from sidecypher_procedures.github.webhooks.queue import LONGEST_PAUSE, Delivery

PREFIX: Final = "github:webhooks:1:"
"""Prefix of all keys, with the version of their form."""

MOST_BYTES: Final = 256 * 1024 * 1024
"""Largest size of all payloads together; above it, deliveries stay in the file of a home."""

CLAIM_SECONDS: Final = 10.0
"""Seconds for which a repository stays with a sidecar that has died or is paused."""

# Each script runs as one step, so sidecars cannot come between. `repositories` are those with
# deliveries, by the time in milliseconds at which a sidecar may take one: when one is due, or when
# a claim ends. `of:REPOSITORY` are the ids of its deliveries in order, `delivery:ID` is one of
# them, and `claims` are the tokens of sidecars by repository.
_COMMON: Final = """
local prefix = KEYS[1]
local repositories, claims, bytes = prefix .. 'repositories', prefix .. 'claims', prefix .. 'bytes'
local function list(repository) return prefix .. 'of:' .. repository end
local function hash(id) return prefix .. 'delivery:' .. id end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The first delivery that is due, else the time at which one is.
local function first(repository)
    local soonest
    for _, id in ipairs(redis.call('LRANGE', list(repository), 0, 99)) do
        local due = tonumber(redis.call('HGET', hash(id), 'due'))
        -- A server that ran out of memory may have dropped it.
        if not due then redis.call('LREM', list(repository), 1, id)
        elseif due <= now then return id, due
        elseif not soonest or due < soonest then soonest = due end
    end
    return nil, soonest
end
"""

# All but `_PUT` go on while Redis has no memory left: they make room.
_BOUNDED: Final = "#!lua flags=allow-oom\n" + _COMMON

# Returns 0 if there is no room.
_PUT: Final = (
    _COMMON
    + """
local repository, id, event, payload, received_at, most = unpack(ARGV)
if redis.call('EXISTS', hash(id)) == 1 then return 1 end
if tonumber(redis.call('GET', bytes) or 0) + #payload > tonumber(most) then return 0 end
local stored = redis.pcall('HSET', hash(id), 'event', event, 'payload', payload,
    'received_at', received_at, 'failures', 0, 'due', 0)
if type(stored) == 'table' then return 0 end
redis.call('INCRBY', bytes, #payload)
redis.call('RPUSH', list(repository), id)
if redis.call('HEXISTS', claims, repository) == 0 then
    redis.call('ZADD', repositories, now, repository)
end
return 1
"""
)

# Returns nothing if no delivery is due that nobody has claimed.
_TAKE: Final = (
    _BOUNDED
    + """
local token, claim = ARGV[1], tonumber(ARGV[2])
local resting = {}
for i = 3, #ARGV do resting[ARGV[i]] = true end
local due_now = redis.call('ZRANGEBYSCORE', repositories, '-inf', now, 'LIMIT', 0, #ARGV + 100)
for _, repository in ipairs(due_now) do
    local id, due
    if not resting[repository] then id, due = first(repository) end
    if id then
        redis.call('ZADD', repositories, now + claim, repository)
        redis.call('HSET', claims, repository, token)
        return {id, repository, unpack(redis.call('HMGET', hash(id),
            'payload', 'event', 'received_at', 'failures', 'failed_at'))}
    elseif not resting[repository] then
        redis.call('HDEL', claims, repository)
        if due then redis.call('ZADD', repositories, due, repository)
        else redis.call('ZREM', repositories, repository) end
    end
end
return false
"""
)

_REMOVE: Final = (
    _BOUNDED
    + """
local repository, id = unpack(ARGV)
if redis.call('LREM', list(repository), 1, id) == 1 then
    redis.call('DECRBY', bytes, redis.call('HSTRLEN', hash(id), 'payload'))
    redis.call('DEL', hash(id))
end
"""
)

_PUT_OFF: Final = (
    _BOUNDED
    + """
local repository, id, pause = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('EXISTS', hash(id)) == 0 then return end
redis.call('HINCRBY', hash(id), 'failures', 1)
redis.call('HSETNX', hash(id), 'failed_at', now)
if pause > 0 and redis.call('LREM', list(repository), 1, id) == 1 then
    redis.call('RPUSH', list(repository), id)
    redis.call('HSET', hash(id), 'due', now + pause)
end
"""
)

_RELEASE: Final = (
    _BOUNDED
    + """
local token, repository, longest = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('HGET', claims, repository) ~= token then return end
redis.call('HDEL', claims, repository)
local id, due = first(repository)
if not due then redis.call('ZREM', repositories, repository)
-- The clock of Redis may be set back.
else redis.call('ZADD', repositories, id and now or math.min(due, now + longest), repository) end
"""
)

_KEEP: Final = (
    _BOUNDED
    + """
local token, claim = ARGV[1], tonumber(ARGV[2])
for i = 3, #ARGV do
    if redis.call('HGET', claims, ARGV[i]) == token then
        redis.call('ZADD', repositories, now + claim, ARGV[i])
    end
end
"""
)


def open_queue() -> "RedisQueue | None":
    """Return the queue; None if no Redis is named.

    Raises:
        SyncSettingsError: The address of Redis cannot be used.
    """
    url = find_redis()
    return None if url is None else RedisQueue(url)


class RedisQueue:
    """The deliveries of all sidecars that share a Redis.

    A sidecar claims a repository while it writes one of its deliveries. A claim that is not kept
    ends, and the delivery is taken by another sidecar. If both write it, the graph knows its id.
    """

    def __init__(self, url: str) -> None:
        self.arrived = asyncio.Event()
        self._pipe = open_pipe(url)
        self._token = secrets.token_hex(16)
        self._claimed: set[str] = set()
        self._resting: set[str] = set()

    async def put(self, delivery: Delivery) -> None:
        """Store a delivery; one that is there already is not changed.

        Raises:
            WebhooksUnstored: There is no answer, or no room.
        """
        try:
            has_room = await self._run(
                _PUT,
                delivery.repository,
                delivery.id,
                delivery.event,
                delivery.payload,
                delivery.received_at.isoformat(),
                MOST_BYTES,
            )
        except RedisAway:
            raise WebhooksUnstored("Redis does not answer") from None
        if not has_room:
            limit = f"{MOST_BYTES >> 20} MiB of deliveries"
            raise WebhooksUnstored(f"Redis has no memory left, or holds more than {limit}")
        self.arrived.set()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Allow `take` to any sidecar; give back the claims in the end, or let them end."""
        try:
            yield
        finally:
            for repository in self._claimed:
                self._pipe.send("EVAL", *self._released(repository))
            self._claimed.clear()

    async def take(self) -> Delivery | None:
        """Claim the repository whose delivery is due for the longest time, and return that one.

        Raises:
            RedisAway: There is no answer.
        """
        claim = _milliseconds(CLAIM_SECONDS)
        found = await self._run(_TAKE, self._token, claim, *self._resting)
        if found is None:
            return None
        id_, repository, payload, event, received_at, failures, failed_at = found
        delivery = Delivery(
            id_.decode(),
            event.decode(),
            payload,
            datetime.fromisoformat(received_at.decode()),
            int(failures),
            None if failed_at is None else int(failed_at) / 1000,
            repository.decode(),
        )
        self._claimed.add(delivery.repository)
        return delivery

    async def remove(self, delivery: Delivery) -> None:
        """Remove a delivery that was written or given up.

        Raises:
            RedisAway: There is no answer.
        """
        await self._run(_REMOVE, delivery.repository, delivery.id)

    async def put_off(self, delivery: Delivery, pause: float) -> None:
        """Count a failure; with a `pause` in seconds, also postpone the delivery behind others.

        Raises:
            RedisAway: There is no answer.
        """
        arguments = (delivery.repository, delivery.id, _milliseconds(pause))
        await self._run(_PUT_OFF, *arguments)

    async def rest(self, delivery: Delivery, pause: float) -> None:
        """Wait for a pause in seconds; another sidecar may take a delivery of its repository.

        Raises:
            RedisAway: There is no answer; the claim ends by itself.
        """
        self._resting.add(delivery.repository)
        try:
            await self.release(delivery)
            await asyncio.sleep(pause)
        finally:
            self._resting.discard(delivery.repository)

    async def release(self, delivery: Delivery) -> None:
        """Give the claim of its repository back.

        Raises:
            RedisAway: There is no answer; the claim ends by itself.
        """
        self._claimed.discard(delivery.repository)
        await self._pipe.run("EVAL", *self._released(delivery.repository))

    async def keep(self) -> None:
        """Keep the claims.

        Raises:
            RedisAway: There is no answer.
        """
        if self._claimed:
            claim = _milliseconds(CLAIM_SECONDS)
            await self._run(_KEEP, self._token, claim, *self._claimed)

    async def stop(self) -> None:
        """Send what waits, and close the connection."""
        await self._pipe.stop()

    def _released(self, repository: str) -> tuple[str | int, ...]:
        longest = _milliseconds(LONGEST_PAUSE)
        return _RELEASE, 1, PREFIX, self._token, repository, longest

    async def _run(self, script: str, *arguments: str | bytes | int) -> Any:
        return await self._pipe.run("EVAL", script, 1, PREFIX, *arguments)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
