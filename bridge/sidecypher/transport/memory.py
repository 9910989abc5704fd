"""Calls without a socket: the same messages, handed to the dispatcher directly."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from sidecypher import envelope
from sidecypher.codec import decoder, encoder
from sidecypher.dispatch import Dispatcher, Session
from sidecypher.envelope import CallRequest, CloseRequest, Hello, PageRequest
from sidecypher.errors import CallError
from sidecypher.registry import Kind
from sidecypher.state import CallBack, no_transaction
from sidecypher.types import CypherType

_encode: Final = encoder(CypherType("ANY", nullable=True))
_decode: Final = decoder(CypherType("ANY", nullable=True))
_ids: Final = itertools.count(1)

Send = Callable[[str, bytes], bytes]
"""Takes a method and a request's envelope to a sidecar and brings back the reply's envelope."""


class Client:
    """A caller of procedures, over any way of sending envelopes.

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
            send: How an envelope reaches the sidecar.
            signatures: Signature hash of each procedure, as a plugin would hold them.
            timeout: Seconds a call may take.
            functions: Signature hash of each function.
        """
        self._send = send
        self._signatures = signatures
        self._functions = functions or {}
        self._remaining_ms = round(timeout * 1000)
        self._message("hello", Hello(envelope.VERSION, "client", "call", ""))

    def rows(self, name: str, *arguments: Any) -> Iterator[list[Any]]:
        """Call a procedure and yield its rows, page by page; closing the iterator closes the call.

        Raises:
            CallError: With the code, text and hint the sidecar gave.
        """
        request = self._request("procedure", name, self._signatures, arguments)
        call_id, page = request.id, self._message("call", request)
        try:
            yield from _rows(page)
            while page["more"]:
                page = self._message("page", PageRequest(call_id, self._remaining_ms))
                yield from _rows(page)
        finally:
            if page.get("more"):
                self._message("close", CloseRequest(call_id))

    def value(self, name: str, *arguments: Any) -> Any:
        """Call a function and return its value.

        Raises:
            CallError: With the code, text and hint the sidecar gave.
        """
        page = self._message("call", self._request("function", name, self._functions, arguments))
        [[value]] = _rows(page)
        return value

    def _request(
        self, kind: Kind, name: str, signatures: Mapping[str, str], arguments: tuple[Any, ...]
    ) -> CallRequest:
        return CallRequest(
            id=f"client-{next(_ids)}",
            kind=kind,
            name=name,
            signature=signatures.get(name, ""),
            args=[_encode(argument) for argument in arguments],
            remaining_ms=self._remaining_ms,
            mode="READ",
            database="neo4j",
            user="neo4j",
        )

    def _message(self, method: str, request: Any) -> dict[str, Any]:
        reply: dict[str, Any] = msgspec.json.decode(self._send(method, envelope.write(request)))
        error = reply.get("error")
        if error is not None:
            raise CallError(
                error["message"],
                code=error["code"],
                hint=error["hint"],
                retryable=error["retryable"],
                details=error["details"],
            )
        return reply


def memory(dispatcher: Dispatcher, call_back: CallBack = no_transaction) -> Send:
    """Return a way to send envelopes to a dispatcher in this process.

    Args:
        dispatcher: Who answers.
        call_back: What stands in for the caller's transaction.
    """
    session = Session(call_back)
    return lambda method, payload: dispatcher.handle(method, payload, session)


def _rows(page: dict[str, Any]) -> Iterator[list[Any]]:
    for row in page["rows"]:
        yield [_decode(value) for value in row]
