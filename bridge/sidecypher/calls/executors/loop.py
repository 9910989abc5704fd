"""The event loop of the sidecar, and the coroutines on it."""

import asyncio
import contextlib
import contextvars
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

STOP_SECONDS: Final = 0.25
"""How long a cancelled async function may clean up before its caller gets a reply."""

STEP_SECONDS: Final = 4 * STOP_SECONDS
"""How long each step of stopping the loop may take."""

CLEANUP_SECONDS: Final = 5.0
"""How long a `finally` may take before it is interrupted, or cancelled where it awaits.

An async one counts as stuck earlier, after `STUCK_SECONDS` of the reaper: from outside it looks
like a function that continues.
"""


class LoopTimeout(TimeoutError):
    """A coroutine took longer than its caller waits; a `TimeoutError` of its own is another."""


class Job:
    """A coroutine that the event loop runs.

    Attributes:
        is_done: Whether it has ended; then `error` or `result` is set.
        is_cancelled: Whether its cancellation was requested.
    """

    __slots__ = ("error", "is_cancelled", "is_done", "notify", "result", "start", "task")

    def __init__(
        self, start: Callable[[], Awaitable[Any]], notify: Callable[["Job"], None]
    ) -> None:
        self.start = start
        self.notify = notify
        self.task: asyncio.Task[None] | None = None
        self.is_done = False
        self.is_cancelled = False
        self.result: Any = None
        self.error: BaseException | None = None

    async def run(self) -> None:
        """Await the coroutine, and report its end from within: that saves one turn of the loop."""
        try:
            self.result = await self.start()
        except asyncio.CancelledError as error:
            self._end(error)
            raise
        # SystemExit too: in a task it would end the loop and every other call.
        except BaseException as error:  # noqa: BLE001
            self._end(error)
        else:
            self._end(None)

    def cancel(self) -> None:
        """Cancel its task, but only once: a second time would interrupt its clean-up."""
        if not self.is_cancelled:
            self.cancel_again()

    def cancel_again(self) -> None:
        """Cancel its task, even during its clean-up."""
        self.is_cancelled = True
        if self.task is not None:
            self.task.cancel()

    def report_end(self) -> None:
        """Report the end of a task that was cancelled before it started to run."""
        if not self.is_done:
            self._end(asyncio.CancelledError())

    def _end(self, error: BaseException | None) -> None:
        self.error = error
        self.is_done = True
        # `start` refers to the call, which refers to this job.
        del self.start
        self.notify(self)


class EventLoop:
    """The asyncio loop of a sidecar, on its own thread.

    Example:
        >>> loop = EventLoop()
        >>> loop.run(lambda: asyncio.sleep(0, "slept"), contextvars.copy_context(), 5.0)
        'slept'
        >>> loop.stop()
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # asyncio itself keeps only weak references to tasks.
        self._jobs: dict[asyncio.Task[None], Job] = {}
        self._waiting_since: float | None = None  # when a ping was sent that has no answer yet
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
        """Run the coroutine that `start` returns; can be called from any other thread.

        Args:
            start: Returns the coroutine; called on the loop.
            variables: The context variables it sees.
            notify: Called on the loop with the job when it is done; it must not block.
        """
        job = Job(start, notify)
        self._loop.call_soon_threadsafe(self._begin, job, variables)
        return job

    def _begin(self, job: Job, variables: contextvars.Context) -> None:
        job.task = self._loop.create_task(job.run(), context=variables)
        self._jobs[job.task] = job
        job.task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._jobs.pop(task).report_end()

    def run(
        self, start: Callable[[], Awaitable[Any]], variables: contextvars.Context, timeout: float
    ) -> Any:
        """Run a coroutine and wait for its result.

        Raises:
            LoopTimeout: It took longer than `timeout` seconds; it is cancelled.
        """
        done = threading.Event()
        job = self.submit(start, variables, lambda _job: done.set())
        if not done.wait(timeout):
            self.cancel(job)
            raise LoopTimeout
        if job.error is not None:
            raise job.error
        return job.result

    def cancel(self, job: Job) -> None:
        """Cancel a job; do nothing if it is done or was cancelled before."""
        self._loop.call_soon_threadsafe(job.cancel)

    def cancel_again(self, job: Job) -> None:
        """Cancel a job that was cancelled before and has not ended."""
        # If the loop is closed, there is nothing to cancel.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job.cancel_again)

    @property
    def thread(self) -> int | None:
        """Identity of the loop's thread."""
        return self._thread.ident

    def ping(self) -> None:
        """Request a sign of life from the loop, without waiting for it."""
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
            self._loop.call_soon_threadsafe(self._pong)

    def _pong(self) -> None:
        self._waiting_since = None

    def silence(self) -> float:
        """Return the seconds for which a `ping` has waited for its answer.

        Time without pings is no silence: a sidecar sends the first one after it has loaded its
        procedures, and none while its process is suspended.
        """
        if not self._thread.is_alive():
            return math.inf
        since = self._waiting_since
        return 0.0 if since is None else time.monotonic() - since

    def stop(self, last: Iterable[Callable[[], Awaitable[Any]]] = ()) -> None:
        """Cancel all jobs, await `last` one by one, cancel the other tasks, and end the thread.

        The other tasks were not submitted. They belong to shared objects, whose `stop` is in
        `last` and may still need them.
        """
        self._loop.call_soon_threadsafe(self._cancel_jobs)
        for start in (*last, self._cancel_rest):
            with contextlib.suppress(TimeoutError):
                self.run(start, contextvars.copy_context(), STEP_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STEP_SECONDS)

    def _cancel_jobs(self) -> None:
        for task in self._jobs:
            task.cancel()

    async def _cancel_rest(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest)
