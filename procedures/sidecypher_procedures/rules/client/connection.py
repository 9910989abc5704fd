"""Connection to Neo4j; the only module that imports the driver.

The driver's own timeouts do not cover a peer that accepts a connection and then stays silent. So
each call runs on an event loop in a separate thread, where it is cancelled at its timeout.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Final, LiteralString
from zoneinfo import ZoneInfo

import neo4j
from neo4j.exceptions import DriverError, Neo4jError
from neo4j.time import DateTime

from sidecypher import CallError, split_code
from sidecypher_procedures.rules.client.model import ClientSettings
from sidecypher_procedures.rules.errors import (
    InvalidArgument,
    InvalidInput,
    InvalidRule,
    MemoryUnavailable,
    RuleTaken,
    ScopeChanged,
    UnknownExtraction,
    UnknownRule,
)

_CALLER_ERRORS: Final[dict[str, Callable[[str], CallError]]] = {
    "SC-204": partial(CallError, code="SC-204"),
    **{
        each.code: each
        for each in (
            *(InvalidRule, InvalidArgument, UnknownRule, RuleTaken, InvalidInput),
            *(ScopeChanged, UnknownExtraction),
        )
    },
}
_CLOSE_SECONDS: Final = 2.0


class _Loop(asyncio.SelectorEventLoop):
    """Event loop that closes a socket if connecting is cancelled; the driver does not."""

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        try:
            await super().sock_connect(sock, address)
        except asyncio.CancelledError:
            sock.close()
            raise


class Connection:
    """A driver and the thread of its event loop.

    Args:
        settings: Address, credentials and timeouts of Neo4j.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._loop = _Loop()
        self._driver: neo4j.AsyncDriver | None = None
        self._is_reached = False
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._serve, name="sidecypher-memory", daemon=True)
        self._thread.start()

    def submit(
        self, statement: LiteralString, parameters: dict[str, Any], seconds: float, *, write: bool
    ) -> Future[list[dict[str, Any]]]:
        """Begin to run a statement in one transaction; return the future of its records.

        If the future is cancelled, the transaction ends. It raises `MemoryUnavailable` if there is
        no usable answer in time, and a `RulesError` if the procedure rejects the arguments.

        Args:
            statement: The statement.
            parameters: Its parameters.
            seconds: Seconds until it fails, including connecting and retries.
            write: Whether it writes.

        Raises:
            MemoryUnavailable: The connection was closed.
        """
        with self._lock:
            if self._is_closed:
                raise _closed()
            work = self._run(statement, parameters, seconds, write=write)
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Close connections and thread; running and later calls raise MemoryUnavailable."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        with suppress(TimeoutError):
            closing.result(_CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _run(
        self, statement: LiteralString, parameters: dict[str, Any], seconds: float, *, write: bool
    ) -> list[dict[str, Any]]:
        @neo4j.unit_of_work(timeout=seconds)
        async def work(tx: neo4j.AsyncManagedTransaction) -> list[dict[str, Any]]:
            result = await tx.run(statement, _with_offsets(parameters))
            return [_native(record.data()) async for record in result]

        was_reached, self._is_reached = self._is_reached, False
        try:
            async with asyncio.timeout(seconds):
                driver = self._open_driver()
                if not was_reached:
                    # If nothing listens, a transaction is retried until the timeout; not so this.
                    await driver.verify_connectivity()
                async with driver.session(database=self._settings.database) as session:
                    run = session.execute_write if write else session.execute_read
                    found = await run(work)
        except asyncio.CancelledError:
            if self._is_closed:
                raise _closed() from None
            raise
        except (DriverError, Neo4jError, OSError) as error:
            raise _error_of(error) from error
        except ValueError as error:
            # If DNS fails for good, the driver raises this.
            if not isinstance(error.__cause__, OSError):
                raise
            raise _error_of(error.__cause__) from error
        self._is_reached = True
        return found

    def _open_driver(self) -> neo4j.AsyncDriver:
        if self._driver is None:
            settings = self._settings
            password = settings.password
            self._driver = neo4j.AsyncGraphDatabase.driver(
                settings.uri,
                auth=None if password is None else (settings.user, password.get_secret_value()),
                connection_timeout=settings.connect_timeout,
                max_transaction_retry_time=settings.write_timeout,
                # Notifications would write statements to the agent's log.
                notifications_min_severity="OFF",
            )
        return self._driver

    async def _close(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._driver is not None:
            await self._driver.close()
        # The threads that resolve host names.
        await self._loop.shutdown_default_executor()


def _closed() -> MemoryUnavailable:
    return MemoryUnavailable("The memory was closed in the meantime", retryable=True)


def _error_of(error: Exception) -> Exception:
    """Return the error of the client for an error of the driver."""
    code, text = split_code(getattr(error, "message", None) or "")
    if code in _CALLER_ERRORS:
        return _CALLER_ERRORS[code](text)
    if isinstance(error, TimeoutError):
        return MemoryUnavailable("The memory gave no answer in time", retryable=True)
    reason = code or getattr(error, "code", None) or type(error).__name__
    return MemoryUnavailable(
        f"The memory cannot be used: {reason}", retryable=True, details={"reason": reason}
    )


def _with_offsets(value: Any) -> Any:
    """Return a value with each `ZoneInfo` replaced by its offset, since it can crash the process.

    The driver passes its own datetime to the zone, which reads its memory as a Python datetime.
    """
    match value:
        case datetime(tzinfo=ZoneInfo()):
            return value.replace(tzinfo=timezone(value.utcoffset() or timedelta()))
        case Mapping():
            return {name: _with_offsets(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_offsets(each) for each in value]
        case _:
            return value


def _native(value: Any) -> Any:
    """Return a value with Python's own datetimes."""
    match value:
        case DateTime():
            return value.to_native()
        case dict():
            return {name: _native(each) for name, each in value.items()}
        case list():
            return [_native(each) for each in value]
        case _:
            return value
