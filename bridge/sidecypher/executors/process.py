"""Plain bodies in a worker process: for what computes for long, or may crash."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from sidecypher import tracing
from sidecypher.envelope import CallRequest
from sidecypher.errors import CallError
from sidecypher.executors.messages import Task
from sidecypher.executors.pages import Page
from sidecypher.executors.workers import ProcessWorkers, Ticket
from sidecypher.state import CallState, deadline_exceeded


class ProcessRunning:
    """A body in a worker; its rows come all at once, and are sent in pages from here.

    Attributes:
        lingers: Whether it still works though nobody waits for it; a worker is killed.
    """

    lingers: Final = False

    def __init__(
        self,
        workers: ProcessWorkers,
        request: CallRequest,
        state: CallState,
        queued: Callable[[float], None],
    ) -> None:
        """Make ready to run a call.

        Args:
            workers: Who runs it.
            request: The call as it came; the worker reads the arguments itself.
            state: The call as it is known here.
            queued: Told how many seconds the call has waited for a worker.
        """
        self._workers = workers
        self._request = request
        self._state = state
        self._queued = queued
        self._traceparent = tracing.traceparent()
        self._ticket = Ticket()
        self._rows: Iterator[msgspec.Raw] | None = None

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""
        if self._rows is None:
            self._rows = iter(self._run())
        return page.add_encoded(self._rows)

    def _run(self) -> list[msgspec.Raw]:
        state = self._state
        try:
            outcome = self._workers.run(state.name, self._task(), self._ticket, state.deadline)
        except TimeoutError:
            raise deadline_exceeded(state.name) from None
        except CallError:
            # A worker that was killed because the call was cancelled is not lost.
            state.check()
            raise
        self._queued(self._ticket.queued)
        if outcome.error is not None:
            raise outcome.error.error()
        return outcome.rows

    def _task(self) -> Task:
        request = self._request
        return Task(
            call_id=request.id,
            kind=request.kind,
            name=request.name,
            signature=request.signature,
            args=request.args,
            database=request.database,
            user=request.user,
            seconds=self._state.deadline.remaining(),
            traceparent=self._traceparent,
        )

    def close(self) -> None:
        """Do nothing: the body has ended when its rows are here."""

    def cancel(self, reason: CallError) -> None:
        """Kill the worker."""
        self._state.stop(reason)
        self._workers.cancel(self._ticket)

    def interrupt(self) -> None:
        """Do nothing: what is cancelled was killed."""
