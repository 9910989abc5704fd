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

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.reservation import Reservation
from sidecypher.errors import RecordingError
from sidecypher.host.credentials import write_private
from sidecypher.protocol import envelope
from sidecypher.telemetry.calls import logger

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
    error: envelope.ErrorBody
    exchanges: list[Exchange]

    @classmethod
    def read(cls, file: Path) -> "Recording":
        """Read a recording.

        Raises:
            RecordingError: The file cannot be read, or is not a recording.
        """
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except OSError as error:
            raise RecordingError(
                f"The recording `{file.name}` cannot be read: {error.strerror}"
            ) from None
        except (msgspec.MsgspecError, UnicodeError):
            raise RecordingError(f"`{file.name}` is not a recording of a call") from None


@dataclass(slots=True)
class _RecordedCall:
    """What has been said in a call so far."""

    request: envelope.CallRequest
    exchanges: list[Exchange] = field(default_factory=list)
    size: int = 0

    def between(self, session: Session) -> Session:
        """Return the session with its callbacks overheard."""
        call_back: envelope.CallBack = session.call_back

        def overheard(method: str, request: envelope.CallBackRequest) -> envelope.RunReply:
            reply = call_back(method, request)
            # As JSON, whose size is known, and which takes the least memory until the call ends.
            asked, answered = envelope.write(request), envelope.write(reply)
            self.size += len(asked) + len(answered)
            if self.size <= MOST_BYTES:
                self.exchanges.append(Exchange(method, msgspec.Raw(asked), msgspec.Raw(answered)))
            return reply

        return replace(session, call_back=overheard)


class RecordingDispatcher(Dispatcher):
    """A dispatcher that writes each failing call to its own file."""

    def __init__(
        self, *arguments: Any, folder: Path, workers: ProcessWorkers | None = None
    ) -> None:
        """Take what `Dispatcher` takes, and the folder for the recordings."""
        super().__init__(*arguments, workers=workers)
        self._folder = folder
        self._heard: dict[str, _RecordedCall] = {}

    def call(
        self,
        request: envelope.CallRequest,
        session: Session,
        reservation: Reservation | None = None,
    ) -> envelope.CallReply:
        """Begin a call as `Dispatcher.call` does, and record it if it fails."""
        heard = _RecordedCall(request)
        return self._recorded(heard, super().call(request, heard.between(session), reservation))

    def page(self, request: envelope.PageRequest, session: Session) -> envelope.CallReply:
        """Produce a page as `Dispatcher.page` does, and record its call if it fails."""
        heard = self._heard.pop(request.id, None)
        if heard is None:
            return super().page(request, session)
        return self._recorded(heard, super().page(request, heard.between(session)))

    def _recorded(self, heard: _RecordedCall, reply: envelope.CallReply) -> envelope.CallReply:
        if isinstance(reply, envelope.ErrorReply):
            self._write(heard, reply.error)
        elif reply.more:
            self._heard[reply.id] = heard
            self._drop_ended()
        return reply

    def _drop_ended(self) -> None:
        for call_id in [each for each in self._heard if each not in self._calls]:
            del self._heard[call_id]

    def _write(self, heard: _RecordedCall, error: envelope.ErrorBody) -> None:
        request = heard.request
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
        # No call must fail because the disk is full.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The id comes from a peer: nothing in it may name another folder.
            name = _NOT_OF_NAMES.sub("_", request.id)[:_NAME_LENGTH]
            write_private(self._folder / f"{name}.json", msgspec.json.encode(recording))
