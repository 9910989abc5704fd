"""Removing entries of a stream that nobody needs any more."""

from typing import Any


async def trim_acknowledged(redis: Any, stream: str) -> bool:
    """Remove the entries that every group of a stream has acknowledged.

    Never by length: an entry that waits would be lost.

    Returns:
        Whether the stream has a group; without one, nothing is removed.
    """
    needed = []
    for group in await redis.xinfo_groups(stream):
        pending = await redis.xpending(stream, group["name"])
        needed.append(pending["min"] or group["last-delivered-id"])
    if not needed:
        return False
    await redis.xtrim(stream, minid=min(needed, key=_place), approximate=False)
    return True


def _place(position: str) -> tuple[int, int]:
    milliseconds, number = position.split("-")
    return int(milliseconds), int(number)
