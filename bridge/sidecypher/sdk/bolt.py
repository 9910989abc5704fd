"""`BoltClient`: Cypher as a client of Neo4j, over Bolt, in its own transactions."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, LiteralString, Self

from sidecypher.errors import (
    CypherError,
    Neo4jUnavailable,
    NoTransaction,
    SidecypherError,
    ValueTypeError,
)
from sidecypher.host.address import Address
from sidecypher.host.threads import in_thread
from sidecypher.values.coders import to_driver

if TYPE_CHECKING:
    import neo4j

RUN_SECONDS: Final = 60.0
"""Longest time of a statement of a `BoltClient`: more than most procedures that it calls need."""

CONNECT_SECONDS: Final = 5.0
"""Longest time for Neo4j to accept a connection."""

REFUSED_SECONDS: Final = 60.0
"""Pause after a refused password: frequent attempts would lock the user out of Neo4j."""

LOCKED_SECONDS: Final = 6.0
"""Pause after too many wrong passwords: Neo4j then refuses every password for 5 s."""

IDLE_SECONDS: Final = 2.0
"""Idle time after which a connection is tested before use: Neo4j may have been restarted."""

TERMINATE_SECONDS: Final = 1.0
"""Longest wait of `stop` for the end of cancelled transactions."""

_TERMINATION_SECONDS: Final = 5.0
"""Longest time of the statement that terminates a cancelled transaction."""

_MARK: Final = "sidecypher"
"""Key of a transaction's mark in its metadata, which `SHOW TRANSACTIONS` lists."""

_TERMINATE: Final = """
SHOW TRANSACTIONS YIELD transactionId AS id, metaData WHERE metaData.sidecypher = $mark
TERMINATE TRANSACTIONS id YIELD message RETURN message
"""

# A transaction holds a connection as long as its block runs, so four could leave none for others.
# Neo4j serves connections with up to 400 threads, and an idle one costs it some kilobytes.
_CONNECTIONS: Final = 8

# After too many wrong passwords, Neo4j returns this for the right one too.
_LOCKED_OUT: Final = "Neo.ClientError.Security.AuthenticationRateLimit"

# Errors carry the driver's log texts; without a handler Python would print them between the JSON.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

Record = dict[str, Any]


@dataclass(eq=False, slots=True)
class _Pool:
    """A driver that closes when it has been replaced and its last statement has ended."""

    driver: "neo4j.AsyncDriver"
    address: Address
    statements: int = 0
    is_replaced: bool = False

    async def close_if_unused(self) -> None:
        if self.is_replaced and not self.statements:
            await self.driver.close()


class BoltClient:
    """A client of Neo4j that runs Cypher outside of a call, for example in a webhook.

    A statement has its own transaction and may call any procedure, those of the sidecar
    included. Inside a call, use `ctx.run`, which runs in the caller's transaction.

    Example:
        >>> async def receive(request):  # doctest: +SKIP
        ...     await request.resource(BoltClient).run("CALL kg.refresh($id)", id=7)
    """

    def __init__(self, address: Callable[[], Address | None]) -> None:
        self._find = address
        self._slots = asyncio.Semaphore(_CONNECTIONS)
        self._opening = asyncio.Lock()
        self._pool: _Pool | None = None
        self._refused: Address | None = None
        self._retry_at = 0.0
        self._is_stopped = False
        self._terminations: dict[str, asyncio.Task[None]] = {}

    @classmethod
    def at(cls, uri: str, user: str, password: str, *, database: str | None = None) -> Self:
        """Return a client of a named server, which connects at the first statement.

        Args:
            uri: Its URI, such as ``bolt://localhost:7687``.
            user: The user.
            password: The user's password.
            database: The database that statements run in; the user's default one if it is None.

        Example:
            >>> async def one() -> list[dict[str, Any]]:
            ...     client = BoltClient.at("bolt://localhost:7687", "neo4j", "secret")
            ...     try:
            ...         return await client.run("RETURN 1 AS x")
            ...     finally:
            ...         await client.stop()
        """
        address = Address(uri, (user, password), database=database)
        return cls(lambda: address)

    async def run(self, cypher: LiteralString, /, **params: Any) -> list[Record]:
        """Run a statement for at most a minute, and return its records.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Returns:
            Each record as a dict by column name, with values as `ctx.run` returns them.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached or asks to try again. `neo4jCode` in its
                `details` then has Neo4j's reason. The statement may have been committed.
            CypherError: The statement failed.
            ValueTypeError: A parameter cannot be sent. Or a record holds a value that rows do not
                accept, such as a VECTOR; the statement was then committed.
        """
        async with _limited(RUN_SECONDS), self._slots:
            address = await self._address()
            # It takes 30 MB and 0.2 s, which not every sidecar needs. `_address` has imported it.
            import neo4j  # noqa: PLC0415

            mark = secrets.token_hex(16)
            query = neo4j.Query(cypher, metadata={_MARK: mark}, timeout=RUN_SECONDS)
            async with (
                self._translating(address),
                self._connected(address) as driver,
                self._terminated_when_cancelled(address, mark),
                driver.session(database=address.database) as session,
            ):
                records = await _fetched(session.run, query, params)
            return _converted(records)

    @contextlib.asynccontextmanager
    async def transaction(
        self, *, seconds: float = RUN_SECONDS
    ) -> "AsyncIterator[BoltTransaction]":
        """Run several statements in one transaction, which is committed at the end of the block.

        If an error leaves the block, or its task is cancelled, the transaction is rolled back.

        Args:
            seconds: Longest time of the transaction in Neo4j. The block has 5 seconds more, in
                which the client connects.

        Raises:
            Neo4jUnavailable: As with `run`, also at the end of the block. For example, Neo4j asks
                to try again after a deadlock. If the commit failed, it may have taken effect.
            CypherError: A statement or the commit failed, even if your code caught that error.

        Example:
            >>> async def refund(client: BoltClient) -> None:
            ...     async with client.transaction(seconds=5.0) as tx:
            ...         [sale] = await tx.run("MATCH (s:Sale {id: 7}) DELETE s RETURN s.sum AS sum")
            ...         await tx.run("CREATE (:Refund {sum: $sum})", sum=sale["sum"])
        """
        async with _limited(seconds), self._slots, contextlib.AsyncExitStack() as stack:
            address = await self._address()
            translating = partial(self._translating, address)
            mark = secrets.token_hex(16)
            async with translating():
                driver = await stack.enter_async_context(self._connected(address))
                terminated = partial(self._terminated_when_cancelled, address, mark)
                await stack.enter_async_context(terminated())
                session = await stack.enter_async_context(driver.session(database=address.database))
                begun = await session.begin_transaction(metadata={_MARK: mark}, timeout=seconds)
            transaction = BoltTransaction(begun, translating, terminated)
            yield await stack.enter_async_context(transaction)

    @contextlib.asynccontextmanager
    async def _terminated_when_cancelled(self, address: Address, mark: str) -> AsyncIterator[None]:
        """Terminate the transaction with this mark if the block is cancelled.

        The driver closes the connection then. Over TLS it first waits up to 30 s for Neo4j to do
        the same, and Neo4j does not before the statement has ended.
        """
        try:
            yield
        except asyncio.CancelledError:
            if not self._is_stopped and mark not in self._terminations:
                task = asyncio.create_task(self._terminate(address, mark))
                self._terminations[mark] = task
                task.add_done_callback(lambda _: self._terminations.pop(mark))
            raise

    async def _terminate(self, address: Address, mark: str) -> None:
        # As `run`, but without a slot, for which it would wait while Neo4j hangs, and without a
        # mark: a termination that is cancelled is not terminated in turn.
        import neo4j  # noqa: PLC0415

        query = neo4j.Query(_TERMINATE, timeout=_TERMINATION_SECONDS)
        # It fails if Neo4j is away, and so is the transaction then.
        with contextlib.suppress(SidecypherError):
            async with (
                _limited(_TERMINATION_SECONDS),
                self._translating(address),
                self._connected(address) as driver,
                driver.session(database=address.database) as session,
            ):
                await _fetched(session.run, query, {"mark": mark})

    @contextlib.asynccontextmanager
    async def _translating(self, address: Address) -> AsyncIterator[None]:
        """Raise errors of the driver as those of sidecypher."""
        from neo4j.exceptions import AuthError, DriverError, Neo4jError  # noqa: PLC0415

        try:
            yield
        except AuthError:
            raise await self._refuse(address, REFUSED_SECONDS) from None
        except Neo4jError as error:
            if error.code == _LOCKED_OUT:
                raise await self._refuse(address, LOCKED_SECONDS) from None
            if error.is_retryable():
                raise Neo4jUnavailable(
                    "Neo4j asks to try again", retryable=True, details={"neo4jCode": error.code}
                ) from error
            raise CypherError(error.message or "", neo4j_code=error.code or "") from error
        except OverflowError:
            raise ValueTypeError("A parameter holds an integer outside 64 bits") from None
        except UnicodeEncodeError:
            raise ValueTypeError(
                "The statement or a parameter holds half of a surrogate pair"
            ) from None
        except (DriverError, OSError, ValueError) as error:
            # If DNS fails for good, the driver raises a ValueError.
            if isinstance(error, ValueError) and not isinstance(error.__cause__, OSError):
                raise
            raise Neo4jUnavailable("Neo4j cannot be reached", retryable=True) from error

    async def _address(self) -> Address:
        try:
            address = await asyncio.wrap_future(in_thread(self._read_address, "sidecypher-bolt"))
        except OSError as error:
            raise Neo4jUnavailable("The address of Neo4j cannot be read", retryable=True) from error
        if address is None:
            raise Neo4jUnavailable("No Neo4j is known to the sidecar", retryable=True)
        return address

    def _read_address(self) -> Address | None:
        # Imported on this thread: 0.2 s on the event loop would hold up all async calls.
        import neo4j  # noqa: F401, PLC0415

        return self._find()

    @contextlib.asynccontextmanager
    async def _connected(self, address: Address) -> "AsyncIterator[neo4j.AsyncDriver]":
        async with self._opening:
            pool = await self._current(address)
            pool.statements += 1
        try:
            yield pool.driver
        finally:
            pool.statements -= 1
            await pool.close_if_unused()

    async def _current(self, address: Address) -> _Pool:
        """Return the pool of an address; open a new one to try a refused password again.

        An older connection stays open even if Neo4j now refuses its password.
        """
        is_refused = address == self._refused
        if is_refused and time.monotonic() < self._retry_at:
            raise _refusal()
        if self._pool is not None and not is_refused and self._pool.address == address:
            return self._pool
        await self._replace_pool()
        driver = _driver(address)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await driver.verify_connectivity()
        except BaseException:
            await driver.close()
            raise
        if self._is_stopped:
            await driver.close()
            raise Neo4jUnavailable("The connection to Neo4j was closed", retryable=True)
        self._refused = None
        self._pool = _Pool(driver, address)
        return self._pool

    async def _replace_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.is_replaced = True
            await pool.close_if_unused()

    async def _refuse(self, address: Address, seconds: float) -> Neo4jUnavailable:
        self._refused = address
        self._retry_at = time.monotonic() + seconds
        await self._replace_pool()
        return _refusal()

    async def stop(self) -> None:
        """Close all connections; running statements fail."""
        if self._terminations:
            await asyncio.wait(self._terminations.values(), timeout=TERMINATE_SECONDS)
        self._is_stopped = True
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.driver.close()


class BoltTransaction:
    """One transaction of a `BoltClient`, as `BoltClient.transaction` makes it."""

    def __init__(
        self,
        transaction: "neo4j.AsyncTransaction",
        translating: Callable[[], AbstractAsyncContextManager[None]],
        terminated_when_cancelled: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._transaction = transaction
        self._translating = translating
        self._terminated_when_cancelled = terminated_when_cancelled
        # The driver mixes up answers of statements that share a connection.
        self._turn = asyncio.Lock()
        self._ended: SidecypherError | None = None

    async def run(self, cypher: LiteralString, /, **params: Any) -> list[Record]:
        """Run a statement in this transaction, after those that were begun before.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Returns:
            Each record as a dict by column name, with values as `ctx.run` returns them.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached or asks to try the whole transaction again.
            CypherError: The statement failed. The transaction is doomed: any other statement, and
                the end of the block, raise this error again.
            ValueTypeError: A parameter cannot be sent, or a record holds a value that rows do not
                accept, such as a VECTOR.
            NoTransaction: The block has ended.
        """
        async with self._turn:
            self._check()
            try:
                # Here too: as a TimeoutError, a cancellation does not reach the block's end.
                async with self._translating(), self._terminated_when_cancelled():
                    records = await _fetched(self._transaction.run, cypher, params)
            except SidecypherError as error:
                self._ended = error
                raise
            except asyncio.CancelledError:
                # The driver has closed the connection.
                self._ended = Neo4jUnavailable("A statement was cancelled", retryable=True)
                raise
        return _converted(records)

    async def __aenter__(self) -> Self:
        """Return the transaction."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Commit, or roll back after an error."""
        if error is None:
            await self._commit()
        # When the task is cancelled, the session closes the connection, and Neo4j rolls back.
        elif isinstance(error, Exception):
            await self._roll_back()

    async def _commit(self) -> None:
        async with self._turn:
            self._check()
            self._end()
            async with self._translating():
                await self._transaction.commit()

    async def _roll_back(self) -> None:
        async with self._turn:
            # After a failed statement, the connection may serve another transaction already.
            if self._ended is None:
                self._end()
                # Without a connection, Neo4j rolls back by itself.
                with contextlib.suppress(SidecypherError):
                    async with self._translating():
                        await self._transaction.rollback()

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _end(self) -> None:
        self._ended = NoTransaction(
            "The transaction has ended", hint="Use it only inside of its `async with` block."
        )


@contextlib.asynccontextmanager
async def _limited(seconds: float) -> AsyncIterator[None]:
    """Limit the time of a block, and allow for the connection in addition."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS + seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise Neo4jUnavailable("Neo4j did not answer in time", retryable=True) from None


async def _fetched(
    run: "Callable[..., Awaitable[neo4j.AsyncResult]]", statement: Any, params: dict[str, Any]
) -> "list[neo4j.Record]":
    result = await run(statement, to_driver(params))
    return [record async for record in result]


def _converted(records: "list[neo4j.Record]") -> list[Record]:
    from sidecypher.sdk.driver_records import record_of  # noqa: PLC0415

    return [record_of(record) for record in records]


def _refusal() -> Neo4jUnavailable:
    # An administrator may set that password or unlock the user; then the next try succeeds.
    return Neo4jUnavailable("Neo4j has refused the password", retryable=True)


def _driver(address: Address) -> "neo4j.AsyncDriver":
    try:
        return address.async_driver(
            # One more for each, over which a cancelled statement is terminated while its own
            # connection still closes.
            max_connection_pool_size=2 * _CONNECTIONS,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=CONNECT_SECONDS,
            liveness_check_timeout=IDLE_SECONDS,
            notifications_min_severity="OFF",
        )
    # For an unusable address, the driver raises errors of many types.
    except Exception as error:
        raise Neo4jUnavailable("The address of Neo4j cannot be used") from error
