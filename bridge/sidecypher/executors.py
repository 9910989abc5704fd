"""Run bodies and cut their rows into pages.

A plain body runs on the thread of the connection that serves it: no hop. An async body runs on the
sidecar's one event loop, while the serving thread waits and executes its callbacks.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import Empty
from typing import Any, Final, Protocol

import msgspec

from sidecypher import envelope
from sidecypher.context import CallState, Context, cancelled, deadline_exceeded
from sidecypher.errors import CallError, RowError
from sidecypher.registry import Procedure
from sidecypher.signature import Answer

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
        case Answer.ROW:
            return [answer]
        case Answer.MAYBE:
            return [] if answer is None else [answer]
    if isinstance(answer, list):
        return answer
    raise RowError(
        f"`{procedure.name}` returned a {type(answer).__name__} where "
        f"{procedure.signature.answer.value} is expected"
    )


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
        return any(map(page.add, self._rows))

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
        self._future: Future[Any] | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        if self._procedure.signature.answer is Answer.ITERATOR:
            return bool(self._await(lambda: self._pull(page)))
        if self._listed is None:
            answer = self._await(lambda: self._procedure.body(*self._arguments))
            self._listed = iter(rows_of(self._procedure, answer))
        return any(map(page.add, self._listed))

    async def _pull(self, page: Page) -> bool:
        if self._rows is None:
            self._rows = self._procedure.body(*self._arguments)
        async for row in self._rows:
            if page.add(row):
                return True
        return False

    def _await(self, start: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine on the loop; execute its callbacks here until it is done."""
        future = self._future = self._loop.submit(start, self._variables)
        inbox = self._state.inbox
        future.add_done_callback(inbox.put)
        while True:
            try:
                item = inbox.get(timeout=self._state.deadline.remaining())
            except Empty:
                self.cancel(deadline_exceeded(self._procedure.name))
                return self._outcome(future, STOP_SECONDS)
            if item is future:
                return self._outcome(future, None)
            if not isinstance(item, Future):
                self._call_back(*item)

    def _outcome(self, future: "Future[Any]", timeout: float | None) -> Any:
        try:
            return future.result(timeout)
        except (TimeoutError, asyncio.CancelledError) as error:
            if isinstance(error, TimeoutError) and future.done():
                raise
            self._state.check()
            raise cancelled(self._procedure.name) from None

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
            self._loop.submit(rows.aclose, self._variables).result(STOP_SECONDS)

    def cancel(self, reason: CallError) -> None:
        """Cancel the task; the body sees `asyncio.CancelledError` where it awaits."""
        self._state.stop(reason)
        if self._future is not None:
            self._loop.cancel(self._future)


def _succeed(answer: "asyncio.Future[Any]", value: object) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: "asyncio.Future[Any]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


class EventLoop:
    """The one asyncio loop of a sidecar, on a thread of its own.

    Example:
        >>> loop = EventLoop()
        >>> loop.submit(lambda: asyncio.sleep(0, "slept"), contextvars.copy_context()).result(5)
        'slept'
        >>> loop.stop()
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[Future[Any], asyncio.Task[Any]] = {}
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
        self, start: Callable[[], Awaitable[Any]], variables: contextvars.Context
    ) -> "Future[Any]":
        """Run the coroutine that `start` makes, under `variables`; from any other thread."""
        future: Future[Any] = Future()
        self._loop.call_soon_threadsafe(self._start, start, variables, future)
        return future

    def _start(
        self,
        start: Callable[[], Awaitable[Any]],
        variables: contextvars.Context,
        future: "Future[Any]",
    ) -> None:
        async def run() -> None:
            try:
                result = await start()
            except asyncio.CancelledError:
                raise
            # SystemExit too: from a task it would end the loop and every other call with it.
            except BaseException as error:  # noqa: BLE001
                future.set_exception(error)
            else:
                future.set_result(result)

        task = self._loop.create_task(run(), context=variables)
        self._tasks[future] = task
        task.add_done_callback(lambda done: self._finish(done, future))

    def _finish(self, task: "asyncio.Task[None]", future: "Future[Any]") -> None:
        del self._tasks[future]
        if task.cancelled():
            future.set_exception(asyncio.CancelledError())

    def cancel(self, future: "Future[Any]") -> None:
        """Cancel what `submit` returned `future` for; nothing happens if it is done."""
        self._loop.call_soon_threadsafe(self._cancel, future)

    def _cancel(self, future: "Future[Any]") -> None:
        task = self._tasks.get(future)
        if task is not None:
            task.cancel()

    def alive(self) -> bool:
        """Tell whether the loop's thread runs."""
        return self._thread.is_alive()

    def stop(self, last: Iterable[Callable[[], Awaitable[Any]]] = ()) -> None:
        """Cancel all tasks, await `last` one by one, and end the thread."""
        for future in list(self._tasks):
            self.cancel(future)
        for start in last:
            self.submit(start, contextvars.copy_context()).result(STOP_SECONDS * 4)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS * 4)
