"""Async functions on the event loop; the serving thread waits and runs their callbacks."""

import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from sidecypher.calls.executors._pages import rows_of
from sidecypher.calls.executors._waiting import WaitingExecution
from sidecypher.calls.executors.loop import CLEANUP_SECONDS, STOP_SECONDS, EventLoop, Job
from sidecypher.errors import CallError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.model import ReturnKind


class AsyncExecution(WaitingExecution[Job]):
    """An async function on the event loop."""

    def __init__(
        self,
        loop: EventLoop,
        head: CallHead,
        procedure: Procedure,
        arguments: list[Any],
        resources: Resources,
    ) -> None:
        super().__init__(head, procedure)
        self._loop = loop
        self._arguments = self.with_context(arguments, resources)
        self.function_thread = loop.thread
        self._variables = contextvars.copy_context()
        self._rows: AsyncIterator[Any] | None = None
        self._listed: Iterator[Any] | None = None
        self._clean_up: Deadline | None = None

    def fill(self) -> bool:
        """Add rows to `pages` until the page is full; return whether more may follow."""
        if self.procedure.signature.returns is ReturnKind.ITERATOR:
            return self._stream(lambda: self._submit(self._add_rows))
        if self._listed is None:
            self._listed = iter(rows_of(self.procedure, self._wait(self._submit(self._start))))
        return self.pages.add_all(self._listed)

    def _start(self) -> Any:
        # The context refers to the call: kept here, only the garbage collector could free both.
        arguments, self._arguments = self._arguments, []
        return self.procedure.function(*arguments)

    async def _add_rows(self) -> bool:
        if self._rows is None:
            self._rows = self._start()
        async for row in self._rows:
            if self.pages.add(row):
                return True
        return False

    def _submit(self, start: Callable[[], Awaitable[Any]]) -> Job:
        job = self._work = self._loop.submit(start, self._variables, self.inbox.put)
        # The call may have been cancelled before it had this job to cancel.
        if self.is_cancelled:
            self._loop.cancel(job)
        return job

    def close(self) -> None:
        """Close the async generator, if the function is an async generator."""
        close = getattr(self._rows, "aclose", None)
        # An async generator cannot be closed while its task is still running.
        if close is None or self.is_still_running:
            return
        done = threading.Event()
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._work = self._loop.submit(close, self._variables, lambda _job: done.set())
        if done.wait(STOP_SECONDS) and self._work.error is not None:
            raise self._work.error

    def cancel(self, reason: CallError) -> None:
        """Cancel the task: its `await` raises `asyncio.CancelledError`."""
        super().cancel(reason)
        self._clean_up = self._clean_up or Deadline.after(CLEANUP_SECONDS)
        if self._work is not None:
            self._loop.cancel(self._work)

    def interrupt(self) -> None:
        """Cancel the task again if its clean-up takes too long."""
        if self._work is not None and self._clean_up is not None and self._clean_up.expired():
            self._clean_up = Deadline.after(CLEANUP_SECONDS)
            self._loop.cancel_again(self._work)
