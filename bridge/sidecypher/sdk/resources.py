"""Objects that all calls of a sidecar share, such as an HTTP client with its cache."""

import asyncio
import inspect
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Final, TypeVar

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from sidecypher.host.threads import in_thread
from sidecypher.protocol.deadline import Deadline
from sidecypher.telemetry.calls import logger

LOOP_SECONDS: Final = 0.25
"""Longest wait of the event loop for an object, since other calls need the loop too."""

_PAUSE_SECONDS: Final = 0.01

_Resource = TypeVar("_Resource")

Await = Callable[[Callable[[], Awaitable[Any]]], Any]
"""Runner of an async function on the sidecar's event loop, for a limited time."""


class _Creation:
    """The attempt of one thread to make an object; others wait until it is over."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.thread = threading.get_ident()
        self.error: Exception | None = None
        self.is_over = False

    def wait(self, deadline: Deadline) -> None:
        """Wait until it is over, and raise its error if it failed."""
        # Not for a lock: a thread that waits for one cannot be interrupted.
        while not self.is_over:
            if deadline.expired():
                raise TimeoutError
            time.sleep(_PAUSE_SECONDS)
        if self.error is not None:
            raise self.error


class Resources(Collector):
    """One object per class, made at its first use and stopped with the sidecar.

    Example:
        >>> class Counter: ...
        >>> resources = Resources()
        >>> resources.get(Counter) is resources.get(Counter)
        True
    """

    def __init__(self) -> None:
        self._made: dict[type, Any] = {}
        self._creations: dict[_Creation, None] = {}

    def provide(self, made: object) -> None:
        """Add an existing object, as the one of its class."""
        self._made[type(made)] = made

    def get(self, kind: type[_Resource], *, is_loop: bool = False) -> _Resource:
        """Return the one object of class `kind`; the first caller makes it, the others wait.

        Args:
            kind: Its class.
            is_loop: Whether this is the event loop, which must not wait for long.

        Raises:
            TimeoutError: The event loop has waited `LOOP_SECONDS` for another thread.
            RecursionError: The constructor requests its own class.
        """
        while True:
            made: _Resource | None = self._made.get(kind)
            if made is not None:
                return made
            making = self._creation_of(kind)
            if making is None:
                self._make(kind, _Creation(kind))
            elif making.thread == threading.get_ident():
                raise RecursionError(f"A {kind.__qualname__} needs itself to be made")
            else:
                making.wait(Deadline.after(LOOP_SECONDS if is_loop else math.inf))

    def _creation_of(self, kind: type) -> _Creation | None:
        """Return the one that is making an object: the first that is not over."""
        for each in list(self._creations):
            if each.kind is kind and not each.is_over:
                return each
        return None

    def _make(self, kind: type, own: _Creation) -> None:
        """Make an object, unless another thread has begun to or has made it.

        This thread may be interrupted anywhere. Whatever it has done until then, it must end its
        creation: others wait for that. If it raised no error, the next of them tries again.
        """
        try:
            try:
                self._creations[own] = None
                if self._creation_of(kind) is own and kind not in self._made:
                    self._made[kind] = kind()
            except Exception as failure:
                own.error = failure
                raise
            finally:
                own.is_over = True
        finally:
            # Again: while a debugger traces it, an interrupt may come even before the line above.
            own.is_over = True
            self._creations.pop(own, None)

    def ping(self, await_: Await) -> dict[str, str | None]:
        """Call the method `ping`, plain or async, of each object that has one.

        Returns:
            For each such class, None, or the type of the exception that its `ping` raised.
        """
        found: dict[str, str | None] = {}
        for kind, made in list(self._made.items()):
            ping = getattr(made, "ping", None)
            if ping is None:
                continue
            try:
                _call(ping, await_)
            except Exception as error:  # noqa: BLE001 - an author's `ping` may raise anything
                found[kind.__qualname__] = f"its `ping` raised {type(error).__name__}"
            else:
                found[kind.__qualname__] = None
        return found

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of each object that has a method `collect`."""
        for kind, made in list(self._made.items()):
            collect = getattr(made, "collect", None)
            if collect is None:
                continue
            try:
                yield from list(collect())
            except Exception as error:  # noqa: BLE001 - an author's `collect` may raise anything
                logger().error(
                    "resource not measured", resource=kind.__name__, type=type(error).__name__
                )

    def of_modules(self, modules: Iterable[ModuleType]) -> list[type]:
        """Return the classes of these modules that have an object."""
        return [kind for kind in list(self._made) if any(_defines(each, kind) for each in modules)]

    def drop(self, kinds: Iterable[type], await_: Await) -> None:
        """Drain and stop the objects of unused classes."""
        for kind in kinds:
            made = self._made.pop(kind, None)
            for name in ("drain", "stop"):
                try:
                    _call(getattr(made, name, None), await_)
                except BaseException as error:  # noqa: BLE001 - an author's may raise anything
                    _not_stopped(kind, error)

    @property
    def can_drain(self) -> bool:
        """Whether any object has a method `drain`."""
        return any(hasattr(made, "drain") for made in list(self._made.values()))

    async def drain(self) -> None:
        """Drain all objects at once, while calls are still served."""
        # A copy: running calls may make objects.
        made = list(self._made.items())
        await asyncio.gather(*(_end(kind, _drained(each)) for kind, each in made))

    async def stop(self) -> None:
        """Stop all objects that have `stop`, the latest first; a failure does not skip others."""
        while self._made:
            kind, made = self._made.popitem()
            await _end(kind, _stopped(made))


async def _drained(made: object) -> None:
    """Call an object's `drain`, if it has one; a plain one on a thread, since calls still run."""
    drain = getattr(made, "drain", None)
    if inspect.iscoroutinefunction(drain):
        await drain()
    elif drain is not None:
        await asyncio.wrap_future(in_thread(drain, "sidecypher-drain"))


async def _stopped(made: object) -> None:
    stop = getattr(made, "stop", None)
    ended = stop() if stop is not None else None
    if inspect.isawaitable(ended):
        await ended


async def _end(kind: type, ending: Awaitable[None]) -> None:
    """Await the end of an object, and log an exception of the author's method."""
    try:
        await ending
    except BaseException as error:
        task = asyncio.current_task()
        # A method that awaits its own cancelled task raises the same as if this task is cancelled.
        if task is not None and task.cancelling():
            raise
        _not_stopped(kind, error)


def _call(method: Callable[[], Any] | None, await_: Await) -> None:
    """Call a method on this thread if it is plain, on the event loop if it is async."""
    if inspect.iscoroutinefunction(method):
        await_(method)
    elif method is not None:
        method()


def _defines(module: ModuleType, kind: type) -> bool:
    """Return whether this module defined the class, not a later module of the same name."""
    if kind.__module__ != module.__name__:
        return False
    found: Any = module
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _not_stopped(kind: type, error: BaseException) -> None:
    logger().error("resource not stopped", resource=kind.__name__, type=type(error).__name__)
