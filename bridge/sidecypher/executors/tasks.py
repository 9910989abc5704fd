"""Async bodies: on the event loop, while the serving thread waits and executes their callbacks."""

import contextlib
import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from queue import Empty
from typing import Any

from sidecypher.context import Context
from sidecypher.errands import Errand
from sidecypher.errors import CallError
from sidecypher.executors.loop import CLEANUP_SECONDS, STOP_SECONDS, EventLoop, Job
from sidecypher.executors.pages import Page, rows_of
from sidecypher.registry import Procedure
from sidecypher.signature import Answer
from sidecypher.state import CallState, cancelled, deadline_exceeded
from sidecypher.types import Deadline


class AsyncRunning:
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
        self._state = state
        state.home = loop.thread
        self._variables = contextvars.copy_context()
        self._rows: AsyncIterator[Any] | None = None
        self._listed: Iterator[Any] | None = None
        self._job: Job | None = None
        self._clean_up: Deadline | None = None

    @property
    def lingers(self) -> bool:
        """Whether its task has not ended: it has swallowed its cancellation, or cleans up."""
        return self._job is not None and not self._job.is_done

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        if self._procedure.signature.answer is Answer.ITERATOR:
            return bool(self._await(lambda: self._pull(page)))
        if self._listed is None:
            answer = self._await(lambda: self._procedure.body(*self._arguments))
            self._listed = iter(rows_of(self._procedure, answer))
        return page.add_all(self._listed)

    async def _pull(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._procedure.body(*self._arguments)
        async for row in self._rows:
            if page.add(row):
                return True
        return False

    def _await(self, start: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine on the loop; execute its callbacks here until it is done."""
        inbox = self._state.inbox
        job = self._job = self._loop.submit(start, self._variables, inbox.put)
        # A cancel that came before there was a job to cancel must not be lost.
        if self._state.stopped:
            self._loop.cancel(job)
        while True:
            try:
                item = inbox.get(timeout=self._state.deadline.remaining())
            except Empty:
                self.cancel(deadline_exceeded(self._procedure.name))
                return self._last_chance(job)
            if item is job:
                return self._outcome(job)
            if isinstance(item, Errand):
                item.do()

    def _last_chance(self, job: Job) -> Any:
        """Wait for a cancelled body to clean up, but not for long."""
        patience = Deadline.after(STOP_SECONDS)
        while not job.is_done and not patience.expired():
            with contextlib.suppress(Empty):
                item = self._state.inbox.get(timeout=patience.remaining())
                if isinstance(item, Errand):
                    item.refuse(cancelled(self._procedure.name))
        return self._outcome(job)

    def _outcome(self, job: Job) -> Any:
        self._state.check()
        if job.error is None and job.is_done:
            return job.result
        if job.error is None:
            raise cancelled(self._procedure.name) from None
        # A CancelledError too: nobody has cancelled this call, so it is the body's own failure.
        raise job.error

    def close(self) -> None:
        """Close the async generator, if the body is one."""
        close = getattr(self._rows, "aclose", None)
        # While its task lingers an async generator runs, and cannot be closed.
        if close is None or self.lingers:
            return
        done = threading.Event()
        self._clean_up = Deadline.after(CLEANUP_SECONDS)
        self._job = self._loop.submit(close, self._variables, lambda _job: done.set())
        if done.wait(STOP_SECONDS) and self._job.error is not None:
            raise self._job.error

    def cancel(self, reason: CallError) -> None:
        """Cancel the task; the body sees `asyncio.CancelledError` where it awaits."""
        self._state.stop(reason)
        self._clean_up = self._clean_up or Deadline.after(CLEANUP_SECONDS)
        if self._job is not None:
            self._loop.cancel(self._job)

    def interrupt(self) -> None:
        """Cancel the task once more when its clean-up takes too long."""
        if self._job is not None and self._clean_up is not None and self._clean_up.expired():
            self._clean_up = Deadline.after(CLEANUP_SECONDS)
            self._loop.cancel_again(self._job)
