"""Run bodies and cut their rows into pages.

A plain body runs on the thread of the connection that serves it: no hop. An async body runs on the
sidecar's one event loop, while the serving thread waits and executes its callbacks.
"""

import asyncio
import contextlib
import contextvars
import operator
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from queue import Empty
from typing import Any, Final, Protocol

import msgspec

from sidecypher import envelope
from sidecypher.context import CallState, Context, cancelled, deadline_exceeded
from sidecypher.errors import CallError, RowError
from sidecypher.registry import Procedure
from sidecypher.signature import Answer
from sidecypher.types import Deadline

PAGE_ROWS: Final = (16, 64, 256, 1000)
"""Rows of the first pages; later ones are as long as the last of these."""

FLUSH_SECONDS: Final = 0.010
"""A page with rows is sent when its producer has taken this long since the first of them."""

STOP_SECONDS: Final = 0.25
"""How long a cancelled async body may take to clean up before its caller is answered."""


class Page:
    """Rows of one page, encoded as they come.

    Attributes:
        rows: Each row as JSON.
    """

    def __init__(self, procedure: Procedure, row_limit: int, byte_limit: int) -> None:
        self.rows: list[msgspec.Raw] = []
        self._encode = procedure.encode_row
        self._rows_left = row_limit
        self._bytes_left = byte_limit
        self._flush_at = 0.0

    def add(self, row: object) -> bool:
        """Add a row; tell whether the page is to be sent now."""
        text = envelope.write(self._encode(row))
        if not self.rows:
            self._flush_at = time.monotonic() + FLUSH_SECONDS
        self.rows.append(msgspec.Raw(text))
        self._rows_left -= 1
        self._bytes_left -= len(text)
        return self._rows_left <= 0 or self._bytes_left <= 0 or time.monotonic() >= self._flush_at


class Running(Protocol):
    """A body that has been started."""

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""

    def close(self) -> None:
        """Give up: close the generator."""

    def cancel(self, reason: CallError) -> None:
        """Stop what is being served, from another thread."""


def rows_of(procedure: Procedure, answer: object) -> list[Any]:
    """Return the rows of a body that is no generator.

    Raises:
        RowError: The body answered with something else than its annotation says.
    """
    match procedure.signature.answer:
        case Answer.ROW | Answer.VALUE:
            return [answer]
        case Answer.VOID if answer is None:
            return []
        case Answer.MAYBE:
            return [] if answer is None else [answer]
    if isinstance(answer, list):
        return answer
    raise RowError(
        f"`{procedure.name}` returned a {type(answer).__name__} where "
        f"{procedure.signature.answer.value} is expected"
    )


def _add_all(page: Page, rows: Iterator[Any]) -> bool:
    """Add rows until the page is full or they end; tell whether there may be more."""
    return any(map(page.add, rows)) and operator.length_hint(rows, 1) > 0


class ThreadRunning:
    """A plain body, on the thread that serves the call."""

    def __init__(
        self, procedure: Procedure, arguments: list[Any], context: Context, state: CallState
    ) -> None:
        self._procedure = procedure
        self._arguments = [context, *arguments] if procedure.signature.takes_context else arguments
        self._state = state
        # Pages of one generator may be served by different threads; its context variables stay.
        self._variables = contextvars.copy_context()
        self._rows: Iterator[Any] | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        return self._variables.run(self._fill, page)

    def _fill(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._start()
        return _add_all(page, self._rows)

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
            self._variables.run(close)

    def cancel(self, reason: CallError) -> None:
        """Make the body's next `ctx.check` or `ctx.run` raise; Python cannot stop a thread."""
        self._state.stop(reason)


class AsyncRunning:
    """An async body, on the event loop; this class is the serving thread's end of it."""

    def __init__(
        self,
        loop: "EventLoop",
        procedure: Procedure,
        arguments: list[Any],
        context: Context,
        state: CallState,
    ) -> None:
        self._loop = loop
        self._procedure = procedure
        self._arguments = [context, *arguments] if procedure.signature.takes_context else arguments
        self._state = state
        self._variables = contextvars.copy_context()
        self._rows: AsyncIterator[Any] | None = None
        self._listed: Iterator[Any] | None = None
        self._job: Job | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        if self._procedure.signature.answer is Answer.ITERATOR:
            return bool(self._await(lambda: self._pull(page)))
        if self._listed is None:
            answer = self._await(lambda: self._procedure.body(*self._arguments))
            self._listed = iter(rows_of(self._procedure, answer))
        return _add_all(page, self._listed)

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
            if not isinstance(item, Job):
                self._call_back(*item)

    def _last_chance(self, job: "Job") -> Any:
        """Wait for a cancelled body to clean up, but not for long."""
        patience = Deadline.after(STOP_SECONDS)
        while not job.is_done and not patience.expired():
            with contextlib.suppress(Empty):
                self._state.inbox.get(timeout=patience.remaining())
        return self._outcome(job)

    def _outcome(self, job: "Job") -> Any:
        self._state.check()
        if job.error is None and job.is_done:
            return job.result
        if job.error is None or isinstance(job.error, asyncio.CancelledError):
            raise cancelled(self._procedure.name) from None
        raise job.error

    def _call_back(
        self,
        request: bytes,
        answer: "asyncio.Future[envelope.RunReply]",
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        try:
            reply = self._state.run_here(request)
        except CallError as error:
            loop.call_soon_threadsafe(_fail, answer, error)
        else:
            loop.call_soon_threadsafe(_succeed, answer, reply)

    def close(self) -> None:
        """Close the async generator, if the body is one."""
        rows = self._rows
        if rows is not None and hasattr(rows, "aclose"):
            self._loop.run(rows.aclose, self._variables, STOP_SECONDS)

    def cancel(self, reason: CallError) -> None:
        """Cancel the task; the body sees `asyncio.CancelledError` where it awaits."""
        self._state.stop(reason)
        if self._job is not None:
            self._loop.cancel(self._job)


def _succeed(answer: "asyncio.Future[Any]", value: object) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: "asyncio.Future[Any]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


class Job:
    """A coroutine on its way through the event loop.

    Attributes:
        is_done: Whether it has ended; then `error` or `result` says how.
    """

    __slots__ = ("error", "is_done", "notify", "result", "start", "task")

    def __init__(
        self, start: Callable[[], Awaitable[Any]], notify: Callable[["Job"], None]
    ) -> None:
        self.start = start
        self.notify = notify
        self.task: asyncio.Task[None] | None = None
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None

    async def run(self) -> None:
        """Await the coroutine, and tell its end from within: one turn of the loop less."""
        try:
            self.result = await self.start()
        except asyncio.CancelledError as error:
            self._end(error)
            raise
        # SystemExit too: from a task it would end the loop and every other call with it.
        except BaseException as error:  # noqa: BLE001
            self._end(error)
        else:
            self._end(None)

    def ended(self, _task: "asyncio.Task[None]") -> None:
        """Tell the end of a task that was cancelled before it ran at all."""
        if not self.is_done:
            self._end(asyncio.CancelledError())

    def _end(self, error: BaseException | None) -> None:
        self.error = error
        self.is_done = True
        self.notify(self)


class EventLoop:
    """The one asyncio loop of a sidecar, on a thread of its own.

    Example:
        >>> loop = EventLoop()
        >>> loop.run(lambda: asyncio.sleep(0, "slept"), contextvars.copy_context(), 5.0)
        'slept'
        >>> loop.stop()
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sidecypher-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def submit(
        self,
        start: Callable[[], Awaitable[Any]],
        variables: contextvars.Context,
        notify: Callable[[Job], None],
    ) -> Job:
        """Run the coroutine that `start` makes, from any other thread.

        Args:
            start: Makes the coroutine, on the loop.
            variables: The context variables it sees.
            notify: Called on the loop with the job when it is done; it must not block.
        """
        job = Job(start, notify)
        self._loop.call_soon_threadsafe(self._begin, job, variables)
        return job

    def _begin(self, job: Job, variables: contextvars.Context) -> None:
        job.task = self._loop.create_task(job.run(), context=variables)
        job.task.add_done_callback(job.ended)

    def run(
        self, start: Callable[[], Awaitable[Any]], variables: contextvars.Context, timeout: float
    ) -> Any:
        """Run a coroutine and wait for its result.

        Raises:
            TimeoutError: It took longer than `timeout` seconds; it is cancelled.
        """
        done = threading.Event()
        job = self.submit(start, variables, lambda _job: done.set())
        if not done.wait(timeout):
            self.cancel(job)
            raise TimeoutError
        if job.error is not None:
            raise job.error
        return job.result

    def cancel(self, job: Job) -> None:
        """Cancel a job; nothing happens if it is done."""
        self._loop.call_soon_threadsafe(self._cancel, job)

    def _cancel(self, job: Job) -> None:
        if job.task is not None:
            job.task.cancel()

    def alive(self) -> bool:
        """Tell whether the loop's thread runs."""
        return self._thread.is_alive()

    def stop(self, last: Iterable[Callable[[], Awaitable[Any]]] = ()) -> None:
        """Cancel all tasks, await `last` one by one, and end the thread."""
        self._loop.call_soon_threadsafe(self._cancel_all)
        for start in last:
            with contextlib.suppress(TimeoutError):
                self.run(start, contextvars.copy_context(), STOP_SECONDS * 4)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS * 4)

    def _cancel_all(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
