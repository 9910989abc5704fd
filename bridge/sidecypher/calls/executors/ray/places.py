"""Where tasks run on a Ray cluster: in any process of Ray, or in one that is kept."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from functools import cache, partial
from typing import Any, Final, Protocol

import ray
import ray.exceptions

from sidecypher.calls.executors.ray import node
from sidecypher.sdk.registry import RayOptions

_GRACE_SECONDS: Final = node.INTERRUPT_SECONDS + 0.5

_AHEAD: Final = 8
"""Outcomes of a task that wait for the driver; a function that is further ahead waits."""

_SURE_SECONDS: Final = 1.0
"""How long a process that was just used is taken for alive."""

_STREAM: Final = {"num_returns": "streaming", "_generator_backpressure_num_objects": _AHEAD}

_KNOWN: Final = ("num_cpus", "num_gpus", "memory")
"""Resources that Ray itself knows."""


class Place(Protocol):
    """Where tasks run: any process of Ray, or one that is kept."""

    def begin(self, message: bytes, table: Any) -> Any:
        """Begin a task; return the generator of its outcomes."""

    def interrupt(self, generator: Any, call_id: str) -> None:
        """Ask the function of a task to end."""

    def kill(self, generator: Any) -> None:
        """End a task that did not end when asked."""


class TaskPlace:
    """Any process of Ray, on any node."""

    def __init__(self, node_setup: bytes, options: RayOptions) -> None:
        self._node_setup = node_setup
        self._options = options

    def begin(self, message: bytes, table: Any) -> Any:
        """Begin a task; return the generator of its outcomes."""
        options = {**_STREAM, **_resources(self._options), "max_retries": 0}
        return _remote(node.run).options(**options).remote(self._node_setup, message, table)

    def interrupt(self, generator: Any, _call_id: str) -> None:
        """Ask the function of a task to end."""
        ray.cancel(generator)

    def kill(self, generator: Any) -> None:
        """End a task that did not end when asked."""
        ray.cancel(generator, force=True)


class ActorPlace:
    """A process of Ray that is kept for one procedure.

    Attributes:
        is_lost: Whether it cannot be used again.
        used: When it was known to be alive, on the monotonic clock.
    """

    def __init__(self, node_setup: bytes, options: RayOptions) -> None:
        self.is_lost = False
        self.used = time.monotonic()
        # The second thread is for `interrupt`.
        self._actor: Any = (
            _remote(node.Actor)
            .options(**_resources(options), max_restarts=0, max_concurrency=2)
            .remote(node_setup)
        )

    async def ping(self) -> None:
        """Wait until it has loaded the procedures, or see whether it is still there.

        Raises:
            RayError: It is not.
        """
        await self._actor.ping.remote()

    def begin(self, message: bytes, table: Any) -> Any:
        """Begin a task; return the generator of its outcomes."""
        return self._actor.run.options(**_STREAM).remote(message, table)

    def interrupt(self, _generator: Any, call_id: str) -> None:
        """Ask the function of a task to end."""
        # Only this one: the process may run another when it reads this.
        self._actor.interrupt.remote(call_id)

    def kill(self, _generator: Any) -> None:
        """End the process."""
        self.is_lost = True
        ray.kill(self._actor)


class NotStartedError(Exception):
    """A process of an actor could not be started; no call has begun in it.

    Attributes:
        cause: What Ray says.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class Actors:
    """The processes of Ray that are kept for one procedure."""

    def __init__(self, node_setup: bytes, options: RayOptions) -> None:
        self._new = partial(ActorPlace, node_setup, options)
        self._missing = options.max_actors
        self._waiting = 0
        self._idle: asyncio.LifoQueue[ActorPlace | NotStartedError] = asyncio.LifoQueue()
        self._starts: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[Place]:
        """Lend a process that runs nothing, when there is one.

        Raises:
            NotStartedError: None can be started.
        """
        actor = await self._take()
        # If its call is cancelled it may die, and the next call asks whether it is still there.
        actor.used = -math.inf
        try:
            yield actor
            actor.used = time.monotonic()
        except ray.exceptions.RayError:
            actor.is_lost = True
            raise
        finally:
            if actor.is_lost:
                # At once: other calls may wait for it.
                self._begin_start()
            else:
                self._idle.put_nowait(actor)

    async def _take(self) -> ActorPlace:
        while True:
            if self._idle.empty() and self._missing:
                # Another one may be free before the cluster has room for a new one.
                self._missing -= 1
                self._begin_start()
            self._waiting += 1
            try:
                actor = await self._idle.get()
            finally:
                self._waiting -= 1
            if isinstance(actor, NotStartedError):
                raise actor
            if await self._is_there(actor):
                return actor
            self._begin_start()

    async def _is_there(self, actor: ActorPlace) -> bool:
        """Return whether a process is alive: a call sent to a lost one has an unknown outcome."""
        if actor.is_lost:
            return False
        if time.monotonic() - actor.used <= _SURE_SECONDS:
            return True
        try:
            await actor.ping()
        except ray.exceptions.RayError:
            return False
        except asyncio.CancelledError:
            self._idle.put_nowait(actor)
            raise
        return True

    def _begin_start(self) -> None:
        start = asyncio.ensure_future(self._start())
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)

    async def _start(self) -> None:
        try:
            actor = self._new()
            await actor.ping()
        except Exception as error:  # noqa: BLE001 - Ray refuses wrong resources with others
            self._missing += 1
            for _ in range(self._waiting):
                self._idle.put_nowait(NotStartedError(error))
        else:
            self._idle.put_nowait(actor)


async def run(place: Place, call_id: str, message: bytes, table: Any) -> AsyncGenerator[bytes]:
    """Run a task once; yield its outcomes."""
    generator = place.begin(message, table)
    try:
        async for reference in generator:
            yield await reference
    except (asyncio.CancelledError, GeneratorExit):
        # A place is lent again when this has ended.
        await _ended(asyncio.ensure_future(_stop(place, generator, call_id)))
        raise


async def _ended(work: asyncio.Future[None]) -> None:
    """Wait until it has ended; a cancellation meanwhile is raised afterwards."""
    try:
        await asyncio.wait([work])
    except asyncio.CancelledError:
        await _ended(work)
        raise
    work.result()


async def _stop(place: Place, generator: Any, call_id: str) -> None:
    place.interrupt(generator, call_id)
    with contextlib.suppress(ray.exceptions.RayError):
        try:
            await asyncio.wait_for(_read_to_end(generator), _GRACE_SECONDS)
        except TimeoutError:
            place.kill(generator)


async def _read_to_end(generator: Any) -> None:
    async for reference in generator:
        await reference


@cache
def _remote(what: Any) -> Any:
    """Return a function or class as Ray's, always the same: Ray stores each in the cluster."""
    return ray.remote(what)


def _resources(options: RayOptions) -> dict[str, Any]:
    known = {name: options.resources[name] for name in _KNOWN if name in options.resources}
    own = {name: amount for name, amount in options.resources.items() if name not in _KNOWN}
    # An actor reserves nothing by default, as Ray's own do: it is there when it does nothing too.
    return {"num_cpus": 0 if options.actor else 1, **known, "resources": own}
