"""Work that one process may do at a time, as long as it can renew its lease in Redis."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from redis import RedisError
from redis.asyncio.lock import Lock
from redis.exceptions import LockError

RENEWALS: Final = 3
"""How often a lease is renewed in the time that it holds."""

WHEN_FULL: Final = "#!lua flags=allow-oom\nreturn redis.call(unpack(ARGV))"
"""A script that runs a small command although Redis has no memory left: a consumer makes room."""

_CANCEL_SECONDS: Final = 0.5

_Answer = TypeVar("_Answer")


class _Lease(Lock):
    async def do_acquire(self, token: str | bytes) -> bool:
        milliseconds = int(1000 * (self.timeout or 0))
        command = ("SET", self.name, token, "NX", "PX", milliseconds)
        return bool(await self.redis.eval(WHEN_FULL, 0, *command))


async def acquired(redis: Any, key: str, name: str, seconds: float) -> Lock | None:
    """Return the lease of a key, or None if another process has it.

    Args:
        redis: An async client of Redis.
        key: The key.
        name: Value of the key while this process has the lease.
        seconds: How long the lease holds unless it is renewed.
    """
    lease = _Lease(redis, key, timeout=seconds, blocking=False, thread_local=False)
    return lease if await lease.acquire(token=name) else None


async def change_under(
    redis: Any, key: str, name: str, change: Callable[[Any], Awaitable[_Answer]], *watched: str
) -> _Answer:
    """Change Redis in one transaction, unless another process has the lease by now.

    Args:
        redis: An async client of Redis.
        key: The key of the lease.
        name: Its value while this process has the lease.
        change: Reads what it needs from the pipeline that it gets, calls its `multi`, and adds
            commands. It is called again if a key has changed meanwhile.
        watched: Keys that `change` reads.

    Raises:
        LockError: Another process has the lease; nothing was changed.
    """

    async def fenced(pipe: Any) -> _Answer:
        if await pipe.get(key) != name:
            raise LockError("another process has the lease")
        return await change(pipe)

    answer: _Answer = await redis.transaction(fenced, key, *watched, value_from_callable=True)
    return answer


async def work_under(
    lease: Lock, seconds: float, work: Coroutine[Any, Any, None], leave: asyncio.Event
) -> None:
    """Do work until the lease cannot be renewed or is to be given back; then release it.

    Raises:
        LockError: The lease was lost.
        RedisError: Redis does not answer.
        Exception: The work has failed.
    """
    coroutines = (_renew(lease, seconds), work, leave.wait())
    tasks = [asyncio.create_task(each) for each in coroutines]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*map(_end, tasks))
    with contextlib.suppress(RedisError, OSError):
        await lease.release()
    errors = [task.exception() for task in tasks if not task.cancelled()]
    for error in filter(None, errors):
        raise error


async def _renew(lease: Lock, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds / RENEWALS)
        await lease.reacquire()


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, and return when it has ended.

    Once is not enough: before Python 3.12, `asyncio.wait_for`, which redis-py uses, may lose a
    cancellation (bpo-37658).
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_SECONDS)
