"""Publishers: they add events to Redis, and need no Neo4j."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from sidecypher_procedures.sync.connection import (
    check_partitions,
    open_async_redis,
    open_redis,
    translating,
)
from sidecypher_procedures.sync.errors import RedisUnavailable
from sidecypher_procedures.sync.events import checked_event
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import PARTITIONS, events_key, partition_of, viewer_key

VIEWER_EVENTS: Final = 1000
"""How many of the latest events of a run are kept for those who watch it."""

VIEWER_SECONDS: Final = 86_400
"""How long these are kept after the last one."""


class _Added(NamedTuple):
    """What one event adds to Redis."""

    event_id: str
    stream: str
    viewer: str
    fields: dict[str, str]


class RunPublisher:
    """Publishes events of runs to Redis.

    Events of one run are written to the graph in the order in which they were published. A
    publisher may be used by several threads.

    Args:
        redis: A client of redis-py with `decode_responses=True`.
        partitions: Number of partitions, as `SIDECYPHER_SYNC_PARTITIONS`.

    Example:
        >>> with RunPublisher.connect("redis://localhost:6379") as publisher:  # doctest: +SKIP
        ...     publisher.publish("triage-7", {"type": "userMessage", "content": "It fails"})
        '019a8f0e-2c7b-7d3e-9a51-0d6b2f1c4e88'
    """

    def __init__(self, redis: Any, partitions: int) -> None:
        self._redis = redis
        self._partitions = partitions
        self._is_checked = False

    @classmethod
    def connect(cls, url: str, *, partitions: int | None = None) -> Self:
        """Return a publisher for the Redis at an address, which connects at the first event.

        Args:
            url: Such as ``redis://:PASSWORD@HOST:6379/0``.
            partitions: Number of partitions; that of the environment by default.

        Raises:
            SyncSettingsError: The address or a setting cannot be used.
        """
        return cls(open_redis(url), partitions or SyncSettings.load().partitions)

    def publish(self, run_id: str, event: Mapping[str, Any]) -> str:
        """Publish an event of a run.

        To publish one again after an error, give it the id that is `eventId` in the error's
        details. An event that was published twice is written once.

        Args:
            run_id: The run, which must exist when the event is written to the graph.
            event: As `runs.append` takes it. Without `id` it gets a UUID version 7; an event with
                such an id and without `createdAt` happened at the time in the id.

        Returns:
            The id of the event.

        Raises:
            InvalidEvent: `runs.append` would not accept it; nothing was published.
            RedisUnavailable: Redis did not confirm it, though it may have it.
            RedisUnsuitable: Redis cannot be written to.
            SyncSettingsError: Redis has another number of partitions.
        """
        added = _prepare(run_id, event, self._partitions)
        try:
            with translating():
                if not self._is_checked:
                    found = self._redis.set(PARTITIONS, self._partitions, nx=True, get=True)
                    check_partitions(found, self._partitions)
                    self._is_checked = True
                with self._redis.pipeline(transaction=True) as pipe:
                    _queue(pipe, added)
                    pipe.execute()
        except RedisUnavailable as error:
            error.details["eventId"] = added.event_id
            raise
        return added.event_id

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def __enter__(self) -> Self:
        """Return the publisher."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()


class AsyncRunPublisher:
    """Publishes events of runs to Redis from async code; otherwise as `RunPublisher`.

    Example:
        >>> async def greet() -> None:
        ...     async with AsyncRunPublisher.connect("redis://localhost:6379") as publisher:
        ...         await publisher.publish("triage-7", {"type": "userMessage", "content": "Hi"})
    """

    def __init__(self, redis: Any, partitions: int) -> None:
        self._redis = redis
        self._partitions = partitions
        self._is_checked = False

    @classmethod
    def connect(cls, url: str, *, partitions: int | None = None) -> Self:
        """Return a publisher; see `RunPublisher.connect`."""
        return cls(open_async_redis(url), partitions or SyncSettings.load().partitions)

    async def publish(self, run_id: str, event: Mapping[str, Any]) -> str:
        """Publish an event of a run; see `RunPublisher.publish`."""
        added = _prepare(run_id, event, self._partitions)
        try:
            with translating():
                if not self._is_checked:
                    found = await self._redis.set(PARTITIONS, self._partitions, nx=True, get=True)
                    check_partitions(found, self._partitions)
                    self._is_checked = True
                async with self._redis.pipeline(transaction=True) as pipe:
                    _queue(pipe, added)
                    await pipe.execute()
        except RedisUnavailable as error:
            error.details["eventId"] = added.event_id
            raise
        return added.event_id

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def __aenter__(self) -> Self:
        """Return the publisher."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()


def _prepare(run_id: str, event: Mapping[str, Any], partitions: int) -> _Added:
    """Check an event and return what it adds.

    Raises:
        InvalidEvent: The graph would not accept it.
    """
    event_id, fields = checked_event(run_id, event)
    stream = events_key(partition_of(run_id, partitions))
    return _Added(event_id, stream, viewer_key(run_id), fields)


def _queue(pipe: Any, added: _Added) -> None:
    pipe.xadd(added.stream, added.fields)
    pipe.xadd(added.viewer, added.fields, maxlen=VIEWER_EVENTS, approximate=True)
    pipe.expire(added.viewer, VIEWER_SECONDS)
