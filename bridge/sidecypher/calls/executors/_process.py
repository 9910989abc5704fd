"""Plain functions in another process, for long computations or code that may crash."""

import contextlib
from queue import Empty
from typing import Final, Protocol

import msgspec

from sidecypher.calls.executors._pages import Rows
from sidecypher.calls.executors._waiting import RunOnThread, ThreadWork, WaitingExecution
from sidecypher.calls.executors.pool import AddRows, Lease
from sidecypher.calls.executors.pool_messages import Outcome, Task
from sidecypher.errors import CallError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallRequest
from sidecypher.sdk.call import deadline_exceeded
from sidecypher.sdk.projection import shared
from sidecypher.sdk.registry import Procedure
from sidecypher.telemetry import tracing

_LONG_SECONDS: Final = 86_400.0


class Workers(Protocol):
    """Processes that run tasks: those of the sidecar, or of a Ray cluster."""

    def run(self, name: str, task: Task, lease: Lease, deadline: Deadline, add: AddRows) -> Outcome:
        """Run a task; return its last outcome.

        Raises:
            CallError: It could not be run, or its worker was lost.
            TimeoutError: The deadline has passed.
        """

    def cancel(self, lease: Lease) -> None:
        """Cancel a call and what its worker does; can be called from any thread."""


class ProcessExecution(WaitingExecution[ThreadWork]):
    """A function in another process, whose rows are kept here until the caller requests them.

    So no worker waits for a caller. The serving thread waits for the worker. For a stream a
    separate thread does, because its first rows are sent before the last one is made.
    """

    def __init__(
        self,
        workers: Workers,
        run: RunOnThread | None,
        request: CallRequest,
        procedure: Procedure,
    ) -> None:
        """Prepare a call; `run` starts a thread for a stream, and is None for other calls."""
        super().__init__(request, procedure)
        self._workers = workers
        self._run = run
        self._request = request
        self._traceparent = tracing.traceparent()
        self._lease = Lease()

    def fill(self) -> bool:
        """Wait until the page is full or due; return whether more may follow."""
        work, pages = self._work or self._begin(), self.pages
        while True:
            # Read before the rows: if the work is done, all of its rows have been added.
            is_done = work.is_done
            if pages.is_full:
                return not is_done or work.error is not None
            if is_done:
                self._outcome(work)
                return False
            if pages.has_more and not pages.seconds_to_flush():
                return True
            self._wait_for_rows(work)

    def _wait_for_rows(self, work: ThreadWork) -> None:
        seconds = self.deadline.remaining()
        if self.pages.has_more:
            seconds = min(seconds, self.pages.seconds_to_flush())
        try:
            self.inbox.get(timeout=seconds)
        except Empty:
            if self.deadline.expired():
                self.cancel(deadline_exceeded(self.name))
                self._await_clean_up(work)

    def _begin(self) -> ThreadWork:
        work = self._work = ThreadWork()
        deadline = self.deadline
        seconds = deadline.remaining()
        # If no thread can be started, no row of a stream is sent before the last one is made.
        with contextlib.suppress(RuntimeError):
            if self._run is not None:
                # The time between two pages does not count: `_wait_for_rows` checks the deadline.
                self._run(lambda: self._run_task(work, seconds, Deadline.after(_LONG_SECONDS)))
                return work
        self._run_task(work, seconds, deadline)
        return work

    def _run_task(self, work: ThreadWork, seconds: float, deadline: Deadline) -> None:
        try:
            with shared(self.projection) as path:
                self.projection = None
                task = self._task(seconds, path)
                outcome = self._workers.run(self.name, task, self._lease, deadline, self._add)
            self.observed.queued(self._lease.queued)
            if outcome.cache is not None:
                self.cache(*outcome.cache)
            if outcome.error is not None:
                work.error = outcome.error.error()
        except TimeoutError:
            work.error = deadline_exceeded(self.name)
        except BaseException as error:  # noqa: BLE001 - the serving thread raises it
            work.error = error
        work.is_done = True
        self.inbox.put(work)

    def _add(self, rows: list[tuple[int, msgspec.Raw]]) -> None:
        self.pages.add_encoded(Rows(count, bytes(json)) for count, json in rows)
        self.inbox.put(None)

    def _task(self, seconds: float, projection: str) -> Task:
        request = self._request
        return Task(
            call_id=request.id,
            kind=request.kind,
            name=request.name,
            signature=request.signature,
            args=request.args,
            database=request.database,
            user=request.user,
            seconds=seconds,
            traceparent=self._traceparent,
            projection=projection,
        )

    def close(self) -> None:
        """Do nothing: the function has ended, or its worker was killed."""

    def cancel(self, reason: CallError) -> None:
        """Kill the worker, or what it does for this call."""
        super().cancel(reason)
        self._workers.cancel(self._lease)

    def interrupt(self) -> None:
        """Do nothing: `cancel` has killed the worker."""
