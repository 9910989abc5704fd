"""Recordings of failed calls, to run them again without Neo4j.

Only with the setting `record_dir`: a recording holds the arguments, the statements and Neo4j's
records, so it is as confidential as the graph.
"""

import contextlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.reservation import Reservation
from sidecypher.errors import RecordingError
from sidecypher.host.credentials import write_private
from sidecypher.protocol import envelope
from sidecypher.telemetry.calls import logger

MOST_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of the statements and records of a call; a larger call is not recorded."""

MOST_FILES: Final = 100
"""Most recordings; further calls are not recorded until some files are deleted."""

_NAME_LENGTH: Final = 100
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9-]")


class Exchange(msgspec.Struct, frozen=True):
    """One callback of the call and its reply, as they were sent."""

    method: str
    request: msgspec.Raw
    reply: msgspec.Raw


class Recording(msgspec.Struct, frozen=True):
    """One call that failed.

    Attributes:
        v: Version of this format.
        args: The arguments in their JSON form.
        error: The caller's error.
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
            return _decode(file.read_bytes())
        except OSError as error:
            raise RecordingError(
                f"The recording `{file.name}` cannot be read: {error.strerror}"
            ) from None
        except (msgspec.MsgspecError, UnicodeError):
            raise RecordingError(f"`{file.name}` is not a recording of a call") from None


_decode: Final = msgspec.json.Decoder(Recording).decode


@dataclass(slots=True)
class _RecordedCall:
    """The callbacks of a running call so far."""

    request: envelope.CallRequest
    exchanges: list[Exchange] = field(default_factory=list)
    size: int = 0

    def recording(self, session: Session) -> Session:
        """Return the session with its callbacks recorded."""
        call_back: envelope.CallBack = session.call_back

        def recorded(method: str, request: envelope.CallBackRequest) -> envelope.RunReply:
            reply = call_back(method, request)
            # As JSON, whose size is known, and which needs the least memory until the call ends.
            sent, received = envelope.write(request), envelope.write(reply)
            self.size += len(sent) + len(received)
            if self.size <= MOST_BYTES:
                self.exchanges.append(Exchange(method, msgspec.Raw(sent), msgspec.Raw(received)))
            return reply

        return replace(session, call_back=recorded)


class RecordingDispatcher(Dispatcher):
    """A dispatcher that writes each failed call to its own file."""

    def __init__(self, *arguments: Any, folder: Path, **named: Any) -> None:
        """Accept the arguments of `Dispatcher`, and the folder for the recordings."""
        super().__init__(*arguments, **named)
        self._folder = folder
        self._recordings: dict[str, _RecordedCall] = {}

    def call(
        self,
        request: envelope.CallRequest,
        session: Session,
        reservation: Reservation | None = None,
    ) -> envelope.CallReply:
        """Start a call as `Dispatcher.call` does, and record it if it fails."""
        call = _RecordedCall(request)
        return self._recorded(call, super().call(request, call.recording(session), reservation))

    def page(self, request: envelope.PageRequest, session: Session) -> envelope.CallReply:
        """Produce a page as `Dispatcher.page` does, and record its call if it fails."""
        call = self._recordings.pop(request.id, None)
        if call is None:
            return super().page(request, session)
        return self._recorded(call, super().page(request, call.recording(session)))

    def _recorded(self, call: _RecordedCall, reply: envelope.CallReply) -> envelope.CallReply:
        if isinstance(reply, envelope.ErrorReply):
            self._write(call, reply.error)
        elif reply.more:
            self._recordings[reply.id] = call
            self._drop_ended()
        return reply

    def _drop_ended(self) -> None:
        # The pages of other streams add and drop recordings meanwhile.
        for call_id in list(self._recordings):
            if call_id not in self.calls:
                self._recordings.pop(call_id, None)

    def _write(self, call: _RecordedCall, error: envelope.ErrorBody) -> None:
        request = call.request
        if call.size > MOST_BYTES or len(list(self._folder.glob("*.json"))) >= MOST_FILES:
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
            exchanges=call.exchanges,
        )
        # A full disk must not fail a call.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The id comes from a peer, and must not name another folder.
            name = _NOT_OF_NAMES.sub("_", request.id)[:_NAME_LENGTH]
            write_private(self._folder / f"{name}.json", msgspec.json.encode(recording))
