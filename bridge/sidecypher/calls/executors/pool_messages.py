"""Messages between the sidecar and its worker processes: JSON, not pickles."""

from typing import Any, Final

import msgspec

from sidecypher.protocol.envelope import ErrorBody
from sidecypher.sdk.registry import Kind
from sidecypher.telemetry.calls import LogFormat

MEMORY_EXIT: Final = 97
"""Exit code of a worker whose function has used up its memory."""

STOP_SECONDS: Final = 1.0
"""How long an idle worker may take to stop its shared objects and to send its last spans."""

KILL_SECONDS: Final = 1.5
"""How long until it is killed: it can still log how many spans it has lost."""


Cache = tuple[float, tuple[str, ...]]
"""Seconds and tags of `ctx.cache`."""


class Setup(msgspec.Struct, frozen=True):
    """First message to a worker: what to load, limits, and settings for logs and traces.

    Attributes:
        folders: Folders of procedures.
        sources: Names of the packages and folders to load; all if it is None.
        memory_mb: Memory that a function may use, in MiB.
        message_bytes: Maximum size of the rows of a call.
        traces: Whether the spans of functions are sent.
        epochs: Path of the file of epochs, for `invalidate`; empty if there is none.
    """

    folders: list[str]
    sources: list[str] | None = None
    memory_mb: int = 1024
    message_bytes: int = 16 * 1024 * 1024
    log_level: str = "WARNING"
    log_format: LogFormat = "json"
    traces: bool = False
    epochs: str = ""


class Ready(msgspec.Struct, frozen=True):
    """Message of a worker that has loaded its procedures."""


class Task(msgspec.Struct, frozen=True):
    """A call for a worker to run.

    Attributes:
        args: The arguments as they arrived.
        seconds: Time left.
        projection: Path of the projection's table; empty if there is none.
        first: Number of the first row, if it is a part of a batch.
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
    projection: str = ""
    first: int = 0


class Outcome(msgspec.Struct, frozen=True, tag=True):
    """Result of a task so far: encoded rows, or an error.

    Attributes:
        rows: JSON arrays of rows, each with its number of rows.
        more: Whether the function continues and another outcome follows.
        cache: What the function said by `ctx.cache`, in the last outcome.
    """

    call_id: str
    rows: list[tuple[int, msgspec.Raw]] = []
    more: bool = False
    error: ErrorBody | None = None
    cache: Cache | None = None
