"""`Context`: the call as a procedure's function sees it."""

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher.errors import ContextExpired, ValueTypeError
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.call import Call
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.results import Result, Statements
from sidecypher.sdk.work_item import WorkItem
from sidecypher.telemetry.calls import call_logger
from sidecypher.values.coders import encode_any, encoder
from sidecypher.values.cypher import CypherType

if TYPE_CHECKING:
    # Only those who use projections need it.
    import pyarrow as pa

_Resource = TypeVar("_Resource")
_encode_string: Final = encoder(CypherType("STRING"))


class Context:
    """The call of a function: the caller's transaction, the deadline, the log.

    Example:
        >>> def names(ctx: Context) -> None:
        ...     for record in ctx.run("MATCH (n:Person) RETURN n.name AS name LIMIT $n", n=3):
        ...         ctx.check()
    """

    def __init__(self, call: Call, resources: Resources, *, is_async: bool) -> None:
        self._call = call
        self._resources = resources
        self._is_async = is_async
        # Made by the first `run`: most functions have none.
        self._statements: Statements | None = None

    @cached_property
    def log(self) -> FilteringBoundLogger:
        """Structured logger whose lines carry the call id; log facts, not arguments."""
        return call_logger(self._call.call_id, self._call.name)

    @property
    def call_id(self) -> str:
        """The call's identifier, the same in both logs."""
        return self._call.call_id

    @property
    def database(self) -> str:
        """Name of the caller's database."""
        return self._call.database

    @property
    def user(self) -> str:
        """Name of the Neo4j user who calls; empty when authentication is off."""
        return self._call.user

    @property
    def deadline(self) -> Deadline:
        """Time by which the call must have answered; `ctx.deadline.remaining()` returns seconds."""
        return self._call.deadline

    @property
    def projection(self) -> "pa.Table":
        """The result of the procedure's `project` statement, as an Arrow table.

        Raises:
            ContextExpired: The procedure has no `project`.
        """
        if self._call.projection is None:
            raise ContextExpired(
                f"`{self._call.name}` has no projection",
                hint='Declare it with `project="MATCH ... RETURN ..."`.',
            )
        return self._call.projection

    def check(self) -> None:
        """Raise if the caller has stopped waiting; use it in long loops.

        Raises:
            CallCancelled: The caller's transaction was terminated, or the sidecar stops.
            DeadlineExceeded: No time is left.
            CypherError: An earlier `run` failed, so the transaction cannot be saved.
        """
        self._call.check()

    def progress(self, done: float, total: float | None = None) -> None:
        """Report the progress of your function; `sidecypher.running()` shows it.

        Args:
            done: Work done so far, in a unit of your choice.
            total: Work done at the end, if you know it.

        Raises:
            ContextExpired: The call is over.
            TypeError, ValueError: `done` or `total` is not a number.
        """
        self._call.progress(done, total)

    def cache(self, seconds: float, *tags: str) -> None:
        """Say how long Neo4j may give the rows of this call again, without calling your function.

        It has an effect only for a procedure with `cache`, whose seconds it replaces. If you call
        it more than once, the shortest time and all tags count.

        Args:
            seconds: From the caller's request on; 0 for not at all.
            tags: For `sidecypher.invalidate`, which makes the rows void earlier.

        Raises:
            ContextExpired: The call is over.
            TypeError: `seconds` is not a number, or a tag is not text.
            ValueError: `seconds` is negative or NaN.
        """
        self._call.cache(seconds, tags)

    def run(self, cypher: LiteralString, /, **params: Any) -> Result:
        """Run a statement in the caller's transaction.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Returns:
            The records, which arrive in pages. Iterate over them in a plain function. In an async
            one, `await` the result or iterate with `async for`.

        Raises:
            CypherError: The statement failed. Neo4j has no savepoints: the transaction is doomed
                and the call fails with this error, even if your function catches it.
            ValueTypeError: The statement is not text, or a parameter has no Cypher type.
            ContextExpired: The call is over, or your function runs on another thread.
            NoTransaction: The transport has none.
        """
        self._call.check()
        self._call.has_run = True
        statement = _encode(_encode_string, cypher, "statement")
        encoded = {
            name: _encode(encode_any, value, f"parameter `{name}`")
            for name, value in params.items()
        }
        if self._statements is None:
            self._statements = Statements(self._call)
        if self._is_async:
            return Result.later(partial(self._statements.run, statement, encoded), self._submit)
        return Result(*self._statements.run(statement, encoded))

    async def _submit(self, work: Callable[[], Any]) -> Any:
        """Run `work` on the serving thread, which handles such requests while it waits."""
        item = WorkItem(work)
        self._call.submit(item)
        return await asyncio.wrap_future(item.result)

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, made at its first use.

        Args:
            kind: A class that needs no arguments. If it has a method `stop` (plain or async), that
                is called when the sidecar stops.

        Raises:
            TimeoutError: In an async function: another thread has been making it for 0.25 s. The
                event loop must not wait any longer.
        """
        return self._resources.get(kind, is_loop=self._is_async)


def _encode(encode: Callable[[Any], Any], value: object, what: str) -> Any:
    try:
        return encode(value)
    except ValueTypeError as error:
        raise ValueTypeError(f"The {what} of `ctx.run` {error.message}") from None
