"""A step that waits for others, as a model or an API would let it."""

import asyncio

from sidecypher import step


@step("bench.wait")
async def wait(seconds: float) -> float:
    """Wait for a number of seconds."""
    await asyncio.sleep(seconds)
    return seconds
