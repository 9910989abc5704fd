"""The worker of a sidecar: it advances the sessions that are due, beside other sidecars."""

import asyncio
from functools import partial
from typing import Final

from sidecypher import BoltClient, Neo4jUnavailable, SidecarContext, SidecypherError
from sidecypher_procedures.session.service import EVERYWHERE, Service

POLL_SECONDS: Final = 0.2
"""How often a worker looks for due sessions while there are some."""

IDLE_SECONDS: Final = 2.0
"""How often it looks when it has found none for a while."""

DRIVE_SECONDS: Final = 60.0
"""How long a worker stays with one session before it looks for others."""

_TROUBLE_SECONDS: Final = 5.0

# Only sessions that somebody can advance are due, see `lease_until`. Those that wait longest first.
_DUE: Final = """
    MATCH (s:SESSION)
    WHERE s.status IN ['active', 'awaiting_input'] AND s.lease_until <= datetime.realtime() AND NOT s.id IN $taken
    RETURN s.id AS id ORDER BY s.lease_until LIMIT $most
"""


async def work(context: SidecarContext) -> None:
    """Advance due sessions until the sidecar stops, if the setting is on."""
    service = Service(context)
    if service.shared.settings.worker:
        await _Worker(context, service).run()


class _Worker:
    def __init__(self, context: SidecarContext, service: Service) -> None:
        self._log = context.log
        self._client = context.resource(BoltClient)
        self._service = service
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        pause = POLL_SECONDS
        try:
            while True:
                found = await self._begin()
                pause = POLL_SECONDS if found or self._tasks else min(2 * pause, IDLE_SECONDS)
                if await self._service.shared.woken(pause):
                    # What has woken it may not be committed yet.
                    pause = POLL_SECONDS / 2
        finally:
            for task in self._tasks.values():
                task.cancel()

    async def _begin(self) -> bool:
        """Begin with as many due sessions as there is room for; return whether any was due."""
        room = self._service.shared.settings.worker_sessions - len(self._tasks)
        if room <= 0:
            return True
        try:
            due = await self._client.run(_DUE, taken=[*self._tasks], most=room)
        except Neo4jUnavailable:
            # Neo4j may start later than the sidecar, and starts again.
            await asyncio.sleep(_TROUBLE_SECONDS)
            return False
        for record in due:
            task = asyncio.create_task(self._drive(record["id"]))
            self._tasks[record["id"]] = task
            task.add_done_callback(partial(self._end, record["id"]))
        return bool(due)

    def _end(self, session_id: str, _task: asyncio.Task[None]) -> None:
        del self._tasks[session_id]

    async def _drive(self, session_id: str) -> None:
        try:
            await self._service.drive(self._client, EVERYWHERE, DRIVE_SECONDS).run(session_id)
        except* SidecypherError as errors:
            kind = type(errors.exceptions[0]).__name__
            self._log.warning("session not advanced", session=session_id, type=kind)
