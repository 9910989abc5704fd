"""What decorators make while a module is imported, whether the module keeps it or not."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

_made: Final[ContextVar[list[Any] | None]] = ContextVar("made", default=None)


def note(made: object) -> None:
    """Note what a decorator has made, if anybody listens."""
    noted = _made.get()
    if noted is not None:
        noted.append(made)


@contextlib.contextmanager
def noted() -> Iterator[list[Any]]:
    """Listen to decorators that run on this thread.

    Example:
        >>> with noted() as made:
        ...     note("a procedure")
        >>> made
        ['a procedure']
    """
    made: list[Any] = []
    token = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(token)
