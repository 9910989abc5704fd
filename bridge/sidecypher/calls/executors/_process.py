"""Plain bodies in a worker process: for what computes for long, or may crash."""

import contextlib
from collections import deque
from queue import Empty
from typing import Final

import msgspec

from sidecypher.calls.executors._pages import Page
from sidecypher.calls.executors._waiting import Pull, RunOnThread, WaitingExecution
from sidecypher.calls.executors.pool import Lease, ProcessWorkers
from sidecypher.calls.executors.pool_messages import Task
from sidecypher.errors import CallError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallRequest
from sidecypher.sdk.call import deadline_exceeded
from sidecypher.sdk.registry import Procedure
from sidecypher.telemetry import tracing

_LONG_SECONDS: Final = 86_400.0


class ProcessExecution(WaitingExecution[Pull]):
    """A body in a worker, whose rows are kept here until they are asked for.

    So no worker waits for a caller. Who serves the call waits for the worker; of a stream, whose
    first rows are sent before the last one is made, its own thread does.
    """

    def __init__(
        self,
        workers: ProcessWorkers,
        run: RunOnThread | None,
        request: CallRequest,
        procedure: Procedure,
    ) -> None:
        """Make ready to run a call; `run` gets a thread for a stream, and is None for all else."""
        super().__init__(request, procedure)
        self._workers = workers
        self._run = run
        self._request = request
        self._traceparent = tracing.traceparent()
        self._lease = Lease()
        self._rows: deque[bytes] = deque()

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; return whether there may be more."""
        work = self._work or self._begin()
        while True:
            # Asked first: whatever the work has added is there when it is done.
            is_done = work.is_done
            if page.add_encoded(self._rows):
                return not is_done or bool(self._rows) or work.error is not None
            if is_done:
                self._outcome(work)
                return False
            if page.rows and not page.patience():
                return True
            self._wait_for_rows(work, page)

    def _wait_for_rows(self, work: Pull, page: Page) -> None:
        seconds = self.deadline.remaining()
        try:
            self.inbox.get(timeout=min(seconds, page.patience()) if page.rows else seconds)
        except Empty:
            if self.deadline.expired():
                self.cancel(deadline_exceeded(self.name))
                self._last_chance(work)

    def _begin(self) -> Pull:
        work = self._work = Pull()
        deadline = self.deadline
        seconds = deadline.remaining()
        # When no thread is to be had, no row of a stream is sent before the last one is made.
        with contextlib.suppress(RuntimeError):
            if self._run is not None:
                # Between two pages no time is counted, so it is `_wait_for_rows` that keeps to it.
                self._run(lambda: self._ask(work, seconds, Deadline.after(_LONG_SECONDS)))
                return work
        self._ask(work, seconds, deadline)
        return work

    def _ask(self, work: Pull, seconds: float, deadline: Deadline) -> None:
        task = self._task(seconds)
        try:
            outcome = self._workers.run(self.name, task, self._lease, deadline, self._add)
            self.observed.queued(self._lease.queued)
            if outcome.error is not None:
                work.error = outcome.error.error()
        except TimeoutError:
            work.error = deadline_exceeded(self.name)
        except BaseException as error:  # noqa: BLE001 - the serving thread raises it
            work.error = error
        work.is_done = True
        self.inbox.put(work)

    def _add(self, rows: list[msgspec.Raw]) -> None:
        self._rows.extend(map(bytes, rows))
        self.inbox.put(None)

    def _task(self, seconds: float) -> Task:
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
        )

    def close(self) -> None:
        """Do nothing: the body has ended, or its worker is killed."""

    def cancel(self, reason: CallError) -> None:
        """Kill the worker."""
        super().cancel(reason)
        self._workers.cancel(self._lease)

    def interrupt(self) -> None:
        """Do nothing: what is cancelled was killed."""
