"""Progress of a running procedure as progress notifications of MCP."""

import asyncio
import time
from collections import Counter
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


class Progress:
    """Sends the progress of calls to the clients that have asked for it.

    Neo4j does not say which running call belongs to which transaction. So nothing is sent while
    several calls of a procedure are under way here or running there, or if the only one cannot be
    the one that was requested.
    """

    def __init__(self, client: BoltClient) -> None:
        self._client = client
        self._under_way: Counter[str] = Counter()

    @asynccontextmanager
    async def sent(
        self, name: str, context: "ServerRequestContext[Any, Any]"
    ) -> AsyncIterator[None]:
        """Send the progress of a procedure, which the block calls."""
        self._under_way[name] += 1
        wanted = (context.meta or {}).get("progress_token") is not None
        task = asyncio.create_task(self._send(name, context)) if wanted else None
        try:
            yield
        finally:
            self._under_way[name] -= 1
            if task is not None:
                task.cancel()
                await asyncio.wait({task})

    async def _send(self, name: str, context: "ServerRequestContext[Any, Any]") -> None:
        requested = time.monotonic()
        call_id, sent = None, float("-inf")
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                found = await self._client.run(_RUNNING, name=name)
            except SidecypherError:
                # For example, this user may not list the running calls.
                return
            if len(found) != 1 or self._under_way[name] != 1:
                continue
            [call] = found
            began = time.monotonic() - call["seconds"] - requested
            if call_id is None and 0 <= began <= BEGIN_SECONDS:
                call_id = call["callId"]
            # A client must not get the same number twice, or a smaller one.
            if call["callId"] == call_id and call["done"] is not None and call["done"] > sent:
                sent = call["done"]
                await context.session.report_progress(sent, call["total"])
