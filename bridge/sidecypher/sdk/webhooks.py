"""`@webhook`: an HTTP endpoint of a package of procedures, for senders that sign requests."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher.errors import SignatureError
from sidecypher.sdk.declarations import declare
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.reader import place_of
from sidecypher.telemetry.calls import logger

PREFIX: Final = "/webhooks/"
"""Prefix of every webhook's path, so that none hides a path of the sidecar itself."""

_MARK: Final = "__sidecypher_webhook__"
_PATH: Final = re.compile(r"/webhooks(?:/[a-z0-9][a-z0-9_-]*)+")

_Resource = TypeVar("_Resource")


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """The sidecar as its webhooks see it.

    Attributes:
        home: The sidecar's data directory, for the webhook's own files; it may be missing.
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


@dataclass(frozen=True, slots=True)
class WebhookRequest(WebhookContext):
    """A request to a webhook. Its sender was not checked.

    Attributes:
        headers: By name, whose case does not matter.
        body: The bytes as they were sent, to which signatures refer.
    """

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The response to the sender.

    Attributes:
        status: HTTP status; senders repeat a request if it is not a 2xx.
        text: One line for the sender's log.
    """

    status: int
    text: str = ""


WebhookFunction = Callable[[WebhookRequest], Awaitable[WebhookAnswer]]
WebhookCheck = Callable[[Mapping[str, str]], WebhookAnswer | None]
WebhookBackground = Callable[[WebhookContext], Awaitable[None]]
_Function = TypeVar("_Function", bound=WebhookFunction)


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """One function that answers requests to its path.

    Attributes:
        name: The path.
        check: Refuses a request by its headers.
        background: Runs for as long as the webhook is in service.
    """

    name: str
    function: WebhookFunction
    check: WebhookCheck | None = None
    background: WebhookBackground | None = None
    kind: Literal["webhook"] = "webhook"


def webhook(
    path: str,
    *,
    check: WebhookCheck | None = None,
    background: WebhookBackground | None = None,
) -> Callable[[_Function], _Function]:
    """Make an async function the receiver of POST requests to a path of the sidecar.

    The sidecar requires no token there, because senders do not have it. Your function must check
    the sender before it reads anything else of the request. It runs on the event loop, for at most
    10 seconds, and receives bodies of up to 25 MB.

    Args:
        path: A path such as `/webhooks/github`; choose the part after `/webhooks/`.
        check: Plain function of the headers, called before the body is read. It returns the answer
            to a refused request, else None. It must not block.
        background: Async function that runs on the event loop from the sidecar's start to its end,
            or until a reload replaces the webhook. It can process requests that were stored.

    Raises:
        SignatureError: At import: the path is not valid, or the function accepts no request.

    Example:
        >>> import hmac
        >>> @webhook("/webhooks/demo")
        ... async def receive(request: WebhookRequest) -> WebhookAnswer:
        ...     signature = hmac.digest(b"secret", request.body, "sha256").hex()
        ...     given = request.headers.get("x-demo-signature", "")
        ...     if not hmac.compare_digest(signature.encode(), given.encode()):
        ...         return WebhookAnswer(401, "the signature is wrong")
        ...     return WebhookAnswer(202)
    """
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise SignatureError(
            "`@webhook` was given a path that is not valid",
            hint="Write `/webhooks/` and names of lower-case letters, digits, `-` and `_`.",
        )

    def decorate(function: _Function) -> _Function:
        _check(function, path)
        declared = Webhook(path, function, check, background)
        setattr(function, _MARK, declared)
        declare(declared)
        return function

    return decorate


def _check(function: WebhookFunction, path: str) -> None:
    place = place_of(function)
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        has_one_parameter = False
    else:
        has_one_parameter = True
    if not inspect.iscoroutinefunction(function) or not has_one_parameter:
        raise SignatureError(
            f"The webhook `{path}` ({place}) is not an async function of one argument",
            hint="Write `async def receive(request: WebhookRequest) -> WebhookAnswer`, say.",
        )


def webhooks_in(modules: Iterable[ModuleType]) -> Iterator[Webhook]:
    """Yield the webhooks that `modules` define or import, each once."""
    seen: set[int] = set()
    for module in modules:
        for value in list(vars(module).values()):
            found = getattr(value, _MARK, None) if inspect.isfunction(value) else None
            if isinstance(found, Webhook) and id(found) not in seen:
                seen.add(id(found))
                yield found
