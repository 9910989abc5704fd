"""Plain functions: on the thread of the connection that serves them, and streams on their own.

The rows of a stream are sent while its function works on the next one. The thread that serves the
call cannot do both.
"""

import contextvars
import threading
from collections.abc import Iterator
from functools import partial
from threading import get_ident
from typing import Any, Final

from sidecypher.calls.executors._pages import Page, rows_of
from sidecypher.calls.executors._waiting import Pull, RunOnThread, WaitingExecution
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


class _Body:
    """A plain function in its context variables and its interruptible section."""

    def __init__(self, call: Execution, arguments: list[Any], resources: Resources) -> None:
        self._procedure = call.procedure
        self._arguments = call.with_context(arguments, resources)
        self._rows: Iterator[Any] | None = None
        self._section = call.section = InterruptibleSection()
        # Pages of one generator may be made by different threads; its context variables stay.
        self._variables = contextvars.copy_context()

    def fill(self, page: Page) -> bool:
        return self._variables.run(self._section.call, self._fill, page)

    def _fill(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._start()
        return page.add_all(self._rows)

    def _start(self) -> Iterator[Any]:
        # The context refers to the call: kept here, both would wait for the garbage collector.
        arguments, self._arguments = self._arguments, []
        answer = self._procedure.body(*arguments)
        if self._procedure.signature.returns is not ReturnKind.ITERATOR:
            return iter(rows_of(self._procedure, answer))
        if isinstance(answer, Iterator):
            return answer
        raise RowError(f"`{self._procedure.name}` returned a {type(answer).__name__}, no iterator")

    def close(self) -> None:
        close = getattr(self._rows, "close", None)
        if close is not None:
            self._variables.run(self._section.call, close)

    def interrupt(self) -> None:
        self._section.interrupt()


class ThreadExecution(Execution):
    """A plain function on the thread that serves the call.

    Attributes:
        is_still_running: False: a function on the serving thread is always waited for.
    """

    is_still_running = False

    def __init__(
        self, facts: CallHead, procedure: Procedure, arguments: list[Any], resources: Resources
    ) -> None:
        super().__init__(facts, procedure)
        self._body = _Body(self, arguments, resources)

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; return whether there may be more."""
        return self._body.fill(page)

    def close(self) -> None:
        """Close the generator, if the function is one."""
        self._body.close()

    def interrupt(self) -> None:
        """Raise `CallInterrupted` where the function computes; what waits in C code goes on."""
        self._body.interrupt()


class StreamExecution(WaitingExecution[Pull]):
    """A plain function that streams, on a thread that is its own while it works."""

    def __init__(
        self,
        run: RunOnThread,
        facts: CallHead,
        procedure: Procedure,
        arguments: list[Any],
        resources: Resources,
    ) -> None:
        super().__init__(facts, procedure)
        self._run = run
        self._body: Final = _Body(self, arguments, resources)
        self._close_lock: Final = threading.Lock()
        self._is_closed = False
        self._clean_up: Deadline | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; return whether there may be more."""
        return self._stream(page, lambda: self._begin(page))

    def _begin(self, page: Page) -> Pull:
        pull = Pull()
        work = partial(self._pull, pull, page)
        try:
            self._run(work)
        except RuntimeError:
            # On this thread no page is sent before the function has made the next row.
            work()
        return pull

    def _pull(self, pull: Pull, page: Page) -> None:
        """Let the function work, on its thread."""
        self.home = get_ident()
        try:
            pull.result = self._body.fill(page)
        except BaseException as error:  # noqa: BLE001 - the serving thread raises it
            pull.error = error
        self.home = None
        with self._close_lock:
            pull.is_done = not self._is_closed
        if not pull.is_done:
            # The call was closed meanwhile: its caller wants no more rows.
            try:
                self._close_body()
            except BaseException as error:  # noqa: BLE001 - an author's `finally` may raise anything
                log_unexpected(error, procedure=self.name, call=self.call_id)
            pull.is_done = True
        self.inbox.put(pull)

    def close(self) -> None:
        """Close the generator; if its thread is in it, that does so when it comes out."""
        with self._close_lock:
            self._is_closed = True
            if self.is_still_running:
                return
        self._close_body()

    def _close_body(self) -> None:
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._body.close()

    def interrupt(self) -> None:
        """Raise `CallInterrupted` where the body computes, or cleans up for too long."""
        if self._clean_up is None or self._clean_up.expired():
            self._body.interrupt()
