"""`@webhook`: an HTTP endpoint of a package of procedures, for senders elsewhere that sign."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher.errors import SignatureError
from sidecypher.sdk.marks import note
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.reader import place_of
from sidecypher.telemetry.calls import logger

PREFIX: Final = "/webhooks/"
"""Every path of a webhook begins with it, so that none hides a path of the sidecar's own."""

_MARK: Final = "__sidecypher_webhook__"
_PATH: Final = re.compile(r"/webhooks(?:/[a-z0-9][a-z0-9_-]*)+")

_Resource = TypeVar("_Resource")


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """What a sidecar offers to its webhooks.

    Attributes:
        home: The sidecar's folder of state, for files of the webhook's own; it may be missing.
    """

    home: Path
    _resources: Resources = field(repr=False)

    @property
    def log(self) -> FilteringBoundLogger:
        """Structured logger; log facts, not what was sent."""
        return logger()

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, as `ctx.resource` does."""
        return self._resources.get(kind, is_loop=True)


@dataclass(frozen=True, slots=True)
class WebhookRequest(WebhookContext):
    """What was posted to a webhook. Its sender was not checked.

    Attributes:
        headers: By name, whose case does not matter.
        body: The bytes as they were sent, which is what signatures are about.
    """

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """What the sender is told.

    Attributes:
        status: HTTP status; senders repeat what is no 2xx.
        text: One line that the sender's log shows.
    """

    status: int
    text: str = ""


WebhookBody = Callable[[WebhookRequest], Awaitable[WebhookAnswer]]
WebhookCheck = Callable[[Mapping[str, str]], WebhookAnswer | None]
WebhookBackground = Callable[[WebhookContext], Awaitable[None]]
_Body = TypeVar("_Body", bound=WebhookBody)


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """One function that answers what is posted to its path.

    Attributes:
        name: The path.
        check: Refuses a request by its headers.
        background: Runs for as long as the webhook is in service.
    """

    name: str
    body: WebhookBody
    check: WebhookCheck | None = None
    background: WebhookBackground | None = None
    kind: Literal["webhook"] = "webhook"


def webhook(
    path: str,
    *,
    check: WebhookCheck | None = None,
    background: WebhookBackground | None = None,
) -> Callable[[_Body], _Body]:
    """Make an async function the receiver of what is posted to a path of the sidecar's HTTP side.

    The sidecar asks for no token there, so that a program elsewhere may: the
    function has to check by itself who sent the request, before it reads anything else of it. It
    runs on the event loop, for at most 10 seconds, and gets bodies of up to 25 MB.

    Args:
        path: Such as `/webhooks/github`; what follows `/webhooks/` is yours.
        check: Plain function of the headers, called before the body is read: it returns the answer
            to what is refused, else None. It must not block.
        background: Async function that runs on the event loop from the sidecar's start to its end,
            or until a reload replaces the webhook: for what was stored and is done later.

    Raises:
        SignatureError: At import: the path cannot be one, or the function takes no request.

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
            "`@webhook` was given a path that cannot be one",
            hint="Write `/webhooks/` and names of lower-case letters, digits, `-` and `_`.",
        )

    def decorate(body: _Body) -> _Body:
        _check(body, path)
        made = Webhook(path, body, check, background)
        setattr(body, _MARK, made)
        note(made)
        return body

    return decorate


def _check(body: WebhookBody, path: str) -> None:
    place = place_of(body)
    try:
        inspect.signature(body).bind(object())
    except TypeError:
        takes_one = False
    else:
        takes_one = True
    if not inspect.iscoroutinefunction(body) or not takes_one:
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
