"""Progress of a running procedure as progress notifications of MCP."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from sidecypher import BoltClient, SidecypherError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

POLL_SECONDS: Final = 0.5
"""Pause between two looks at the running calls."""

BEGIN_SECONDS: Final = 5.0
"""Longest time from the request to the start of its call: as long as the client may connect."""

_RUNNING: Final = """
CALL sidecypher.running() YIELD callId, name, seconds, done, total WHERE name = $name
RETURN callId, seconds, done, total
"""


@asynccontextmanager
async def progress_sent(
    client: BoltClient, name: str, context: "ServerRequestContext[Any, Any]"
) -> AsyncIterator[None]:
    """Send the progress of a procedure during the block, if the client has asked for it.

    Neo4j does not say which running call belongs to which transaction. So nothing is sent while
    several calls of this procedure are running, or if the only one cannot be that of the block.
    """
    if not (context.meta or {}).get("progress_token"):
        yield
        return
    task = asyncio.create_task(_send_progress(client, name, context))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _send_progress(
    client: BoltClient, name: str, context: "ServerRequestContext[Any, Any]"
) -> None:
    requested = time.monotonic()
    call_id, sent = None, float("-inf")
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            found = await client.run(_RUNNING, name=name)
        except SidecypherError:
            # For example, this user may not list the running calls.
            return
        if len(found) != 1:
            continue
        [call] = found
        began = time.monotonic() - call["seconds"] - requested
        if call_id is None and 0 <= began <= BEGIN_SECONDS:
            call_id = call["callId"]
        # A client must not get the same number twice, or a smaller one.
        if call["callId"] == call_id and call["done"] is not None and call["done"] > sent:
            sent = call["done"]
            await context.session.report_progress(sent, call["total"])
