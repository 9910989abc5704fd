"""Plain bodies, on the thread of the connection that serves them: no hop."""

import contextvars
from collections.abc import Iterator
from typing import Any, Final

from sidecypher.context import Context
from sidecypher.errors import CallError, RowError
from sidecypher.executors.pages import Page, rows_of
from sidecypher.interrupts import Door
from sidecypher.registry import Procedure
from sidecypher.signature import Answer
from sidecypher.state import CallState


class ThreadRunning:
    """A plain body, on the thread that serves the call.

    Attributes:
        lingers: Whether it still works though nobody waits for it; a thread is always waited for.
    """

    lingers: Final = False

    def __init__(
        self, procedure: Procedure, arguments: list[Any], context: Context, state: CallState
    ) -> None:
        self._procedure = procedure
        self._arguments = [context, *arguments] if procedure.signature.takes_context else arguments
        self._state = state
        self._door = state.door = Door()
        # Pages of one generator may be served by different threads; its context variables stay.
        self._variables = contextvars.copy_context()
        self._rows: Iterator[Any] | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        return self._variables.run(self._door.call, self._fill, page)

    def _fill(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._start()
        return page.add_all(self._rows)

    def _start(self) -> Iterator[Any]:
        answer = self._procedure.body(*self._arguments)
        if self._procedure.signature.answer is not Answer.ITERATOR:
            return iter(rows_of(self._procedure, answer))
        if isinstance(answer, Iterator):
            return answer
        raise RowError(f"`{self._procedure.name}` returned a {type(answer).__name__}, no iterator")

    def close(self) -> None:
        """Close the generator, if the body is one."""
        close = getattr(self._rows, "close", None)
        if close is not None:
            self._variables.run(self._door.call, close)

    def cancel(self, reason: CallError) -> None:
        """Make the body's next `ctx.check` or `ctx.run` raise."""
        self._state.stop(reason)

    def interrupt(self) -> None:
        """Raise `CallInterrupted` where the body computes; what waits in C code goes on."""
        self._door.interrupt()
