"""Address of Neo4j: the server in the settings, or the embedded one of a home."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecypher.host.settings import LOOPBACK, Settings, read_password

if TYPE_CHECKING:
    import ssl

    import neo4j

USER: Final = "neo4j"
"""User of the embedded Neo4j."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address and credentials of a Neo4j server.

    Attributes:
        uri: URI for drivers.
        auth: User and password, None if the server needs none.
        certificate: Certificate that the server must have before it gets the password; if None,
            the scheme of the URI decides.
        database: Name of the database; None for the user's default one.
    """

    uri: str
    auth: tuple[str, str] | None = field(default=None, repr=False)
    certificate: Path | None = None
    database: str | None = None

    def driver(self, **options: Any) -> "neo4j.Driver":
        """Return a driver, which connects at first use.

        Raises:
            OSError: The certificate cannot be read.

        Example:
            >>> with Address("bolt://127.0.0.1:7687").driver() as driver:
            ...     driver.encrypted
            False
        """
        # The import costs 30 MB and 0.2 s, and some processes need no driver.
        import neo4j  # noqa: PLC0415

        return neo4j.GraphDatabase.driver(self.uri, **self._options(options))

    def async_driver(self, **options: Any) -> "neo4j.AsyncDriver":
        """Return a driver for an event loop, as `driver` does.

        Raises:
            OSError: The certificate cannot be read.
        """
        import neo4j  # noqa: PLC0415 - as in `driver`

        return neo4j.AsyncGraphDatabase.driver(self.uri, **self._options(options))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        if self.certificate is not None:
            options["ssl_context"] = _tls_context(self.certificate)
        return {"auth": self.auth, **options}


def _tls_context(certificate: Path) -> "ssl.SSLContext":
    import ssl  # noqa: PLC0415 - as the driver

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The certificate names no host. Only the owner of its key can use it, on any host.
    tls.check_hostname = False
    tls.load_verify_locations(certificate)
    return tls


@dataclass(frozen=True, slots=True)
class Ports:
    """The two ports of a server.

    Attributes:
        bolt: For drivers.
        http: For Neo4j Browser and the HTTP interface.
    """

    bolt: int
    http: int


_decode: Final = msgspec.json.Decoder(Ports).decode


def read_ports(memory: Path) -> Ports:
    """Return the ports of the last start, or zeros if there was none."""
    try:
        return _decode(memory.read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return Ports(0, 0)


def embedded_address(home: Path, ports: Ports) -> Address:
    """Return the address of the embedded Neo4j of a home.

    Raises:
        OSError: The home has no password.
    """
    auth = (USER, read_password(home / "neo4j-password"))
    certificate = home / "run" / "certificate.pem"
    return Address(f"bolt://{LOOPBACK}:{ports.bolt}", auth, certificate)


def bolt_address(settings: Settings) -> Address | None:
    """Return the address of Neo4j, even if it is not running; None if the home has none.

    Example:
        >>> from sidecypher.host.settings import load_settings
        >>> bolt_address(load_settings({"neo4j_uri": "bolt://localhost:7687"}, {}))
        Address(uri='bolt://localhost:7687', certificate=None, database=None)
    """
    database = settings.neo4j_database or None
    if settings.neo4j_uri:
        password = settings.neo4j_password
        auth = (settings.neo4j_user, password.get_secret_value()) if password else None
        return Address(settings.neo4j_uri, auth, database=database)
    ports = read_ports(settings.home / "ports.json")
    if not ports.bolt:
        return None
    try:
        return replace(embedded_address(settings.home, ports), database=database)
    except OSError:
        return None
