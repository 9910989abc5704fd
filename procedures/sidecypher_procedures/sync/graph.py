"""The connection to Neo4j of a process that stays."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from sidecypher import BoltClient, SidecypherError
from sidecypher.cli.packages import open_client

_NOT_RUNNING: Final = "SC-310"


async def open_graph(
    stack: AsyncExitStack,
    log: Any,
    home: Path | None,
    config: Path | None,
    database: str | None = None,
) -> BoltClient:
    """Return a client of Neo4j; wait while the embedded one does not run yet."""
    while True:
        try:
            client = open_client(database=database, home=home, config=config)
            return await stack.enter_async_context(client)
        except SidecypherError as error:
            if error.code != _NOT_RUNNING:
                raise
            log.info("sync.waits", why=error.message)
        await asyncio.sleep(1)
