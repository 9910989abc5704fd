"""Async bodies: on the event loop, while the serving thread waits and executes their callbacks."""

import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from sidecypher.context import Context
from sidecypher.errors import CallError
from sidecypher.executors.loop import CLEANUP_SECONDS, STOP_SECONDS, EventLoop, Job
from sidecypher.executors.pages import Page, rows_of
from sidecypher.executors.serving import Served
from sidecypher.registry import Procedure
from sidecypher.signature import Answer
from sidecypher.state import CallState
from sidecypher.types import Deadline


class AsyncRunning(Served[Job]):
    """An async body, on the event loop; this class is the serving thread's end of it."""

    def __init__(
        self,
        loop: EventLoop,
        procedure: Procedure,
        arguments: list[Any],
        context: Context,
        state: CallState,
    ) -> None:
        self._loop = loop
        self._procedure = procedure
        self._arguments = [context, *arguments] if procedure.signature.takes_context else arguments
        super().__init__(state)
        state.home = loop.thread
        self._variables = contextvars.copy_context()
        self._rows: AsyncIterator[Any] | None = None
        self._listed: Iterator[Any] | None = None
        self._clean_up: Deadline | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        if self._procedure.signature.answer is Answer.ITERATOR:
            return self._stream(page, lambda: self._submit(lambda: self._pull(page)))
        if self._listed is None:
            self._work = self._submit(lambda: self._procedure.body(*self._arguments))
            self._listed = iter(rows_of(self._procedure, self._wait(self._work)))
        return page.add_all(self._listed)

    async def _pull(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._procedure.body(*self._arguments)
        async for row in self._rows:
            if page.add(row):
                return True
        return False

    def _submit(self, start: Callable[[], Awaitable[Any]]) -> Job:
        job = self._loop.submit(start, self._variables, self._state.inbox.put)
        # A cancel that came before there was a job to cancel must not be lost.
        if self._state.stopped:
            self._loop.cancel(job)
        return job

    def close(self) -> None:
        """Close the async generator, if the body is one."""
        close = getattr(self._rows, "aclose", None)
        # While its task lingers an async generator runs, and cannot be closed.
        if close is None or self.lingers:
            return
        done = threading.Event()
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._work = self._loop.submit(close, self._variables, lambda _job: done.set())
        if done.wait(STOP_SECONDS) and self._work.error is not None:
            raise self._work.error

    def cancel(self, reason: CallError) -> None:
        """Cancel the task; the body sees `asyncio.CancelledError` where it awaits."""
        super().cancel(reason)
        self._clean_up = self._clean_up or Deadline.after(CLEANUP_SECONDS)
        if self._work is not None:
            self._loop.cancel(self._work)

    def interrupt(self) -> None:
        """Cancel the task once more when its clean-up takes too long."""
        if self._work is not None and self._clean_up is not None and self._clean_up.expired():
            self._clean_up = Deadline.after(CLEANUP_SECONDS)
            self._loop.cancel_again(self._work)
