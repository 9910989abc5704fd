"""The connection to Redis: opened, checked, and with errors that say what to do."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from redis import Redis, RedisError
from redis import asyncio as redis_asyncio
from redis import exceptions as redis_errors

from sidecypher_procedures.sync.errors import (
    RedisUnavailable,
    RedisUnsuitable,
    SyncError,
    SyncSettingsError,
)
from sidecypher_procedures.sync.streams import PARTITIONS

Answer = TypeVar("Answer")

OLDEST_MAJOR: Final = 7
"""The oldest major version of Redis that is tested."""

ANSWER_SECONDS: Final = 10.0
"""Longest time for Redis to answer; reads that wait for new entries wait less."""

_OPTIONS: Final[Mapping[str, Any]] = {
    "decode_responses": True,
    # Anybody may write to a stream; text that is not UTF-8 becomes a dead letter.
    "encoding_errors": "replace",
    "socket_connect_timeout": 5.0,
    "socket_timeout": ANSWER_SECONDS,
    "client_name": "sidecypher",
}


def open_redis(url: str) -> Redis:
    """Return a client of Redis, which connects at the first command.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    with _checked_address():
        return Redis.from_url(url, **_OPTIONS)


def open_async_redis(url: str, **options: Any) -> Any:
    """Return an async client of Redis, which connects at the first command.

    Its type is left open, since redis-py annotates the methods of both clients as one.

    Args:
        url: Address of Redis.
        options: Options of redis-py that replace those of this module.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    with _checked_address():
        return redis_asyncio.Redis.from_url(url, **{**_OPTIONS, **options})


def ask_redis(url: str, work: Callable[[Any], Awaitable[Answer]]) -> Answer:
    """Run an async function with a client of Redis, and return what it returns.

    Raises:
        SyncSettingsError: The address cannot be used.
        RedisUnavailable: Redis cannot be reached, or refuses a command.
        RedisUnsuitable: Redis cannot be written to.
    """

    async def opened() -> Answer:
        async with open_async_redis(url) as redis:
            with translating():
                return await work(redis)

    return asyncio.run(opened())


@contextmanager
def _checked_address() -> Iterator[None]:
    try:
        yield
    except ValueError:
        # Its text may hold the password.
        raise SyncSettingsError(
            "The address of Redis cannot be used", hint="Give redis://HOST:PORT/DATABASE."
        ) from None


@contextmanager
def translating() -> Iterator[None]:
    """Raise errors of Redis as those of sidecypher.

    Raises:
        RedisUnavailable: Redis cannot be reached, or refuses a command.
        RedisUnsuitable: Redis cannot be written to.
    """
    try:
        yield
    except RedisError as error:
        raise _translated(error) from None
    except OSError:
        raise RedisUnavailable("Redis cannot be reached", retryable=True) from None


def _translated(error: RedisError) -> SyncError:
    match error:
        case redis_errors.OutOfMemoryError() | redis_errors.ExecAbortError() if (
            # A transaction is given up for other reasons, too.
            "OOM" in str(error) or isinstance(error, redis_errors.OutOfMemoryError)
        ):
            return RedisUnavailable(
                "Redis has no memory left",
                hint="Give it more `maxmemory`, or start the consumer, which removes entries.",
                retryable=True,
            )
        case redis_errors.ReadOnlyError():
            return _replica()
        case redis_errors.AuthenticationError() | redis_errors.NoPermissionError():
            return RedisUnavailable(
                "Redis refuses the user or the password",
                hint="Correct SIDECYPHER_REDIS_URL, or the rights of its user.",
            )
        case redis_errors.BusyLoadingError():
            return RedisUnavailable("Redis reads its data from the disk", retryable=True)
        case redis_errors.TimeoutError():
            return RedisUnavailable(
                "Redis did not answer in time",
                hint="Write `rediss://` only if Redis listens with TLS.",
                retryable=True,
            )
        case redis_errors.ConnectionError():
            return RedisUnavailable("Redis cannot be reached", retryable=True)
        case redis_errors.ResponseError() if str(error).startswith("MISCONF"):
            return RedisUnavailable(
                "Redis refuses writes, because it cannot save to its disk",
                hint="Look into the log of Redis, and at the space on its disk.",
                retryable=True,
            )
        case _:
            # What the server says may hold data.
            return RedisUnavailable(
                f"Redis has refused a command ({type(error).__name__})",
                hint="Look into the log of Redis, and at the rights of the user.",
            )


def _replica() -> RedisUnsuitable:
    return RedisUnsuitable(
        "Redis is a replica, which cannot be written to",
        hint="Name the primary in SIDECYPHER_REDIS_URL.",
    )


def check_partitions(found: str | None, partitions: int) -> None:
    """Raise SyncSettingsError unless Redis has no other number of partitions.

    Two numbers would put the events of one run into two streams, and so out of order.

    Args:
        found: The number at `PARTITIONS`; None if there was none.
        partitions: The number of this process.
    """
    if found is not None and found != str(partitions):
        raise SyncSettingsError(
            f"Redis has events in {found} partitions, not {partitions}",
            hint=f"Set SIDECYPHER_SYNC_PARTITIONS to {found}, or see docs/sync.md on how to change"
            f" it. The key is `{PARTITIONS}`.",
        )


async def check_server(redis: Any) -> list[str]:
    """Return warnings about how Redis is set up.

    Raises:
        RedisUnsuitable: It loses events, or cannot be written to.
        RedisUnavailable: It does not answer.
    """
    with translating():
        info = await redis.info("everything")
    return [*_warnings(info)]


def _warnings(info: Mapping[str, Any]) -> Iterator[str]:
    version = str(info.get("redis_version", "?"))
    if info.get("role") != "master":
        raise _replica()
    policy = info.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys-"):
        raise RedisUnsuitable(
            f"Redis removes keys when its memory is full (`{policy}`), and so loses events",
            hint="Set `maxmemory-policy noeviction`.",
        )
    major = version.split(".", 1)[0]
    if not major.isdigit() or int(major) < OLDEST_MAJOR:
        yield f"Redis {version} is older than {OLDEST_MAJOR}, the oldest that is tested"
    if not info.get("aof_enabled"):
        yield "Redis loses the events since its last snapshot when it ends (set `appendonly yes`)"
