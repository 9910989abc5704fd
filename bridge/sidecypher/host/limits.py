"""Limits of one sidecar: sizes, numbers and times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one sidecar.

    Attributes:
        message_bytes: Longest line, either way, in bytes. The Java side has the same default.
        connections: Maximum number of connections of JVMs for calls; a further one gets the reply
            "busy". Half of them are for nested calls, since a pool uses half of it at most.
        strangers: Maximum number of connections that have not sent the token yet; a further one
            closes the oldest.
        handshake_seconds: Time of a new connection for TLS and token together, and again for each
            read of its hello.
        page_bytes: A page of rows is sent when the size of its rows reaches this.
        lease_seconds: How long a call may wait for the request for its next page.
        projection_bytes: Maximum size of the table of one projection.
    """

    message_bytes: int = 16 * 1024 * 1024
    connections: int = 512
    strangers: int = 64
    handshake_seconds: float = 5.0
    page_bytes: int = 1024 * 1024
    lease_seconds: float = 60.0
    projection_bytes: int = 1024 * 1024 * 1024

    @property
    def argument_bytes(self) -> int:
        """Maximum size of all large messages whose arguments are in memory at a time.

        In memory, arguments need ten to twenty times as much.
        """
        return 4 * self.message_bytes
