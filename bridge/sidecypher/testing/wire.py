"""The JVM's end of the wire, in Python: what the Java core sends, and no more."""

import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final

from sidecypher.errors import ProtocolError
from sidecypher.protocol import envelope
from sidecypher.transport.memory import Reply, Request, Send
from sidecypher.transport.py4j import escape, unescape

_SECONDS: Final = 60.0
"""Longer than any deadline of a test's call, so that a broken peer fails a test, not hangs it."""


Answer = Callable[[str, bytes], bytes]
"""Answers a callback: takes its method and its envelope, returns the envelope of the reply."""


def answering(call_back: envelope.CallBack) -> Answer:
    """Return what answers the callbacks of a `Line` as `call_back` does."""

    def answer(method: str, request: bytes) -> bytes:
        kind: type[envelope.CallBackRequest] = (
            envelope.RunRequest if method == "run" else envelope.CursorRequest
        )
        return envelope.write(call_back(method, envelope.read(request, kind)))

    return answer


def asking(send: Callable[[str, bytes], bytes]) -> Send:
    """Return what sends requests as JSON with `send`, which takes their method and envelope."""

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


def client_context() -> ssl.SSLContext:
    """Return a TLS context for loopback peers whose certificate is known by other means.

    Not a default context: reading the system's certificates would cost 20 ms per connection.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def dial(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Connect to a port of this machine and shake hands, and say nothing yet."""
    plain = socket.create_connection(("127.0.0.1", port), _SECONDS)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain)


class Line:
    """One connection to a sidecar, as a JVM would hold it.

    Attributes:
        greeting: What the sidecar answered to the token.
    """

    def __init__(self, port: int, token: bytes, call_back: Answer, context: ssl.SSLContext) -> None:
        self.socket = dial(port, context)
        self.reader = self.socket.makefile("rb")
        self.call_back = call_back
        self.socket.sendall(b"A\n" + token + b"\n")
        self.greeting = self.reader.readline()

    def ask(self, request: Request) -> Reply:
        """Send a request and return the reply.

        Raises:
            ProtocolError: The sidecar closed the connection or sent something else.
        """
        return asking(self.send)(request)

    def send(self, method: str, payload: bytes) -> bytes:
        """Send a request, answer the callbacks that come meanwhile, and return the reply.

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
