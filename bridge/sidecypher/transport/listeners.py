"""The listeners on which JVMs reach a sidecar: a unix socket on one machine, TLS elsewhere.

A message over the unix socket needs a quarter of the time that TLS needs: there is nothing to
encrypt, since the kernel says which account the peer has.
"""

import os
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from sidecypher.errors import ListenError

_BACKLOG: Final = 128
_CREDENTIALS: Final = struct.Struct("3i")
_ROOT: Final = 0

_PROBES: Final = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))
"""Seconds of silence, seconds between two probes, and probes without an answer (`tcp(7)`)."""


class Listener(Protocol):
    """A listening socket, and the check of those who connect to it.

    Attributes:
        sock: Accepts connections.
        refusal: Why a peer is refused that does not pass `check`.
    """

    sock: socket.socket
    refusal: str

    def wrap(self, plain: socket.socket) -> socket.socket:
        """Return the socket to talk over; it takes over the descriptor."""

    def check(self, opened: socket.socket) -> None:
        """Return once the peer may send its token.

        Raises:
            OSError: It may not.
        """

    def close(self) -> None:
        """Stop listening."""


class TlsListener:
    """TLS with the sidecar's certificate.

    Attributes:
        host: The address it listens on.
        port: The port it listens on.
    """

    refusal = "TLS failed"

    def __init__(self, port: int, tls: ssl.SSLContext, host: str = "127.0.0.1") -> None:
        """Listen.

        Args:
            port: The port; 0 picks a free one.
            tls: How to shake hands, and whom to trust.
            host: The address.

        Raises:
            ListenError: The port is taken, or this machine has no such address.
        """
        self._tls = tls
        self.host: Final = host
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self.sock = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            # `create_server` adds the address to the text of the system.
            reason = (error.strerror or "").partition(" (")[0]
            raise ListenError(
                f"The sidecar cannot listen on port {port} of {host}: {reason}",
                hint="Choose another port with `--port` or SIDECYPHER_PORT, or 0 for any free one; "
                "or another address with `--listen` or SIDECYPHER_LISTEN.",
            ) from None
        self.port: Final[int] = self.sock.getsockname()[1]

    def wrap(self, plain: socket.socket) -> socket.socket:
        """Return the socket for TLS, before its handshake."""
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A machine that loses its power or its network closes no connection.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _PROBES:
            plain.setsockopt(socket.IPPROTO_TCP, option, value)
        return self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)

    def check(self, opened: socket.socket) -> None:
        """Shake hands."""
        assert isinstance(opened, ssl.SSLSocket)  # noqa: S101 - what `wrap` has made
        opened.do_handshake()

    def close(self) -> None:
        """Stop listening."""
        _close(self.sock)


class UnixListener:
    """A unix socket that only this account and root may use.

    Attributes:
        path: The file of the socket.
    """

    refusal = "another account"

    def __init__(self, path: Path) -> None:
        """Listen, in a folder that only this account can change.

        Raises:
            OSError: The file system has no sockets, the path is too long, or it is taken.
        """
        self.path: Final = path
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.bind(str(path))
            path.chmod(0o600)
            self.sock.listen(_BACKLOG)
        except OSError:
            self.sock.close()
            raise

    def wrap(self, plain: socket.socket) -> socket.socket:
        """Return the socket itself."""
        return plain

    def check(self, opened: socket.socket) -> None:
        """Ask the kernel for the account of the peer (`SO_PEERCRED`, `unix(7)`)."""
        facts = opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(facts)
        if uid not in {os.geteuid(), _ROOT}:
            raise PermissionError("the peer has another account")

    def close(self) -> None:
        """Stop listening, and remove the file."""
        _close(self.sock)
        with suppress(OSError):
            self.path.unlink()


def _close(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
