"""`Context`: what a body sees of its call."""

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final, LiteralString, TypeVar

from structlog.typing import FilteringBoundLogger

from sidecypher.codec import encoder
from sidecypher.errands import Errand
from sidecypher.errors import ValueTypeError
from sidecypher.resources import Resources
from sidecypher.results import Result, Statements
from sidecypher.state import CallState
from sidecypher.telemetry import call_logger
from sidecypher.types import CypherType, Deadline

_Resource = TypeVar("_Resource")
_encode_any: Final = encoder(CypherType("ANY", nullable=True))


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
        # Made by the first `run`: most bodies have none.
        self._statements: Statements | None = None

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

    def progress(self, done: float, total: float | None = None) -> None:
        """Tell how far the body has come; `sidecypher.running()` shows it.

        Args:
            done: What is done, in a unit of your choice.
            total: What will have been done at the end, if you know it.

        Raises:
            ContextExpired: The call is over.
            TypeError, ValueError: One of them is no number.
        """
        self._state.progress(done, total)

    def run(self, cypher: LiteralString, /, **params: Any) -> Result:
        """Run a statement in the caller's transaction.

        Args:
            cypher: The statement; never build it from values.
            params: Its parameters.

        Returns:
            The records, which arrive in pages. Iterate over them in a plain body. In an async one
            `await` the result, or iterate by `async for`.

        Raises:
            CypherError: The statement failed. Neo4j has no savepoints: the transaction is doomed
                and the call fails with this error whatever the body does next.
            ValueTypeError: A parameter has no Cypher type.
            ContextExpired: The call is over, or this is not the body's thread.
            NoTransaction: The transport has none.
        """
        self._state.check()
        encoded = _encode_parameters(params)
        if self._statements is None:
            self._statements = Statements(self._state)
        if self._is_async:
            return Result.later(partial(self._statements.run, cypher, encoded), self._hand)
        return Result(*self._statements.run(cypher, encoded))

    async def _hand(self, work: Callable[[], Any]) -> Any:
        """Have the serving thread, which pumps requests while it waits, do `work`."""
        errand = Errand(work)
        self._state.hand(errand)
        return await asyncio.wrap_future(errand.answer)

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, made at its first use.

        Args:
            kind: A class that needs no arguments. If it has a method `stop` (plain or async), that
                is called when the sidecar stops.

        Raises:
            TimeoutError: In an async body: another thread has been making it for 0.25 s, and has
                not ended; the event loop must not wait any longer.
        """
        return self._resources.get(kind, is_loop=self._is_async)


def _encode_parameters(params: dict[str, Any]) -> dict[str, Any]:
    encoded = {}
    for name, value in params.items():
        try:
            encoded[name] = _encode_any(value)
        except ValueTypeError as error:
            raise ValueTypeError(f"The parameter `{name}` of `ctx.run` {error.message}") from None
    return encoded
