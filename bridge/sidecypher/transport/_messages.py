"""Messages of a JVM in JSON: read, passed to the dispatcher, and answered with its reply."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.errors import ProtocolError, SidecarBusy
from sidecypher.protocol import envelope

_Message = TypeVar("_Message", bound=msgspec.Struct)
_Answer = Callable[[bytes, Session], msgspec.Struct]


class Messages:
    """The dispatcher's methods for messages in JSON."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._methods: Final[dict[str, _Answer]] = {
            "hello": _reading(envelope.Hello, dispatcher.hello),
            "call": self._call,
            "page": _reading(envelope.PageRequest, dispatcher.page),
            "close": _reading(envelope.CloseRequest, dispatcher.close),
            "cancel": _reading(envelope.CancelRequest, dispatcher.cancel),
            "failures": _reading(envelope.FailuresRequest, dispatcher.failures),
        }

    def answer(self, method: str, payload: bytes, session: Session) -> bytes:
        """Return the reply to a request, both in JSON; it may hold the call's error.

        Raises:
            ProtocolError: The peer broke the protocol; close the connection.
        """
        try:
            answer = self._methods[method]
        except KeyError:
            raise ProtocolError("The peer asked for a method that does not exist") from None
        if not session.jvm and method != "hello":
            raise ProtocolError("The peer sent a message before its hello")
        return envelope.write(answer(payload, session))

    def _call(self, payload: bytes, session: Session) -> envelope.CallReply:
        try:
            reservation = self._dispatcher.calls.reserve(len(payload))
        except SidecarBusy as error:
            return self._dispatcher.refuse(envelope.read(payload, envelope.CallHead), error)
        with reservation:
            request = envelope.read(payload, envelope.CallRequest)
            return self._dispatcher.call(request, session, reservation)


def _reading(
    kind: type[_Message], answer: Callable[[_Message, Session], Any]
) -> Callable[[bytes, Session], Any]:
    return lambda payload, session: answer(envelope.read(payload, kind), session)
