"""The serving thread's end of a function that runs elsewhere: it waits, and runs its work items."""

import contextlib
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from sidecypher.calls.executors._pages import Page
from sidecypher.calls.executors.execution import Execution
from sidecypher.calls.executors.loop import STOP_SECONDS
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead
from sidecypher.sdk.call import cancelled, deadline_exceeded
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.work import WorkItem


class Work(Protocol):
    """A part of a function's run; it puts itself into the call's inbox when it is done."""

    is_done: bool
    result: Any
    error: BaseException | None


_Work = TypeVar("_Work", bound=Work)


RunOnThread = Callable[[Callable[[], None]], None]
"""Runs a function on another thread; raises RuntimeError if no thread can be started."""


class Pull:
    """Work on a thread: to have a body make rows."""

    __slots__ = ("error", "is_done", "result")

    def __init__(self) -> None:
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None


class WaitingExecution(Execution, Generic[_Work]):
    """A function on another thread, the event loop or a worker; its serving thread waits for it."""

    inbox: SimpleQueue[Any]

    def __init__(self, facts: CallHead, procedure: Procedure) -> None:
        super().__init__(facts, procedure)
        self.inbox = SimpleQueue()
        self._work: _Work | None = None
        self._sent: Page | None = None

    @property
    def is_still_running(self) -> bool:
        """Whether it works: for the page asked for, for the next one, or though it is cancelled."""
        return self._work is not None and not self._work.is_done

    def _stream(self, page: Page, begin: Callable[[], _Work]) -> bool:
        """Have rows added to `page` until it is to be sent; tell whether there may be more."""
        sent, self._sent = self._sent, None
        if sent is not None and self._work is not None:
            # The body was at its next row when that page was sent.
            more = bool(self._wait(self._work))
            if page.take_over(sent) or not more:
                return more
        page.begun = self.inbox.put
        self._work = begin()
        return bool(self._wait(self._work, page))

    def _wait(self, work: _Work, page: Page | None = None) -> Any:
        """Run work items until the work is done, or `page` has to be sent before that."""
        deadline = self.deadline
        while True:
            seconds = deadline.remaining()
            if page is not None and page.rows:
                patience = page.patience()
                if not patience:
                    self._sent = page
                    return True
                seconds = min(seconds, patience)
            try:
                item = self.inbox.get(timeout=seconds)
            except Empty:
                if deadline.expired():
                    self.cancel(deadline_exceeded(self.name))
                    return self._last_chance(work)
                continue
            if item is work:
                return self._outcome(work)
            if isinstance(item, WorkItem):
                self._run_item(item)

    def _run_item(self, item: WorkItem) -> None:
        if self.is_cancelled:
            item.refuse(self.reason)
        else:
            item.run()

    def _last_chance(self, work: _Work) -> Any:
        """Wait for a cancelled body to clean up, but not for long."""
        patience = Deadline.after(STOP_SECONDS)
        while not work.is_done and not patience.expired():
            with contextlib.suppress(Empty):
                item = self.inbox.get(timeout=patience.remaining())
                if isinstance(item, WorkItem):
                    self._run_item(item)
        return self._outcome(work)

    def _outcome(self, work: _Work) -> Any:
        self.check()
        if work.error is None and work.is_done:
            return work.result
        if work.error is None:
            raise cancelled(self.name) from None
        # A CancelledError too: this call was not cancelled, so it is the body's own failure.
        raise work.error
