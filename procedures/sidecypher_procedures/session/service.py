"""What the calls of a sidecar share, and the worker, which advances sessions beside them."""

import asyncio
import contextlib
from functools import partial
from typing import Final, Protocol, TypeVar

from sidecypher import BoltClient, Neo4jUnavailable, SidecarContext, SidecypherError, Steps
from sidecypher_procedures.session.api_calls import ApiCalls
from sidecypher_procedures.session.driving import Bodies, Drive
from sidecypher_procedures.session.engine import Engine
from sidecypher_procedures.session.functions import Functions, Place
from sidecypher_procedures.session.generation import Generation, OpenAiGenerator, make_generator
from sidecypher_procedures.session.rounds import Limits
from sidecypher_procedures.session.settings import SessionSettings

EVERYWHERE: Final[frozenset[Place]] = frozenset({"inside", "graph"})
"""Where functions of a transaction run."""

INSIDE: Final[frozenset[Place]] = frozenset({"inside"})
"""Where functions run that touch nothing but their session."""

IN_CALL: Final = Limits(EVERYWHERE)
"""What the transaction of a call may do: it leaves what runs outside of it."""

_Resource = TypeVar("_Resource")


class Sidecar(Protocol):
    """What gives shared objects: the context of a call, or of a function in the background."""

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of a class."""


class Shared:
    """The settings and the clients, made at the first use and shared by all calls of a sidecar."""

    def __init__(self) -> None:
        self.settings: Final = SessionSettings.load()
        self.generator: Final = make_generator(self.settings)
        self.api_calls: Final = ApiCalls(self.settings.hosts)
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Let the worker of this sidecar look for due sessions."""
        self._wake.set()

    async def woken(self, seconds: float) -> bool:
        """Wait until it is woken, or for this long; return whether it was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        is_woken = self._wake.is_set()
        self._wake.clear()
        return is_woken

    async def stop(self) -> None:
        """Close the connections of the clients."""
        await self.api_calls.stop()
        if isinstance(self.generator, OpenAiGenerator):
            await self.generator.stop()


class Service:
    """The engine, as one call or the worker uses it."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.shared: Final = sidecar.resource(Shared)
        self.functions: Final = Functions(sidecar.resource(Steps))
        self.engine: Final = Engine(
            self.functions, is_foreign_allowed=self.shared.settings.foreign_references
        )

    def drive(self, client: BoltClient, places: frozenset[Place], seconds: float) -> Drive:
        """Return a run of sessions over Bolt."""
        bodies = Bodies(self.functions, Generation(self.shared.generator), self.shared.api_calls)
        return Drive(client, self.engine, bodies, places=places, seconds=seconds)


POLL_SECONDS: Final = 0.2
"""How often a worker looks for due sessions while there are some."""

IDLE_SECONDS: Final = 2.0
"""How often it looks when it has found none for a while."""

DRIVE_SECONDS: Final = 60.0
"""How long a worker stays with one session before it looks for others."""

_TROUBLE_SECONDS: Final = 5.0

# Only sessions that somebody can advance are due, see `lease_until`. Any of those that wait
# longest, so that workers seldom wait for each other's locks. The order is that of the index.
_DUE: Final = """
    UNWIND ['active', 'awaiting_input'] AS status
    CALL (status) {
        MATCH (s:SESSION)
        WHERE s.status = status AND s.lease_until <= datetime.realtime() AND NOT s.id IN $taken
        RETURN s.id AS id ORDER BY s.status, s.lease_until LIMIT $longest
    }
    RETURN id ORDER BY rand() LIMIT $most
"""
_CHOICE: Final = 8


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
            due = await self._client.run(
                _DUE, taken=[*self._tasks], most=room, longest=_CHOICE * room
            )
        except SidecypherError as error:
            if not isinstance(error, Neo4jUnavailable):
                self._log.warning("no due sessions found", type=type(error).__name__)
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
        # There is room again.
        self._service.shared.wake()

    async def _drive(self, session_id: str) -> None:
        try:
            await self._service.drive(self._client, EVERYWHERE, DRIVE_SECONDS).run(session_id)
        except* Exception as errors:  # noqa: BLE001 - whatever it is, the other sessions go on
            kind = type(errors.exceptions[0]).__name__
            self._log.warning("session not advanced", session=session_id, type=kind)
            # It is still due, and would fail again at once.
            await asyncio.sleep(_TROUBLE_SECONDS)
