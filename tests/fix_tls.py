"""Connections to a sidecar over TLS."""

import socket
import ssl

SECONDS = 60.0
"""Longer than the deadline of any test's call, so a broken peer fails a test instead of hanging."""


def client_context():
    """Return a TLS context that does not check certificates, for peers on loopback.

    A default context would read the system's certificates, 20 ms for each connection.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def connect_tls(port, context):
    """Connect to a port of this machine and shake hands, without sending anything else."""
    plain = socket.create_connection(("127.0.0.1", port), SECONDS)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain)
