"""`@webhook`: an HTTP endpoint of a package of procedures, for senders that sign requests."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from sidecypher.errors import SignatureError
from sidecypher.sdk.backgrounds import (
    Background,
    BackgroundFunction,
    SidecarContext,
    check_async,
    check_plain,
)
from sidecypher.sdk.declarations import declare

PREFIX: Final = "/webhooks/"
"""Prefix of every webhook's path, so that none hides a path of the sidecar itself."""

_PATH: Final = re.compile(r"/webhooks(?:/[a-z0-9][a-z0-9_-]*)+")


@dataclass(frozen=True, slots=True)
class WebhookRequest(SidecarContext):
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
WebhookVerify = Callable[[WebhookRequest], WebhookAnswer | None]
_Function = TypeVar("_Function", bound=WebhookFunction)


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """One function that answers requests to its path.

    Attributes:
        name: The path.
        check: Refuses a request by its headers.
        verify: Refuses a request by its signature.
        background: Runs for as long as the webhook is in service.
    """

    name: str
    function: WebhookFunction
    check: WebhookCheck | None = None
    verify: WebhookVerify | None = None
    background: Background | None = None
    kind: Literal["webhook"] = "webhook"


def webhook(
    path: str,
    *,
    check: WebhookCheck | None = None,
    verify: WebhookVerify | None = None,
    background: BackgroundFunction | None = None,
) -> Callable[[_Function], _Function]:
    """Make an async function the receiver of POST requests to a path of the sidecar.

    The sidecar requires no token there, because senders do not have it. Your function must check
    the sender before it reads anything else of the request. It runs on the event loop, for at most
    10 seconds, and receives bodies of up to 25 MB.

    Args:
        path: A path such as `/webhooks/github`; choose the part after `/webhooks/`.
        check: Plain function of the headers, called before the body is read. It returns the answer
            to a refused request, else None. It must not block.
        verify: Plain function of the request, called in a thread when the body is there. It returns
            the answer to a request with a wrong signature, else None. Only requests that it does
            not refuse take one of the places of the function, so strangers keep no one out.
        background: Async function that runs on the event loop from the sidecar's start to its end,
            or until a reload replaces the webhook, as one of `@background` does. It can process
            requests that were stored.

    Raises:
        SignatureError: At import: the path is not valid, or a function is not of the kind above.

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
        check_async(
            function, f"webhook `{path}`", "receive(request: WebhookRequest) -> WebhookAnswer"
        )
        for option, plain in (("check", check), ("verify", verify)):
            if plain is not None:
                check_plain(
                    plain,
                    f"`{option}` of the webhook `{path}`",
                    f"{option}(given) -> WebhookAnswer | None",
                )
        behind = None
        if background is not None:
            what = f"background function of the webhook `{path}`"
            check_async(background, what, "run(context: SidecarContext)")
            behind = Background(path, background)
        declare(Webhook(path, function, check, verify, behind))
        return function

    return decorate
