"""The messages of the bridge: one JSON envelope per call, page, callback and answer.

`docs/wire.md` describes the protocol; the Java core implements its other half.
"""

import threading
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
        role: `control` for the one connection whose end means that the JVM has ended.
        catalogue: Hash of the catalogue in the peer's plugin.
    """

    v: int
    jvm: Annotated[str, msgspec.Meta(min_length=1)]
    role: Literal["control", "call"]
    catalogue: str


class CallHead(msgspec.Struct, frozen=True):
    """Identity of a call in logs and traces: the part of a `CallRequest` without arguments."""

    id: str
    name: str
    database: str
    user: str

    @property
    def call_id(self) -> str:
        """Id of the call, as logs and traces name it."""
        return self.id


class CallRequest(CallHead, frozen=True):
    """Request to start a call; the reply is its first page.

    Attributes:
        signature: Signature hash that the plugin was built with.
        remaining_ms: Milliseconds left for this message.
        kind: Kind of `name`; a procedure and a function may share a name.
        traceparent: W3C trace context of the caller, or empty.
    """

    signature: str
    args: list[Any]
    remaining_ms: Milliseconds
    mode: str
    kind: Literal["procedure", "function"] = "procedure"
    traceparent: str = ""


class PageRequest(msgspec.Struct, frozen=True):
    """Request for the next page of an open call."""

    id: str
    remaining_ms: Milliseconds


class CloseRequest(msgspec.Struct, frozen=True):
    """Request to forget an open call and to close its generator."""

    id: str


class CancelRequest(msgspec.Struct, frozen=True):
    """Request to stop a call that is being served."""

    id: str
    reason: Literal["deadline", "terminated"]


_Name = Annotated[str, msgspec.Meta(max_length=1000)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Failures(msgspec.Struct, frozen=True):
    """Number of calls that a plugin ended by itself, without a sidecar to count them.

    Attributes:
        procedure: Cypher name of a procedure or function.
        code: Code of an error, or `OFF` if availability `OFF` prevented the calls.
        result: Whether the callers got the error, or nulls or no rows instead.
        count: Number of calls since the JVM started.
    """

    procedure: _Name
    code: Annotated[str, msgspec.Meta(pattern=r"^(SC-\d{3}|OFF)\Z")]
    result: Literal["error", "nothing"]
    count: _Count


class CachedCalls(msgspec.Struct, frozen=True):
    """Rows of one procedure that a plugin keeps, and calls that it answered with them.

    Attributes:
        hits: Number of calls that it answered since the JVM started.
        hits_without_sidecar: Those of them during which no sidecar could be called.
        misses: Number of calls for which it had no rows.
        entries: Number of calls whose rows it has.
        bytes: Their size, estimated.
    """

    procedure: _Name
    hits: _Count
    hits_without_sidecar: _Count
    misses: _Count
    entries: _Count
    bytes: _Count


class FailuresRequest(msgspec.Struct, frozen=True):
    """Report of what the plugin did without the sidecar so far, on the control connection."""

    failures: Annotated[list[Failures], msgspec.Meta(max_length=10_000)]
    cache: Annotated[list[CachedCalls], msgspec.Meta(max_length=10_000)] = []


class ErrorBody(msgspec.Struct, frozen=True):
    """An error in the form in which it crosses the bridge."""

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
        """Return the error as an exception."""
        return CallError(
            self.message,
            code=self.code,
            hint=self.hint,
            retryable=self.retryable,
            details=self.details,
        )


class HelloReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reply to `Hello`: identity of the sidecar, or the reason why it refuses the connection.

    Attributes:
        failures: Whether it accepts `FailuresRequest`; older or newer plugins may not send one.
        busy: Whether it refuses because it has too many connections.
    """

    v: int
    sidecar: str = ""
    catalogue: str = ""
    failures: bool = False
    busy: bool = False
    error: ErrorBody | None = None


class Validity(msgspec.Struct, frozen=True):
    """How long a plugin may keep the rows of a reply.

    Attributes:
        file: Identity of the file of epochs.
        ms: Milliseconds, counted from when the plugin sent its request.
        epochs: Places and epochs in that file; when one of them is replaced, the rows are void.
    """

    file: str
    ms: int
    epochs: list[tuple[int, int]]


class PageReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rows of a call, an array of arrays.

    Attributes:
        more: Whether another page must be requested.
        cache: Whether and how long the plugin may keep the rows, which are then all of the call.
    """

    id: str
    rows: msgspec.Raw
    more: bool
    cache: Validity | None = None


Refused = Literal["", "stopping", "busy", "lacking"]
"""Reason why a sidecar did not start a call; empty if it did."""


class ErrorReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Error with which a call has ended.

    Attributes:
        refused: Why the sidecar did not start the call, so that another one may; empty if it did.
            A separate member, because functions choose the codes of their errors.
    """

    id: str
    error: ErrorBody
    refused: Refused = ""


CallReply = PageReply | ErrorReply
"""Reply to `CallRequest` and `PageRequest`."""


class Done(msgspec.Struct, frozen=True):
    """Reply to `CloseRequest` and `CancelRequest`."""

    id: str


class Noted(msgspec.Struct, frozen=True):
    """Reply to `FailuresRequest`."""


class RunRequest(msgspec.Struct, frozen=True):
    """Callback: run a statement in the caller's transaction.

    Attributes:
        cursor: Number of its result, which requests for further pages use; new in each call.
    """

    id: str
    cursor: int
    cypher: str
    params: dict[str, Any]


class CursorRequest(msgspec.Struct, frozen=True):
    """Callback: return the next page of a result, or forget the result."""

    id: str
    cursor: int


class RunError(msgspec.Struct, frozen=True):
    """Error of Neo4j for a statement that failed."""

    code: str
    message: str


class RunReply(msgspec.Struct, frozen=True):
    """Reply to a callback: a page of records; if `more` is true, another can be requested."""

    columns: list[str] = []
    rows: list[list[Any]] = []
    more: bool = False
    error: RunError | None = None


CallBackRequest = RunRequest | CursorRequest

CallBack = Callable[[str, CallBackRequest], RunReply]
"""Sends `run`, `next` or `discard` to the caller's thread and returns the answer."""

_Message = TypeVar("_Message", bound=msgspec.Struct)
write: Final = msgspec.json.Encoder().encode
_decoders: Final[dict[type[msgspec.Struct], msgspec.json.Decoder[Any]]] = {}
_preparing: Final = threading.Lock()


def read(payload: bytes, kind: type[_Message]) -> _Message:
    """Parse a message of one kind.

    Raises:
        ProtocolError: The payload is something else. The error does not show its content.
    """
    decoder: msgspec.json.Decoder[_Message] | None = _decoders.get(kind)
    if decoder is None:
        # msgspec 0.22 ends the process if two threads prepare one type at the same time.
        with _preparing:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ProtocolError(f"The peer sent something that is not a {kind.__name__}") from None
