"""The end of the MCP server over standard input and output, when a signal asks for it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sidecypher import BoltClient

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@asynccontextmanager
async def ended_by_signals(client: BoltClient) -> AsyncIterator[None]:
    """Cancel the block when a signal asks the process to end, and end the process after it.

    The SDK reads standard input on a thread, which nothing can stop. Python would wait for it until
    the client closes its end.

    Args:
        client: Runs the calls of the block.
    """
    task = asyncio.current_task()
    arrived: list[int] = []

    def stop(number: int) -> None:
        arrived.append(number)
        if task is not None:
            task.cancel()

    for number in _STOP_SIGNALS:
        # `nohup` has it ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        if arrived:
            # It terminates the transactions of cancelled calls.
            await client.stop()
            os._exit(128 + arrived[0])
