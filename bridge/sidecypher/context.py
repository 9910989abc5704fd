"""`Context`: what a body sees of its call."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from functools import cached_property
from queue import SimpleQueue
from typing import Any, Final, LiteralString, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher import envelope
from sidecypher.codec import decoder, encoder
from sidecypher.envelope import RunReply, RunRequest
from sidecypher.errors import (
    ArgumentError,
    CallCancelled,
    CallError,
    ContextExpired,
    CypherError,
    DeadlineExceeded,
    NoTransaction,
    ValueTypeError,
)
from sidecypher.resources import Resources
from sidecypher.signature import CypherType
from sidecypher.telemetry import call_logger
from sidecypher.types import Deadline

RunCypher = Callable[[bytes], bytes]
"""Sends one `RunRequest` to the caller's thread in the JVM and returns the `RunReply`."""

Record = dict[str, Any]
"""One record of a statement: values by column name."""

_Resource = TypeVar("_Resource")
_NO_TIME: Final = Deadline(0.0)
_encode_any: Final = encoder(CypherType("ANY", nullable=True))
_decode_any: Final = decoder(CypherType("ANY", nullable=True))


def no_transaction(_request: bytes) -> bytes:
    """Refuse `ctx.run` where the transport has no transaction.

    Raises:
        NoTransaction: Always.
    """
    raise NoTransaction(
        "There is no transaction for `ctx.run` on this transport",
        hint="Call the procedure from Cypher, or give the test environment a `run`.",
    )


class CallState:
    """The facts of one call that serving threads, loop and canceller share.

    Attributes:
        deadline: When the message being served must have been answered.
        failure: First statement that failed; it dooms the call.
        inbox: In async calls, what the loop hands to the serving thread.
    """

    def __init__(self, call_id: str, name: str, database: str, user: str) -> None:
        self.call_id = call_id
        self.name = name
        self.database = database
        self.user = user
        self.deadline = _NO_TIME
        self.failure: CypherError | None = None
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self._stopped: CallError | None = None
        self._serving: tuple[int, RunCypher] | None = None

    def serve(self, run: RunCypher, deadline: Deadline) -> None:
        """Begin a message: callbacks go through `run`, on the current thread only."""
        self.deadline = deadline
        self._serving = (threading.get_ident(), run)

    def rest(self) -> None:
        """End a message: no callback is possible until the next one."""
        self._serving = None

    def stop(self, reason: CallError) -> None:
        """Make `check` raise `reason` from now on."""
        self._stopped = self._stopped or reason

    def check(self) -> None:
        """Raise if the call was cancelled, doomed, or has used up its time."""
        if self._stopped is not None:
            raise self._stopped
        if self.failure is not None:
            raise self.failure
        if self.deadline.expired():
            raise deadline_exceeded(self.name)

    def run_here(self, request: bytes) -> RunReply:
        """Send one callback from the thread that serves the call."""
        if self._serving is None or self._serving[0] != threading.get_ident():
            raise ContextExpired(
                f"`ctx.run` was used outside of its call to `{self.name}`",
                hint="Use the context only in the body it was given to, on the body's own thread.",
            )
        return envelope.read(self._serving[1](request), RunReply)

    @property
    def stopped(self) -> bool:
        """Whether the call was cancelled."""
        return self._stopped is not None

    @property
    def served(self) -> bool:
        """Whether a thread of the sidecar serves the call now."""
        return self._serving is not None


def deadline_exceeded(name: str) -> DeadlineExceeded:
    """Return the error of a call that has used up its time."""
    return DeadlineExceeded(
        f"`{name}` did not answer within its time",
        hint="Do less per call, or raise the procedure's `timeout`.",
    )


def cancelled(name: str) -> CallCancelled:
    """Return the error of a call whose caller does not wait any more."""
    return CallCancelled(f"The call to `{name}` was cancelled")


class Result:
    """Records of a statement: iterate in a sync body, `await` first in an async one.

    Example:
        >>> list(Result.of([{"n": 1}]))
        [{'n': 1}]
    """

    def __init__(self, pending: Awaitable[list[Record]] | None) -> None:
        self._pending = pending
        self._records: list[Record] = []

    @classmethod
    def of(cls, records: list[Record]) -> "Result":
        """Return a result whose records are there."""
        made = cls(None)
        made._records = records
        return made

    def __await__(self) -> Generator[Any, None, "Result"]:
        """Wait for the records; in async bodies."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._records = yield from pending.__await__()
        return self

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records, each a dict by column name."""
        return iter(self._ready())

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._ready())

    def single(self) -> Record:
        """Return the only record.

        Raises:
            ArgumentError: There is none, or there are several.
        """
        records = self._ready()
        if len(records) != 1:
            raise ArgumentError(
                f"The statement gave {len(records)} records where one is expected",
                hint="Match on a unique property, or iterate over the result.",
            )
        return records[0]

    def _ready(self) -> list[Record]:
        if self._pending is not None:
            raise ContextExpired(
                "The result of `ctx.run` was used before it was there",
                hint="In an async body write `await ctx.run(...)`.",
            )
        return self._records


class Context:
    """A body's view of its call: the caller's transaction, the deadline, the log.

    Example:
        >>> def body(ctx: Context) -> None:
        ...     for record in ctx.run("MATCH (n:Person) RETURN n.name AS name LIMIT $n", n=3):
        ...         ctx.check()
    """

    def __init__(self, state: CallState, resources: Resources, *, is_async: bool) -> None:
        self._state = state
        self._resources = resources
        self._is_async = is_async

    @cached_property
    def log(self) -> FilteringBoundLogger:
        """Structured logger whose lines carry the call id; log facts, not arguments."""
        return call_logger(self._state.call_id, self._state.name)

    @property
    def call_id(self) -> str:
        """The call's identifier, the same in both logs."""
        return self._state.call_id

    @property
    def database(self) -> str:
        """Name of the caller's database."""
        return self._state.database

    @property
    def user(self) -> str:
        """Name of the Neo4j user who calls; empty when authentication is off."""
        return self._state.user

    @property
    def deadline(self) -> Deadline:
        """When the call must have answered; `ctx.deadline.remaining()` gives seconds."""
        return self._state.deadline

    def check(self) -> None:
        """Raise if nobody waits for this call any more; use it in long loops.

        Raises:
            CallCancelled: The caller's transaction was terminated, or the sidecar stops.
            DeadlineExceeded: No time is left.
            CypherError: An earlier `run` failed, so the transaction cannot be saved.
        """
        self._state.check()

    def run(self, cypher: LiteralString, /, **params: Any) -> Result:
        """Run a statement in the caller's transaction.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Returns:
            Iterable records in a sync body; in an async body, `await` it.

        Raises:
            CypherError: The statement failed. Neo4j has no savepoints: the transaction is doomed
                and the call fails with this error whatever the body does next.
            ValueTypeError: A parameter has no Cypher type.
            ContextExpired: The call is over, or this is not the body's thread.
            NoTransaction: The transport has none.
        """
        self._state.check()
        request = envelope.write(
            RunRequest(self._state.call_id, cypher, _encode_parameters(params))
        )
        if self._is_async:
            return Result(self._run_soon(request))
        return Result.of(self._records(self._state.run_here(request)))

    async def _run_soon(self, request: bytes) -> list[Record]:
        """Hand a callback to the serving thread, which pumps requests while it waits."""
        if not self._state.served:
            raise ContextExpired(f"`ctx.run` was used outside of its call to `{self._state.name}`")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[RunReply] = loop.create_future()
        self._state.inbox.put((request, answer, loop))
        return self._records(await answer)

    def _records(self, reply: RunReply) -> list[Record]:
        if reply.error is not None:
            self._state.failure = CypherError(reply.error.message, neo4j_code=reply.error.code)
            raise self._state.failure
        return [dict(zip(reply.columns, map(_decode_any, row), strict=True)) for row in reply.rows]

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, made at its first use.

        Args:
            kind: A class that needs no arguments. If it has a method `stop` (plain or async), that
                is called when the sidecar stops.
        """
        return self._resources.get(kind)


def _encode_parameters(params: dict[str, Any]) -> dict[str, Any]:
    encoded = {}
    for name, value in params.items():
        try:
            encoded[name] = _encode_any(value)
        except ValueTypeError as error:
            raise ValueTypeError(f"The parameter `{name}` of `ctx.run` {error.message}") from None
    return encoded
