"""Redis, if one is named, as the procedures of `github` use it."""

from importlib.util import find_spec
from typing import Any

import structlog

from sidecypher_procedures.github.sharing.pipe import ANSWER_SECONDS, RedisPipe
from sidecypher_procedures.sync.settings import RedisSettings


def find_redis() -> str | None:
    """Return the address of Redis; None if none is named, or its library is missing.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    url = RedisSettings.load().url
    if url is None:
        return None
    if find_spec("redis") is None:
        structlog.get_logger().warning(
            "github.not_shared", reason="run `pip install 'sidecypher[sync]'`"
        )
        return None
    return url.get_secret_value()


def open_client(url: str, **options: Any) -> Any:
    """Return a client whose answers are bytes.

    A command is not repeated: its caller goes on without Redis.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    # Imported late: the library is that of an extra.
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    from sidecypher_procedures.sync.connection import open_async_redis  # noqa: PLC0415

    return open_async_redis(
        url,
        decode_responses=False,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=ANSWER_SECONDS,
        **options,
    )


def open_pipe(url: str) -> RedisPipe:
    """Return a pipe, which connects at the first command.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    return RedisPipe(open_client(url, socket_timeout=None))
