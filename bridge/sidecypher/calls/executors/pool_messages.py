"""What the sidecar and its worker processes say to each other: JSON, and no pickles."""

from typing import Any, Final

import msgspec

from sidecypher.protocol.envelope import ErrorBody
from sidecypher.sdk.registry import Kind
from sidecypher.telemetry.calls import LogFormat

MEMORY_EXIT: Final = 97
"""How a worker ends whose body has used up its memory."""

STOP_SECONDS: Final = 1.0
"""How long an idle worker may take to stop its shared objects and to send its last spans."""

KILL_SECONDS: Final = 1.5
"""When it is killed: a moment later, so that it can still tell of the spans it has lost."""


class Setup(msgspec.Struct, frozen=True):
    """First message to a worker: what to load, its bounds, and what it tells of itself."""

    folders: list[str]
    memory_mb: int
    message_bytes: int
    log_level: str
    log_format: LogFormat
    traces: bool


class Ready(msgspec.Struct, frozen=True):
    """A worker has loaded its procedures."""

    procedures: int


class Task(msgspec.Struct, frozen=True):
    """A call for a worker to run.

    Attributes:
        args: The arguments as they came.
        seconds: Time left.
    """

    call_id: str
    kind: Kind
    name: str
    signature: str
    args: list[Any]
    database: str
    user: str
    seconds: float
    traceparent: str


class Outcome(msgspec.Struct, frozen=True):
    """What came of the task of a call so far: rows, encoded, or an error.

    Attributes:
        more: Whether the body goes on, and another outcome follows.
    """

    call_id: str
    rows: list[msgspec.Raw] = []
    more: bool = False
    error: ErrorBody | None = None
