"""What decorators declare: kept at the decorated function, and collected during an import."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar

_collected: Final[ContextVar[list[Any] | None]] = ContextVar("collected", default=None)

_Declared = TypeVar("_Declared")


class Declaration(Protocol):
    """What a decorator makes of a function, such as a `Procedure` or a `Webhook`."""

    @property
    def function(self) -> Callable[..., Any]:
        """The decorated function."""


def mark_of(kind: type) -> str:
    """Return the name of the function's attribute that holds its declaration of class `kind`."""
    return f"__sidecypher_{kind.__name__.lower()}__"


def declare(declaration: Declaration, kind: type | None = None) -> None:
    """Keep a declaration at its function, and add it to the list of the current import, if any.

    Args:
        declaration: What was declared.
        kind: The class by which it is found, if that is a base class of its own.
    """
    setattr(declaration.function, mark_of(kind or type(declaration)), declaration)
    collected = _collected.get()
    if collected is not None:
        collected.append(declaration)


@contextlib.contextmanager
def collect_declarations() -> Iterator[list[Any]]:
    """Collect the declarations of decorators that run on this thread.

    Example:
        >>> from sidecypher import background
        >>> with collect_declarations() as collected:
        ...     @background("demo.idle")
        ...     async def idle(context): ...
        >>> [declaration.name for declaration in collected]
        ['demo.idle']
    """
    collected: list[Any] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def declared_in(modules: Iterable[ModuleType], kind: type[_Declared]) -> Iterator[_Declared]:
    """Yield the declarations of class `kind` that `modules` define or import, each once."""
    mark, seen = mark_of(kind), set()
    for module in modules:
        for value in list(vars(module).values()):
            found = getattr(value, mark, None) if callable(value) else None
            if isinstance(found, kind) and id(found) not in seen:
                seen.add(id(found))
                yield found
