"""Commands for Redis that never hold a call up for long, however slow or far away Redis is."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

import structlog

from sidecypher_procedures.sync.settings import RedisSettings

ANSWER_SECONDS: Final = 0.5
"""Longest time for Redis to answer; nothing is sent after it for `PAUSE_SECONDS`."""

PAUSE_SECONDS: Final = 5.0
_GRACE_SECONDS: Final = 0.05
_MOST_TOGETHER: Final = 64
_MOST_WAITING: Final = 10_000

Command = tuple[str | bytes | int, ...]


class RedisAway(Exception):
    """Redis does not answer, or did not a moment ago."""


class RedisPipe:
    """Sends commands in the order in which they were given, many at a time, on one connection.

    After a failure, commands fail at once for `PAUSE_SECONDS`. All methods must be called on one
    event loop.

    Attributes:
        was_away: Whether Redis did not answer the last time.
        failures: Number of times that Redis did not answer.
    """

    def __init__(self, redis: Any) -> None:
        self._redis = redis
        self._waiting: deque[tuple[Command, asyncio.Future[Any] | None]] = deque()
        self._wake = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._away_until = 0.0
        self.was_away = False
        self._stopped = False
        self.failures = 0

    @property
    def is_away(self) -> bool:
        """Whether commands fail without being sent."""
        return self._stopped or asyncio.get_running_loop().time() < self._away_until

    async def run(self, *command: str | bytes | int) -> Any:
        """Send a command; return the answer.

        Raises:
            RedisAway: There is no answer, or Redis refuses the command.
        """
        return await self.submit(*command)

    def submit(self, *command: str | bytes | int) -> asyncio.Future[Any]:
        """Send a command; return the future of what `run` returns or raises."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if not self._add(command, answer):
            answer.set_exception(RedisAway())
        return answer

    def send(self, *command: str | bytes | int) -> None:
        """Send a command, and do not care about its answer."""
        self._add(command, None)

    async def stop(self) -> None:
        """Send what waits, and close the connection."""
        self._stopped = True
        self._wake.set()
        if self._sender is not None:
            await self._sender
        await self._redis.aclose()

    def _add(self, command: Command, answer: asyncio.Future[Any] | None) -> bool:
        if self.is_away or len(self._waiting) >= _MOST_WAITING:
            return False
        self._waiting.append((command, answer))
        self._wake.set()
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        return True

    async def _send_all(self) -> None:
        while self._waiting or not self._stopped:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            count = min(len(self._waiting), _MOST_TOGETHER)
            together = [self._waiting.popleft() for _ in range(count)]
            try:
                answers = await self._exchange([command for command, _ in together])
            except Exception as error:  # noqa: BLE001 - whatever it is, callers go on without Redis
                await self._leave(error)
                self._fail(answer for _, answer in together)
                continue
            self.was_away = self._log_return()
            for (_, waiter), found in zip(together, answers, strict=True):
                if waiter is not None and not waiter.done():
                    waiter.set_result(found)

    async def _exchange(self, commands: Iterable[Command]) -> list[Any]:
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        exchange = asyncio.ensure_future(pipeline.execute())
        try:
            await asyncio.wait([exchange], timeout=ANSWER_SECONDS)
            # If this loop was busy for so long, an answer that has come is read now.
            await asyncio.wait([exchange], timeout=_GRACE_SECONDS)
            if not exchange.done():
                raise TimeoutError
            found: list[Any] = exchange.result()
            return found
        finally:
            exchange.cancel()

    async def _leave(self, error: Exception) -> None:
        self.failures += 1
        self._away_until = asyncio.get_running_loop().time() + PAUSE_SECONDS
        if not self.was_away:
            # Its text may hold data or the address.
            _log().warning("github.redis_away", reason=type(error).__name__)
        self.was_away = True
        waiting, self._waiting = self._waiting, deque()
        self._fail(answer for _, answer in waiting)
        with contextlib.suppress(Exception):
            # An answer that comes late must not be taken for that of a later command.
            await self._redis.connection_pool.disconnect()

    def _log_return(self) -> bool:
        if self.was_away:
            _log().info("github.redis_back")
        return False

    @staticmethod
    def _fail(answers: Iterable[asyncio.Future[Any] | None]) -> None:
        for answer in answers:
            if answer is not None and not answer.done():
                answer.set_exception(RedisAway())


def find_redis() -> str | None:
    """Return the address of Redis; None if none is named, or its library is missing.

    Raises:
        SyncSettingsError: The address cannot be used.
    """
    url = RedisSettings.load().url
    if url is None:
        return None
    if find_spec("redis") is None:
        _log().warning("github.not_shared", reason="run `pip install 'sidecypher[sync]'`")
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


def _log() -> Any:
    return structlog.get_logger()
