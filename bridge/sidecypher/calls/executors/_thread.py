"""Plain functions on the thread of the connection that serves them; streams on another one.

The rows of a stream are sent while its function works on the next one. The thread that serves the
call cannot do both.
"""

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from threading import get_ident
from typing import Any, Final

from sidecypher.calls.executors._pages import Pages, rows_of
from sidecypher.calls.executors._waiting import RunOnThread, ThreadWork, WaitingExecution
from sidecypher.calls.executors.execution import Execution
from sidecypher.calls.executors.loop import CLEANUP_SECONDS
from sidecypher.errors import RowError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead
from sidecypher.sdk.interruption import InterruptibleSection
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.telemetry.calls import log_unexpected


class _Function:
    """A plain function with its context variables and its interruptible section.

    A function that forks returns twice. The child shares the sockets, so it ends here.
    """

    def __init__(self, call: Execution, arguments: list[Any], resources: Resources) -> None:
        self._procedure = call.procedure
        self._arguments = call.with_context(arguments, resources)
        self._rows: Iterator[Any] | None = None
        self._section = call.section = InterruptibleSection()
        # Different threads may make the pages of one generator; its context variables stay.
        self._variables = contextvars.copy_context()
        self._own = os.getpid()

    def fill(self, pages: Pages) -> bool:
        return bool(self._run(self._fill, pages))

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._variables.run(self._section.call, function, *arguments)
        finally:
            if os.getpid() != self._own:
                os._exit(0)

    def _fill(self, pages: Pages) -> bool:
        if self._rows is None:
            self._rows = self._start()
        return pages.add_all(self._rows)

    def _start(self) -> Iterator[Any]:
        # The context refers to the call: kept here, only the garbage collector could free both.
        arguments, self._arguments = self._arguments, []
        answer = self._procedure.function(*arguments)
        if self._procedure.signature.returns is not ReturnKind.ITERATOR:
            return iter(rows_of(self._procedure, answer))
        if isinstance(answer, Iterator):
            return answer
        raise RowError(f"`{self._procedure.name}` returned a {type(answer).__name__}, no iterator")

    def close(self) -> None:
        close = getattr(self._rows, "close", None)
        if close is not None:
            self._run(close)

    def interrupt(self) -> None:
        self._section.interrupt()


class ThreadExecution(Execution):
    """A plain function on the thread that serves the call.

    Attributes:
        is_still_running: False, because the serving thread itself runs the function.
    """

    is_still_running = False

    def __init__(
        self, head: CallHead, procedure: Procedure, arguments: list[Any], resources: Resources
    ) -> None:
        super().__init__(head, procedure)
        self._function = _Function(self, arguments, resources)

    def fill(self) -> bool:
        """Add rows to `pages` until the page is full; return whether more may follow."""
        return self._function.fill(self.pages)

    def close(self) -> None:
        """Close the generator, if the function is a generator."""
        self._function.close()

    def interrupt(self) -> None:
        """Raise `CallInterrupted` in Python code of the function; C code is not interrupted."""
        self._function.interrupt()


class StreamExecution(WaitingExecution[ThreadWork]):
    """A plain function that streams, on a separate thread while it works."""

    def __init__(
        self,
        run: RunOnThread,
        head: CallHead,
        procedure: Procedure,
        arguments: list[Any],
        resources: Resources,
    ) -> None:
        super().__init__(head, procedure)
        self._run = run
        self._function: Final = _Function(self, arguments, resources)
        self._close_lock: Final = threading.Lock()
        self._is_closed = False
        self._clean_up: Deadline | None = None

    def fill(self) -> bool:
        """Add rows to `pages` until the page is full; return whether more may follow."""
        return self._stream(self._begin)

    def _begin(self) -> ThreadWork:
        work = ThreadWork()
        make_rows = partial(self._make_rows, work)
        try:
            self._run(make_rows)
        except RuntimeError:
            # On this thread no page is sent before the function has made the next row.
            make_rows()
        return work

    def _make_rows(self, work: ThreadWork) -> None:
        """Let the function make rows on the current thread."""
        self.function_thread = get_ident()
        try:
            work.result = self._function.fill(self.pages)
        except BaseException as error:  # noqa: BLE001 - the serving thread raises it
            work.error = error
        self.function_thread = None
        with self._close_lock:
            work.is_done = not self._is_closed
        if not work.is_done:
            # The call was closed meanwhile: its caller reads no more rows.
            try:
                self._close_function()
            except BaseException as error:  # noqa: BLE001 - an author's `finally` may raise anything
                log_unexpected(error, procedure=self.name, call=self.call_id)
            work.is_done = True
        self.inbox.put(work)

    def close(self) -> None:
        """Close the generator; if its thread is running it, that thread closes it afterwards."""
        with self._close_lock:
            self._is_closed = True
            if self.is_still_running:
                return
        self._close_function()

    def _close_function(self) -> None:
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._function.close()

    def interrupt(self) -> None:
        """Raise `CallInterrupted` in the function, unless its clean-up still has time."""
        if self._clean_up is None or self._clean_up.expired():
            self._function.interrupt()
