"""Plain bodies: on the thread of the connection that serves them, and streams on one of their own.

Of a stream the rows that are there are sent while its body works on the next one. The thread that
serves the call cannot do both.
"""

import contextvars
import threading
from collections.abc import Iterator
from functools import partial
from threading import get_ident
from typing import Any, Final

from sidecypher.context import Context
from sidecypher.errors import CallError, RowError
from sidecypher.executors.loop import CLEANUP_SECONDS
from sidecypher.executors.pages import Page, rows_of
from sidecypher.executors.serving import Pull, RunOnThread, Served
from sidecypher.interrupts import Door
from sidecypher.registry import Procedure
from sidecypher.signature import Answer
from sidecypher.state import CallState
from sidecypher.telemetry import log_unexpected
from sidecypher.types import Deadline


class _Body:
    """A plain body in its context variables, and the door to it."""

    def __init__(
        self, procedure: Procedure, arguments: list[Any], context: Context, state: CallState
    ) -> None:
        self._procedure = procedure
        self._arguments = [context, *arguments] if procedure.signature.takes_context else arguments
        self._rows: Iterator[Any] | None = None
        self._door = state.door = Door()
        # Pages of one generator may be made by different threads; its context variables stay.
        self._variables = contextvars.copy_context()

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

    def interrupt(self) -> None:
        """Raise `CallInterrupted` where the body computes; what waits in C code goes on."""
        self._door.interrupt()


class ThreadRunning(_Body):
    """A plain body, on the thread that serves the call.

    Attributes:
        lingers: Whether it still works though nobody waits for it; a thread is always waited for.
    """

    lingers: Final = False

    def __init__(
        self, procedure: Procedure, arguments: list[Any], context: Context, state: CallState
    ) -> None:
        super().__init__(procedure, arguments, context, state)
        self._state = state

    def cancel(self, reason: CallError) -> None:
        """Make the body's next `ctx.check` or `ctx.run` raise."""
        self._state.stop(reason)


class StreamRunning(Served[Pull]):
    """A plain body that streams, on a thread that is its own while it works."""

    def __init__(
        self,
        run: RunOnThread,
        procedure: Procedure,
        arguments: list[Any],
        context: Context,
        state: CallState,
    ) -> None:
        super().__init__(state)
        self._run = run
        self._body = _Body(procedure, arguments, context, state)
        self._lock = threading.Lock()
        self._is_closed = False
        self._clean_up: Deadline | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        return self._stream(page, lambda: self._begin(page))

    def _begin(self, page: Page) -> Pull:
        pull = Pull()
        work = partial(self._pull, pull, page)
        try:
            self._run(work)
        except RuntimeError:
            # No thread is to be had: here, no page is sent before the body has made the next row.
            work()
        return pull

    def _pull(self, pull: Pull, page: Page) -> None:
        """Let the body work, on its thread."""
        self._state.home = get_ident()
        try:
            pull.result = self._body.fill(page)
        except BaseException as error:  # noqa: BLE001 - the serving thread raises it
            pull.error = error
        self._state.home = None
        with self._lock:
            pull.is_done = not self._is_closed
        if not pull.is_done:
            # Nobody has waited for this row: its caller wants no more.
            try:
                self._close_body()
            except BaseException as error:  # noqa: BLE001 - an author's `finally` may raise anything
                log_unexpected(error, procedure=self._state.name, call=self._state.call_id)
            pull.is_done = True
        self._state.inbox.put(pull)

    def close(self) -> None:
        """Close the generator; if its thread is in it, that does so when it comes out."""
        with self._lock:
            self._is_closed = True
            if self.lingers:
                return
        self._close_body()

    def _close_body(self) -> None:
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._body.close()

    def interrupt(self) -> None:
        """Raise `CallInterrupted` where the body computes, or cleans up for too long."""
        if self._clean_up is None or self._clean_up.expired():
            self._body.interrupt()
