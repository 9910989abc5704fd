"""The JVM's end of the wire, in Python: what the Java core sends, and no more."""

import contextlib
import socket
import ssl
from typing import Final

from sidecypher.errors import ProtocolError
from sidecypher.state import CallBack
from sidecypher.transport.py4j import escape, unescape

_SECONDS: Final = 60.0
"""Longer than any deadline of a test's call, so that a broken peer fails a test, not hangs it."""


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

    def __init__(
        self, port: int, token: bytes, call_back: CallBack, context: ssl.SSLContext
    ) -> None:
        self.socket = dial(port, context)
        self.reader = self.socket.makefile("rb")
        self.call_back = call_back
        self.socket.sendall(b"A\n" + token + b"\n")
        self.greeting = self.reader.readline()

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
