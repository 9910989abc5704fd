"""`@background`: an async function that runs for as long as the sidecar."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher.errors import SignatureError
from sidecypher.sdk.declarations import declare
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.names import check_name
from sidecypher.sdk.signature.reader import place_of
from sidecypher.telemetry.calls import logger

_Resource = TypeVar("_Resource")


@dataclass(frozen=True, slots=True)
class SidecarContext:
    """The sidecar as functions see it that run outside of calls.

    Attributes:
        home: The sidecar's data directory, for the function's own files; it may be missing.
    """

    home: Path
    _resources: Resources = field(repr=False)

    @property
    def log(self) -> FilteringBoundLogger:
        """Structured logger; log facts, not request data."""
        return logger()

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, as `ctx.resource` does."""
        return self._resources.get(kind, is_loop=True)


BackgroundFunction = Callable[[SidecarContext], Awaitable[None]]
_Function = TypeVar("_Function", bound=BackgroundFunction)


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """One function that runs for as long as it is in service.

    Attributes:
        name: Its name; the path of the webhook that it belongs to, if it belongs to one.
    """

    name: str
    function: BackgroundFunction
    kind: Literal["background"] = "background"


def background(name: str) -> Callable[[_Function], _Function]:
    """Make an async function run in the background of every sidecar.

    It starts with the sidecar, on the event loop. It is cancelled when the sidecar stops, or when a
    reload replaces it. An error that it raises is logged, and it starts again: a second later, and
    after each further error twice as long, up to a minute.

    Args:
        name: Name for logs, with a namespace, such as `shop.queue`.

    Raises:
        SignatureError: At import: the name is not valid, or the function is not an async function
            of one argument.

    Example:
        >>> import asyncio
        >>> from sidecypher import BoltClient
        >>> @background("demo.expire")
        ... async def expire(context: SidecarContext) -> None:
        ...     while True:
        ...         await context.resource(BoltClient).run("MATCH (n:Expired) DETACH DELETE n")
        ...         await asyncio.sleep(60)
    """
    check_name(name, "background")

    def decorate(function: _Function) -> _Function:
        check_async(function, f"background function `{name}`", "run(context: SidecarContext)")
        declare(Background(name, function))
        return function

    return decorate


def check_async(function: Callable[..., object], what: str, example: str) -> None:
    """Raise `SignatureError` if a function is not an async function of one argument."""
    place = place_of(function)
    if not inspect.iscoroutinefunction(function) or not _takes_one(function):
        raise SignatureError(
            f"The {what} ({place}) is not an async function of one argument",
            hint=f"Write `async def {example}`, say.",
        )


def check_plain(function: Callable[..., object], what: str, example: str) -> None:
    """Raise `SignatureError` if a function is async, or does not accept one argument.

    It may be any callable, such as a `partial` with a secret.
    """
    if inspect.iscoroutinefunction(function) or not _takes_one(function):
        raise SignatureError(
            f"The {what} is not a plain function of one argument",
            hint=f"Write `def {example}`, say.",
        )


def _takes_one(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        return False
    return True
