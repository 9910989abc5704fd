"""Loopback ports that stay the same from one start to the next."""

import secrets
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.host.address import Ports, read_ports
from sidecypher.host.settings import LOOPBACK
from sidecypher.runtime.errors import PortInUse

_PREFERRED: Final = range(20_000, 32_768)
"""First range to search for free ports: below the ports of outgoing connections on Linux, which
could otherwise take a port before the server listens on it."""

_TRIES: Final = 100


def choose_ports(memory: Path, *, bolt: int | None = None, http: int | None = None) -> Ports:
    """Choose the ports of a server and store them.

    A requested port is used, or refused if it is in use. Without a request, the port of the last
    start is used if it is free, otherwise any free one.

    Args:
        memory: File that stores the ports; its folder must exist.
        bolt: The requested port.
        http: The requested port.

    Raises:
        PortInUse: If a requested port already has a listener.

    Example:
        >>> choose_ports(Path("/tmp/ports.json")) == choose_ports(Path("/tmp/ports.json"))
        True
    """
    remembered = read_ports(memory)
    with ExitStack() as held:
        ports = Ports(
            _hold(held, "Bolt", bolt, remembered.bolt),
            _hold(held, "HTTP", http, remembered.http),
        )
    fresh = memory.with_name(memory.name + ".new")
    fresh.write_bytes(msgspec.json.encode(ports))
    fresh.replace(memory)
    return ports


def _hold(held: ExitStack, name: str, wanted: int | None, remembered: int) -> int:
    """Listen on a port until both are chosen, so that they cannot be equal."""
    if wanted:
        try:
            listener = _listen(wanted)
        except OSError as error:
            raise PortInUse(
                f"Port {wanted} for {name} cannot be used: {error.strerror}",
                details={"port": wanted, "for": name},
            ) from error
    else:
        try:
            listener = _listen(remembered) if remembered else _listen_anywhere()
        except OSError:
            listener = _listen_anywhere()
    port: int = held.enter_context(listener).getsockname()[1]
    return port


def _listen_anywhere() -> socket.socket:
    for port in secrets.SystemRandom().choices(_PREFERRED, k=_TRIES):
        with suppress(OSError):
            return _listen(port)
    return _listen(0)


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        # As Java does: connections of the last run that are still closing do not block the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(1)
    except OSError:
        listener.close()
        raise
    return listener
