"""A client of the Py4J transport that sends what the Java core sends."""

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sidecypher.errors import ProtocolError
from sidecypher.protocol import envelope
from sidecypher.transport.memory import Reply, Request, Send
from sidecypher.transport.py4j import escape, unescape

_SECONDS: Final = 60.0
"""Longer than the deadline of any test's call, so a broken peer fails a test instead of hanging."""


Answer = Callable[[str, bytes], bytes]
"""Handler of callbacks: accepts a method and an envelope, returns the envelope of the reply."""


def callback_handler(call_back: envelope.CallBack) -> Answer:
    """Return a handler for the callbacks of a `WireClient` that calls `call_back`."""

    def answer(method: str, request: bytes) -> bytes:
        kind: type[envelope.CallBackRequest] = (
            envelope.RunRequest if method == "run" else envelope.CursorRequest
        )
        return envelope.write(call_back(method, envelope.read(request, kind)))

    return answer


def request_sender(send: Callable[[str, bytes], bytes]) -> Send:
    """Return a sender of requests as JSON with `send`, which accepts a method and an envelope."""

    def ask(request: Request) -> Reply:
        payload = envelope.write(request)
        match request:
            case envelope.Hello():
                return envelope.read(send("hello", payload), envelope.HelloReply)
            case envelope.CallRequest():
                return _page(send("call", payload))
            case envelope.PageRequest():
                return _page(send("page", payload))
            case envelope.CloseRequest():
                return envelope.read(send("close", payload), envelope.Done)

    return ask


def connect_unix(path: Path | str) -> socket.socket:
    """Connect to a unix socket, without sending anything."""
    opened = socket.socket(socket.AF_UNIX)
    opened.settimeout(_SECONDS)
    opened.connect(str(path))
    return opened


class WireClient:
    """One connection to a sidecar, as a JVM would hold it.

    Attributes:
        greeting: The sidecar's reply to the token.
    """

    def __init__(self, opened: socket.socket, token: bytes, call_back: Answer) -> None:
        self.socket = opened
        self.reader = self.socket.makefile("rb")
        self.call_back = call_back
        self.socket.sendall(b"A\n" + token + b"\n")
        self.greeting = self.reader.readline()

    def ask(self, request: Request) -> Reply:
        """Send a request and return the reply.

        Raises:
            ProtocolError: The sidecar closed the connection or sent something else.
        """
        return request_sender(self.send)(request)

    def send(self, method: str, payload: bytes) -> bytes:
        """Send a request, answer its callbacks, and return the reply.

        Raises:
            ProtocolError: The sidecar closed the connection or sent something else.
        """
        self.socket.sendall(b"c\nt\n" + method.encode() + b"\ns" + escape(payload) + b"\ne\n")
        while (line := self.reader.readline()) == b"c\n":
            _target, called, text, _end = (self.reader.readline() for _ in range(4))
            reply = self.call_back(called[:-1].decode(), unescape(text[1:-1]))
            self.socket.sendall(b"!ys" + escape(reply) + b"\n")
        if not line.startswith(b"!ys"):
            raise ProtocolError("The sidecar closed the connection instead of answering")
        return unescape(line[3:-1])

    def close(self) -> None:
        """Close the connection."""
        self.reader.close()
        with contextlib.suppress(OSError):
            self.socket.close()


def _page(payload: bytes) -> envelope.CallReply:
    try:
        return envelope.read(payload, envelope.PageReply)
    except ProtocolError:
        return envelope.read(payload, envelope.ErrorReply)
