"""Objects that all calls of a sidecar share, such as an HTTP client with its cache."""

import inspect
import threading
from typing import Any, TypeVar

from sidecypher.telemetry import logger

_Resource = TypeVar("_Resource")


class Resources:
    """One object per class, made at its first use and stopped with the sidecar.

    Example:
        >>> class Counter: ...
        >>> resources = Resources()
        >>> resources.get(Counter) is resources.get(Counter)
        True
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._made: dict[type, Any] = {}

    def get(self, kind: type[_Resource]) -> _Resource:
        """Return the one object of class `kind`."""
        made = self._made.get(kind)
        if made is None:
            with self._lock:
                made = self._made.get(kind)
                if made is None:
                    made = self._made[kind] = kind()
        return made

    async def stop(self) -> None:
        """Stop all objects that can be stopped, the latest first; one that fails stops no other."""
        while self._made:
            kind, made = self._made.popitem()
            try:
                stop = getattr(made, "stop", None)
                stopped = stop() if stop is not None else None
                if inspect.isawaitable(stopped):
                    await stopped
            except Exception as error:  # noqa: BLE001 - an author's `stop` may raise anything
                logger().error(
                    "resource not stopped", resource=kind.__name__, type=type(error).__name__
                )
