"""Recordings of failing calls, to run them again where no Neo4j is.

Only with the setting `record_dir`: a recording holds the arguments, the statements and what Neo4j
answered, so it is as confidential as the graph.
"""

import contextlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from sidecypher import envelope
from sidecypher.credentials import write_private
from sidecypher.dispatch import Dispatcher, Session
from sidecypher.envelope import CallRequest, ErrorBody
from sidecypher.errors import RecordingError
from sidecypher.executors import ProcessWorkers
from sidecypher.state import CallBack
from sidecypher.telemetry import logger

MOST_BYTES: Final = 64 * 1024 * 1024
"""A call whose statements and records exceed this is not recorded."""

MOST_FILES: Final = 100
"""Failing calls that are kept; further ones are not recorded until some are deleted."""

_NAME_LENGTH: Final = 100
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9-]")


class Exchange(msgspec.Struct, frozen=True):
    """One callback of the call and its answer, as they crossed the wire."""

    method: str
    request: msgspec.Raw
    reply: msgspec.Raw


class Recording(msgspec.Struct, frozen=True):
    """One call that failed.

    Attributes:
        v: Version of this format.
        args: The arguments in their JSON form.
        error: What the caller was told.
    """

    v: Literal[1]
    kind: Literal["procedure", "function"]
    name: str
    args: list[Any]
    database: str
    user: str
    error: ErrorBody
    exchanges: list[Exchange]

    @classmethod
    def read(cls, file: Path) -> "Recording":
        """Read a recording.

        Raises:
            RecordingError: The file cannot be read, or is no recording.
        """
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except OSError as error:
            raise RecordingError(
                f"The recording `{file.name}` cannot be read: {error.strerror}"
            ) from None
        except (msgspec.MsgspecError, UnicodeError):
            raise RecordingError(f"`{file.name}` is no recording of a call") from None


@dataclass(slots=True)
class _Heard:
    """What has been said in a call so far."""

    request: bytes
    exchanges: list[Exchange] = field(default_factory=list)
    size: int = 0

    def between(self, call_back: CallBack) -> CallBack:
        """Return `call_back`, overheard."""

        def overheard(method: str, request: bytes) -> bytes:
            reply = call_back(method, request)
            self.size += len(request) + len(reply)
            if self.size <= MOST_BYTES:
                self.exchanges.append(Exchange(method, msgspec.Raw(request), msgspec.Raw(reply)))
            return reply

        return overheard


class _Reply(msgspec.Struct, frozen=True):
    """What matters of the reply to `call` and `page`."""

    id: str
    more: bool = False
    error: ErrorBody | None = None


class RecordingDispatcher(Dispatcher):
    """A dispatcher that writes each failing call to a file of its own."""

    def __init__(
        self, *arguments: Any, folder: Path, workers: ProcessWorkers | None = None
    ) -> None:
        """Take what `Dispatcher` takes, and the folder for the recordings."""
        super().__init__(*arguments, workers=workers)
        self._folder = folder
        self._heard: dict[str, _Heard] = {}

    def handle(self, method: str, payload: bytes, session: Session) -> bytes:
        """Answer one message, as `Dispatcher.handle` does."""
        answer = super().handle
        if method not in {"call", "page"}:
            return answer(method, payload, session)
        call_id = envelope.read(payload, _Reply).id
        heard = self._heard.pop(call_id, None) or _Heard(payload)
        overheard = replace(session, call_back=heard.between(session.call_back))
        reply = answer(method, payload, overheard)
        told = envelope.read(reply, _Reply)
        if told.error is not None:
            self._write(heard, told.error)
        elif told.more:
            self._heard[call_id] = heard
            self._forget_ended()
        return reply

    def _forget_ended(self) -> None:
        for call_id in [each for each in self._heard if each not in self._calls]:
            del self._heard[call_id]

    def _write(self, heard: _Heard, error: ErrorBody) -> None:
        request = envelope.read(heard.request, CallRequest)
        if heard.size > MOST_BYTES or len(list(self._folder.glob("*.json"))) >= MOST_FILES:
            logger().warning("call not recorded", call=request.id, reason="too large or too many")
            return
        recording = Recording(
            v=1,
            kind=request.kind,
            name=request.name,
            args=request.args,
            database=request.database,
            user=request.user,
            error=error,
            exchanges=heard.exchanges,
        )
        # Nobody's call must fail because the disk is full.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The id comes from a peer: nothing in it may name another folder.
            name = _NOT_OF_NAMES.sub("_", request.id)[:_NAME_LENGTH]
            write_private(self._folder / f"{name}.json", msgspec.json.encode(recording))
