"""Calls without a socket: the same messages, passed directly to the dispatcher."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.errors import ProtocolError
from sidecypher.protocol import envelope
from sidecypher.sdk.call import no_transaction
from sidecypher.sdk.registry import Kind
from sidecypher.values.coders import decode_any, encode_any

_ids: Final = itertools.count(1)

Request = envelope.Hello | envelope.CallRequest | envelope.PageRequest | envelope.CloseRequest
Reply = envelope.HelloReply | envelope.CallReply | envelope.Done
Send = Callable[[Request], Reply]
"""Sends a request to a sidecar and returns the reply."""


class Client:
    """A caller of procedures, over any transport.

    Example:
        `Client(memory(dispatcher), catalogue).rows("demo.greet", "Ann")`
    """

    def __init__(
        self,
        send: Send,
        signatures: Mapping[str, str],
        timeout: float = 30.0,
        *,
        functions: Mapping[str, str] | None = None,
    ) -> None:
        """Say hello.

        Args:
            send: Sends a request to the sidecar.
            signatures: Signature hash of each procedure, as a plugin would hold them.
            timeout: Seconds a call may take.
            functions: Signature hash of each function.
        """
        self._send = send
        self._signatures = signatures
        self._functions = functions or {}
        self._remaining_ms = round(timeout * 1000)
        send(envelope.Hello(envelope.VERSION, "client", "call", ""))

    def rows(self, name: str, *arguments: Any) -> Iterator[list[Any]]:
        """Call a procedure and yield its rows, page by page; closing the iterator closes the call.

        Raises:
            CallError: With the code, text and hint of the sidecar.
        """
        request = self._request("procedure", name, self._signatures, arguments)
        page = self._page(request)
        is_open = page.more
        try:
            yield from _rows(page)
            while is_open:
                # A call whose page fails is over.
                is_open = False
                page = self._page(envelope.PageRequest(request.id, self._remaining_ms))
                is_open = page.more
                yield from _rows(page)
        finally:
            if is_open:
                self._send(envelope.CloseRequest(request.id))

    def value(self, name: str, *arguments: Any) -> Any:
        """Call a function and return its value.

        Raises:
            CallError: With the code, text and hint of the sidecar.
        """
        [[value]] = _rows(self._page(self._request("function", name, self._functions, arguments)))
        return value

    def _request(
        self, kind: Kind, name: str, signatures: Mapping[str, str], arguments: tuple[Any, ...]
    ) -> envelope.CallRequest:
        return envelope.CallRequest(
            id=f"client-{next(_ids)}",
            kind=kind,
            name=name,
            signature=signatures.get(name, ""),
            args=[encode_any(argument) for argument in arguments],
            remaining_ms=self._remaining_ms,
            mode="READ",
            database="neo4j",
            user="neo4j",
        )

    def _page(self, request: envelope.CallRequest | envelope.PageRequest) -> envelope.PageReply:
        reply = self._send(request)
        match reply:
            case envelope.PageReply():
                return reply
            case envelope.ErrorReply():
                raise reply.error.error()
        raise ProtocolError(f"The sidecar sent a {type(reply).__name__} instead of a page")


def memory(dispatcher: Dispatcher, call_back: envelope.CallBack = no_transaction) -> Send:
    """Return a function that sends requests to a dispatcher in this process."""
    session = Session(call_back)
    answers: dict[type, Callable[[Any, Session], Reply]] = {
        envelope.Hello: dispatcher.hello,
        envelope.CallRequest: dispatcher.call,
        envelope.PageRequest: dispatcher.page,
        envelope.CloseRequest: dispatcher.close,
    }
    return lambda request: answers[type(request)](request, session)


def _rows(page: envelope.PageReply) -> Iterator[list[Any]]:
    for row in msgspec.json.decode(page.rows):
        yield [decode_any(value) for value in row]
