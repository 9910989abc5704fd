"""Procedures and webhooks that decorators declare during an import, kept by the module or not."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

_collected: Final[ContextVar[list[Any] | None]] = ContextVar("collected", default=None)


def declare(declaration: object) -> None:
    """Add what a decorator declares to the list of the current import, if there is one."""
    collected = _collected.get()
    if collected is not None:
        collected.append(declaration)


@contextlib.contextmanager
def collect_declarations() -> Iterator[list[Any]]:
    """Collect the declarations of decorators that run on this thread.

    Example:
        >>> with collect_declarations() as collected:
        ...     declare("a procedure")
        >>> collected
        ['a procedure']
    """
    collected: list[Any] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)
