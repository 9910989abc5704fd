"""Where Neo4j is: the server that is set, or the embedded one of a home."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.settings import Settings, read_password

LOOPBACK: Final = "127.0.0.1"

USER: Final = "neo4j"
"""User of the embedded Neo4j."""

Address = tuple[str, tuple[str, str] | None]
"""A URI for drivers, and user and password if the server wants them."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The two ports of a server.

    Attributes:
        bolt: For drivers.
        http: For Neo4j Browser and the HTTP interface.
    """

    bolt: int
    http: int


def read_ports(memory: Path) -> Ports:
    """Return the ports of the last start; zeros when there was none."""
    try:
        return msgspec.json.decode(memory.read_bytes(), type=Ports)
    except (FileNotFoundError, msgspec.DecodeError):
        return Ports(0, 0)


def bolt_address(settings: Settings) -> Address | None:
    """Return the address of Neo4j, whether it runs or not; None if the home has none.

    Example:
        >>> from sidecypher.settings import load_settings
        >>> bolt_address(load_settings({"neo4j_uri": "bolt://localhost:7687"}, {}))
        ('bolt://localhost:7687', None)
    """
    if settings.neo4j_uri:
        password = settings.neo4j_password
        auth = (settings.neo4j_user, password.get_secret_value()) if password else None
        return settings.neo4j_uri, auth
    ports = read_ports(settings.home / "ports.json")
    try:
        password_text = read_password(settings.home / "neo4j-password")
    except OSError:
        return None
    if not ports.bolt:
        return None
    return f"bolt://{LOOPBACK}:{ports.bolt}", (USER, password_text)
