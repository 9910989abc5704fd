"""What the calls of a sidecar share: settings, engine, and what runs bodies."""

import asyncio
import contextlib
from typing import Final, Protocol, TypeVar

from sidecypher import BoltClient, Steps
from sidecypher_procedures.session.api_calls import ApiCalls
from sidecypher_procedures.session.bodies import Bodies
from sidecypher_procedures.session.driving import Drive
from sidecypher_procedures.session.engine import Engine, Limits
from sidecypher_procedures.session.functions import Functions, Place
from sidecypher_procedures.session.generation import Generation, OpenAiGenerator, make_generator
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
