"""Calling Cypher as a client of Neo4j does: over Bolt, in a transaction of its own."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Final, LiteralString
from zoneinfo import ZoneInfo

from sidecypher.errors import CypherError, Neo4jUnavailable
from sidecypher.threads import in_thread
from sidecypher.types.temporal import FixedZone

if TYPE_CHECKING:
    import neo4j

    from sidecypher.address import Address

RUN_SECONDS: Final = 60.0
"""How long a statement of a `BoltClient` may take: longer than most procedures that it calls."""

CONNECT_SECONDS: Final = 5.0
"""How long Neo4j may take to accept a connection."""

REFUSED_SECONDS: Final = 60.0
"""How long a refused password is not used: again and again it would lock the user out of Neo4j."""

LOCKED_SECONDS: Final = 6.0
"""How long no password is used after too many wrong ones: Neo4j then refuses all for 5 s."""

IDLE_SECONDS: Final = 2.0
"""A connection that rests for longer is tried before it is used: Neo4j may have been restarted."""

_CONNECTIONS: Final = 4

# What Neo4j says of a right password too, after too many that were wrong.
_LOCKED_OUT: Final = "Neo.ClientError.Security.AuthenticationRateLimit"

# What it has to say is in the errors; without a handler Python would print it among lines of JSON.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

Record = dict[str, Any]


class Refusals:
    """The password that Neo4j has refused, so that all connections use it as seldom as one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: Address | None = None
        self._again = 0.0

    def take_turn(self, address: "Address") -> bool:
        """Let one statement try a password that was refused, once its time has come.

        Returns:
            Whether this is such a try, which has to be made by a new connection.

        Raises:
            Neo4jUnavailable: It is not time yet.
        """
        with self._lock:
            if address != self._refused:
                return False
            if time.monotonic() < self._again:
                raise _refusal()
            self._again = time.monotonic() + REFUSED_SECONDS
            return True

    def note(self, address: "Address", seconds: float = REFUSED_SECONDS) -> None:
        """Remember that Neo4j has refused the password of this address, for so many seconds."""
        with self._lock:
            self._refused = address
            self._again = time.monotonic() + seconds

    def forget(self) -> None:
        """A password was accepted; that an older connection goes on does not tell so."""
        self._refused = None


class BoltConnection:
    """A driver of Neo4j with one connection, made when it is first needed, and anew when it broke.

    One statement runs on it at a time: what ends its connection ends no other's.

    Args:
        address: Gives where Neo4j is now, None while that is not known.
        refusals: What connections with the same password share.
    """

    def __init__(
        self, address: "Callable[[], Address | None]", refusals: Refusals | None = None
    ) -> None:
        self._find = address
        self._refusals = refusals or Refusals()
        self._lock = threading.Lock()
        self._driver: neo4j.Driver | None = None
        self._address: Address | None = None
        self._used = 0.0
        self._is_closed = False

    def run(self, cypher: LiteralString, params: dict[str, Any], seconds: float) -> list[Record]:
        """Run a statement, and wait for its records.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached, or asks to try again.
            CypherError: The statement failed.
        """
        # 30 MB and 0.2 s that a sidecar which asks nothing is spared.
        import neo4j  # noqa: PLC0415
        from neo4j.exceptions import AuthError, DriverError, Neo4jError  # noqa: PLC0415

        address = self._address_now()
        if address is None:
            raise Neo4jUnavailable("No Neo4j is known to the sidecar", retryable=True)
        if self._refusals.take_turn(address) or address != self._address:
            self._let_go()
        try:
            driver = self._opened(address)
            with driver.session() as session:
                found = session.run(neo4j.Query(cypher, timeout=seconds), _fixed(params))
                records = [record.data() for record in found]
        except AuthError:
            raise self._refuse(address) from None
        except Neo4jError as error:
            if error.code == _LOCKED_OUT:
                raise self._refuse(address, LOCKED_SECONDS) from None
            if error.is_retryable():
                raise Neo4jUnavailable(
                    "Neo4j asks to try again", retryable=True, details={"neo4jCode": error.code}
                ) from error
            raise CypherError(error.message or "", neo4j_code=error.code or "") from error
        except (DriverError, OSError) as error:
            self._let_go()
            raise Neo4jUnavailable("Neo4j cannot be reached", retryable=True) from error
        self._used = time.monotonic()
        return records

    def _address_now(self) -> "Address | None":
        try:
            return self._find()
        except OSError as error:
            raise Neo4jUnavailable("The address of Neo4j cannot be read", retryable=True) from error

    def _refuse(self, address: "Address", seconds: float = REFUSED_SECONDS) -> Neo4jUnavailable:
        self._refusals.note(address, seconds)
        self._let_go()
        return _refusal()

    def close(self) -> None:
        """Close what is open, and open nothing any more; what runs now fails."""
        with self._lock:
            self._is_closed = True
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _opened(self, address: "Address") -> "neo4j.Driver":
        """Return the driver once it has a connection that lives.

        Before, it is nobody else's: a driver that is closed while it opens a connection keeps that
        one open, and uses it.
        """
        with self._lock:
            driver, self._driver = self._driver, None
        is_new = driver is None
        driver = driver or _connect(address)
        try:
            if is_new or time.monotonic() - self._used > IDLE_SECONDS:
                driver.verify_connectivity()
            if is_new:
                self._refusals.forget()
            self._keep(driver, address)
        except BaseException:
            driver.close()
            raise
        return driver

    def _keep(self, driver: "neo4j.Driver", address: "Address") -> None:
        with self._lock:
            if self._is_closed:
                raise Neo4jUnavailable("The connection to Neo4j was closed", retryable=True)
            self._driver, self._address = driver, address


class BoltClient:
    """Runs Cypher as a client of Neo4j, for what happens outside of every call.

    A statement has a transaction of its own and may call any procedure, those of the sidecar
    included. Inside a call `ctx.run` is what you want: it is in the transaction of the caller.

    Example:
        >>> async def receive(request):  # doctest: +SKIP
        ...     await request.resource(BoltClient).run("CALL kg.refresh($id)", id=7)
    """

    def __init__(self, address: "Callable[[], Address | None]") -> None:
        self._connect = partial(BoltConnection, address, Refusals())
        self._all = {self._connect() for _ in range(_CONNECTIONS)}
        self._idle = list(self._all)
        self._slots = asyncio.Semaphore(_CONNECTIONS)

    async def run(self, cypher: LiteralString, /, **params: Any) -> list[Record]:
        """Run a statement and return its records, for at most a minute.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached or asks to try again; then `neo4jCode` in its
                `details` says why. Whether the statement was committed is not known.
            CypherError: The statement failed.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS + RUN_SECONDS), self._slots:
                return await self._run(cypher, params)
        except TimeoutError:
            raise Neo4jUnavailable("Neo4j did not answer in time", retryable=True) from None

    async def _run(self, cypher: LiteralString, params: dict[str, Any]) -> list[Record]:
        connection = self._idle.pop()
        work = partial(connection.run, cypher, params, RUN_SECONDS)
        try:
            return await asyncio.wrap_future(in_thread(work, "sidecypher-bolt"))
        except asyncio.CancelledError:
            # Nobody waits for its thread any more, which must end, and meet no other statement.
            self._all.remove(connection)
            in_thread(connection.close, "sidecypher-bolt")
            connection = self._connect()
            self._all.add(connection)
            raise
        finally:
            self._idle.append(connection)

    def stop(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.close()


def _fixed(value: Any) -> Any:
    """Return a value with the zone's id and offset in place of each `ZoneInfo`.

    The driver gives a `ZoneInfo` a datetime that is none of Python's; it reads its memory as one,
    which may end the process.
    """
    match value:
        case datetime(tzinfo=ZoneInfo() as zone):
            offset = value.utcoffset() or timedelta()
            return value.replace(
                tzinfo=FixedZone(zone.key, offset) if zone.key else timezone(offset)
            )
        case Mapping():
            return {name: _fixed(each) for name, each in value.items()}
        case list() | tuple():
            return [_fixed(each) for each in value]
        case _:
            return value


def _refusal() -> Neo4jUnavailable:
    # Somebody may give the user that password, or unlock it: then the next try does.
    return Neo4jUnavailable("Neo4j has refused the sidecar's password", retryable=True)


def _connect(address: "Address") -> "neo4j.Driver":
    try:
        return address.driver(
            max_connection_pool_size=1,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=CONNECT_SECONDS,
            notifications_min_severity="OFF",
        )
    # The driver tells of such an address by errors of many types.
    except Exception as error:
        raise Neo4jUnavailable("The address of Neo4j cannot be used") from error
