"""The messages of the bridge: one JSON envelope per call, page, callback and answer.

`docs/wire.md` describes the protocol; the Java core implements its other half.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from sidecypher.errors import CallError, ProtocolError, SidecypherError, sendable

VERSION: Final = 2
"""Version of the envelope, exchanged in `hello`."""


Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=86_400_000)]
"""A time of at most a day."""


class Hello(msgspec.Struct, frozen=True):
    """First message on every connection.

    Attributes:
        v: Envelope version of the peer.
        jvm: Identity of the JVM that connects, new at each of its starts; never empty.
        role: `control` for the one connection whose end means that the JVM has gone.
        catalogue: Hash of the catalogue in the peer's plugin.
    """

    v: int
    jvm: Annotated[str, msgspec.Meta(min_length=1)]
    role: Literal["control", "call"]
    catalogue: str


class CallHead(msgspec.Struct, frozen=True):
    """What a call is named by in logs and traces: a `CallRequest` without what it asks for."""

    id: str
    name: str
    database: str
    user: str

    @property
    def call_id(self) -> str:
        """The call's identifier, as logs and traces name it."""
        return self.id


class CallRequest(CallHead, frozen=True):
    """Start a call and answer with its first page.

    Attributes:
        signature: Signature hash the plugin was built with.
        remaining_ms: Milliseconds left for this message.
        kind: What `name` names; a procedure and a function may share a name.
        traceparent: W3C trace context of the caller, or empty.
    """

    signature: str
    args: list[Any]
    remaining_ms: Milliseconds
    mode: str
    kind: Literal["procedure", "function"] = "procedure"
    traceparent: str = ""


class PageRequest(msgspec.Struct, frozen=True):
    """Answer with the next page of an open call."""

    id: str
    remaining_ms: Milliseconds


class CloseRequest(msgspec.Struct, frozen=True):
    """Forget an open call; its generator is closed."""

    id: str


class CancelRequest(msgspec.Struct, frozen=True):
    """Stop a call that is being served."""

    id: str
    reason: Literal["deadline", "terminated"]


_Name = Annotated[str, msgspec.Meta(max_length=1000)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Failures(msgspec.Struct, frozen=True):
    """How many calls a plugin has ended by itself, where no sidecar could count them.

    Attributes:
        procedure: Cypher name of a procedure or function.
        code: An error's code, or `OFF` for calls that were not to be made.
        result: Whether the callers got the error, or nulls or no rows instead.
        count: Since the JVM started.
    """

    procedure: _Name
    code: Annotated[str, msgspec.Meta(pattern=r"^(SC-\d{3}|OFF)\Z")]
    result: Literal["error", "nothing"]
    count: _Count


class FailuresRequest(msgspec.Struct, frozen=True):
    """Take note of all failures of the plugin so far; sent on the control connection."""

    failures: Annotated[list[Failures], msgspec.Meta(max_length=10_000)]


class ErrorBody(msgspec.Struct, frozen=True):
    """An error as it crosses the bridge."""

    code: str
    message: str
    hint: str = ""
    retryable: bool = False
    details: dict[str, Any] = {}

    @classmethod
    def of(cls, error: SidecypherError) -> "ErrorBody":
        """Return the wire form of `error`; details that are not JSON are left out."""
        try:
            details = msgspec.to_builtins(error.details, str_keys=True)
            msgspec.json.encode(details)
        except (TypeError, ValueError, RecursionError):
            details = {}
        code, message, hint = map(sendable, (error.code, error.message, error.hint))
        return cls(code, message, hint, error.retryable, details)

    def error(self) -> CallError:
        """Return the error it stands for."""
        return CallError(
            self.message,
            code=self.code,
            hint=self.hint,
            retryable=self.retryable,
            details=self.details,
        )


class HelloReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `Hello`: who the sidecar is, or why it will not talk.

    Attributes:
        failures: Whether it takes `FailuresRequest`; a plugin that is older or newer may not ask.
        busy: Whether it will not talk because it has too many connections.
    """

    v: int
    sidecar: str = ""
    catalogue: str = ""
    failures: bool = False
    busy: bool = False
    error: ErrorBody | None = None


class PageReply(msgspec.Struct, frozen=True):
    """Rows of a call; `more` tells that another page must be asked for."""

    id: str
    rows: list[msgspec.Raw]
    more: bool


Refused = Literal["", "stopping", "busy"]
"""Why a sidecar has not begun a call; empty when that is not so."""


class ErrorReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The call has failed and is over.

    Attributes:
        refused: Why the sidecar has not begun the call, so that another one may; empty when it has.
            Its own member, because functions choose the codes of their errors.
    """

    id: str
    error: ErrorBody
    refused: Refused = ""


CallReply = PageReply | ErrorReply
"""Answer to `CallRequest` and `PageRequest`."""


class Done(msgspec.Struct, frozen=True):
    """Answer to `CloseRequest` and `CancelRequest`."""

    id: str


class Noted(msgspec.Struct, frozen=True):
    """Answer to `FailuresRequest`."""


class RunRequest(msgspec.Struct, frozen=True):
    """Callback: run a statement in the caller's transaction.

    Attributes:
        cursor: Number of its result, by which further pages are asked for; new in each call.
    """

    id: str
    cursor: int
    cypher: str
    params: dict[str, Any]


class CursorRequest(msgspec.Struct, frozen=True):
    """Callback: give the next page of a result, or forget it."""

    id: str
    cursor: int


class RunError(msgspec.Struct, frozen=True):
    """What Neo4j said of a statement that failed."""

    code: str
    message: str


class RunReply(msgspec.Struct, frozen=True):
    """Answer to a callback: a page of records; `more` tells that another may be asked for."""

    columns: list[str] = []
    rows: list[list[Any]] = []
    more: bool = False
    error: RunError | None = None


CallBackRequest = RunRequest | CursorRequest

CallBack = Callable[[str, CallBackRequest], RunReply]
"""Sends `run`, `next` or `discard` to the caller's thread and returns the answer."""

_Message = TypeVar("_Message", bound=msgspec.Struct)
write: Final = msgspec.json.Encoder().encode


def read(payload: bytes, kind: type[_Message]) -> _Message:
    """Read a message of one kind.

    Raises:
        ProtocolError: The payload is something else. What it holds is not told.
    """
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ProtocolError(f"The peer sent something that is not a {kind.__name__}") from None
