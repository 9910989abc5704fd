"""Objects that all calls of a sidecar share, such as an HTTP client with its cache."""

import inspect
import threading
from typing import Any, TypeVar

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
        """Stop all objects that can be stopped, the latest first."""
        while self._made:
            _, made = self._made.popitem()
            stop = getattr(made, "stop", None)
            stopped = stop() if stop is not None else None
            if inspect.isawaitable(stopped):
                await stopped
