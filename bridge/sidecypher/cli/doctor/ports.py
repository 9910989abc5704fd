"""Ports: who has those that a start would take."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import psutil

from sidecypher.address import LOOPBACK
from sidecypher.cli.doctor.findings import Finding, error, ok
from sidecypher.cli.doctor.subject import Subject


def look_at_ports(subject: Subject) -> Finding:
    """Tell whether the ports that are asked for are free; of own programs also which has them."""
    if subject.runs:
        return ok("they are those of what runs in this home")
    own = {port for each in subject.sidecars for port in (each.port, each.http)}
    asked_for = [(use, port) for use, port in _asked_for(subject) if port not in own]
    taken = [f"{port} for {use} is taken{_by(port)}" for use, port in asked_for if _is_taken(port)]
    if taken:
        return error("; ".join(taken), "Stop that program, set another port, or 0 for a free one.")
    if not asked_for:
        return ok("no other is asked for" if own else "none is asked for; a start takes free ones")
    return ok(", ".join(f"{port} for {use} is free" for use, port in asked_for))


def _asked_for(subject: Subject) -> Iterator[tuple[str, int]]:
    settings = subject.settings
    uses = {
        "Bolt": settings.bolt_port,
        "Neo4j's HTTP": settings.browser_port,
        "the plugin": settings.port,
        "the sidecar's HTTP": settings.http_port,
    }
    return ((use, port) for use, port in uses.items() if port)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As Java does it: connections that are still closing do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def _by(port: int) -> str:
    """Name the program that listens, if it is one of this user's."""
    for process in psutil.process_iter():
        # Processes of others may not be looked into, and any may end meanwhile.
        with suppress(psutil.Error):
            if any(
                each.laddr.port == port and each.status == psutil.CONN_LISTEN
                for each in process.net_connections("tcp")
            ):
                return f" by `{process.name()}`, process {process.pid}"
    return " by a program of another user"
