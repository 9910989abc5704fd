"""Queue of webhook deliveries in Redis, from which any sidecar may write them."""

import asyncio
import contextlib
import secrets
from datetime import datetime
from typing import Any, Final

from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.sharing.opening import find_redis, open_pipe
from sidecypher_procedures.github.sharing.pipe import RedisAway
from sidecypher_procedures.github.webhooks import scripts
from sidecypher_procedures.github.webhooks.queue import LONGEST_PAUSE, Delivery

PREFIX: Final = "github:webhooks:1:"
"""Prefix of all keys, with the version of their form."""

MOST_BYTES: Final = 256 * 1024 * 1024
"""Largest size of all payloads together; above it, deliveries stay in the file of a home."""

CLAIM_SECONDS: Final = 10.0
"""Seconds for which a repository stays with a sidecar that has died or is paused."""


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

    async def put(self, delivery: Delivery) -> None:
        """Store a delivery; one that is there already is not changed.

        Raises:
            WebhooksUnstored: There is no answer, or no room.
        """
        try:
            has_room = await self._run(
                scripts.PUT,
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
            raise WebhooksUnstored(f"Redis holds more than {MOST_BYTES >> 20} MiB of deliveries")
        self.arrived.set()

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Any sidecar may take."""
        return contextlib.nullcontext()

    async def take(self) -> Delivery | None:
        """Claim the repository whose delivery is due for the longest time, and return that one.

        Raises:
            RedisAway: There is no answer.
        """
        found = await self._run(scripts.TAKE, self._token, _milliseconds(CLAIM_SECONDS))
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
        await self._run(scripts.REMOVE, delivery.repository, delivery.id)

    async def put_off(self, delivery: Delivery, pause: float) -> None:
        """Count a failure; with a `pause` in seconds, also postpone the delivery behind others.

        Raises:
            RedisAway: There is no answer.
        """
        arguments = (delivery.repository, delivery.id, _milliseconds(pause))
        await self._run(scripts.PUT_OFF, *arguments)

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
            await self._run(scripts.KEEP, self._token, claim, *self._claimed)

    async def stop(self) -> None:
        """Give all claims back, and close the connection."""
        for repository in self._claimed:
            self._pipe.send("EVAL", *self._released(repository))
        await self._pipe.stop()

    def _released(self, repository: str) -> tuple[str | int, ...]:
        longest = _milliseconds(LONGEST_PAUSE)
        return scripts.RELEASE, 1, PREFIX, self._token, repository, longest

    async def _run(self, script: str, *arguments: str | bytes | int) -> Any:
        return await self._pipe.run("EVAL", script, 1, PREFIX, *arguments)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
