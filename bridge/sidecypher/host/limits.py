"""What one sidecar accepts: sizes, numbers and times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one sidecar accepts.

    Attributes:
        message_bytes: Longest line, either way, in bytes. The Java side has the same default.
        connections: Most connections of JVMs for calls; a further one is told that the sidecar is
            busy. Half of them are for nested calls, since a pool has half of it at most.
        strangers: Most connections that have not shown the token yet; the oldest is closed for a
            further one.
        handshake_seconds: Time a new connection has for TLS and token together, and again for each
            read of its hello.
        page_bytes: A page of rows is sent when its rows are estimated to exceed this.
        lease_seconds: How long a call may wait for its next page to be asked for.
    """

    message_bytes: int = 16 * 1024 * 1024
    connections: int = 512
    strangers: int = 64
    handshake_seconds: float = 5.0
    page_bytes: int = 1024 * 1024
    lease_seconds: float = 60.0

    @property
    def argument_bytes(self) -> int:
        """Bytes of large messages whose arguments may be in memory at a time, for all calls.

        There they take ten to twenty times as much.
        """
        return 4 * self.message_bytes
