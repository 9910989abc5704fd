"""Work that one process may do at a time, as long as it can renew its lease in Redis."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final

from redis import RedisError
from redis.asyncio.lock import Lock

RENEWALS: Final = 3
"""How often a lease is renewed in the time that it holds."""

_CANCEL_SECONDS: Final = 0.5


async def acquired(redis: Any, key: str, name: str, seconds: float) -> Lock | None:
    """Return the lease of a key, or None if another process has it.

    Args:
        redis: An async client of Redis.
        key: The key.
        name: Value of the key while this process has the lease.
        seconds: How long the lease holds unless it is renewed.
    """
    lease = Lock(redis, key, timeout=seconds, blocking=False, thread_local=False)
    return lease if await lease.acquire(token=name) else None


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
