"""Wait on the serving thread for a function that runs elsewhere, and run its work items."""

import contextlib
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from sidecypher.calls.executors.execution import Execution
from sidecypher.calls.executors.loop import STOP_SECONDS
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead
from sidecypher.sdk.call import cancelled, deadline_exceeded
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.work_item import WorkItem


class Work(Protocol):
    """A step of a function's run; it puts itself into the call's inbox when it is done."""

    is_done: bool
    result: Any
    error: BaseException | None


_Work = TypeVar("_Work", bound=Work)


RunOnThread = Callable[[Callable[[], None]], None]
"""Runs a function on another thread; raises RuntimeError if no thread can be started."""


class ThreadWork:
    """Work on a thread that makes rows, or waits for the worker that makes them."""

    __slots__ = ("error", "is_done", "result")

    def __init__(self) -> None:
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None


class WaitingExecution(Execution, Generic[_Work]):
    """A function on another thread, the event loop or a worker; the serving thread waits for it."""

    inbox: SimpleQueue[Any]

    def __init__(self, head: CallHead, procedure: Procedure) -> None:
        super().__init__(head, procedure)
        self.inbox = SimpleQueue()
        self._work: _Work | None = None
        self._is_sent_early = False

    @property
    def is_still_running(self) -> bool:
        """Whether it is running: for this page, for the next one, or although it was cancelled."""
        return self._work is not None and not self._work.is_done

    def _stream(self, begin: Callable[[], _Work]) -> bool:
        """Let the function add rows until the page is sent; return whether more may follow."""
        # Not a method of this call: the two would refer to each other.
        self.pages.on_first_row = partial(self.inbox.put, None)
        while True:
            # Work that was making its next row when the latest page was sent goes on with this one,
            # or ends with that row.
            if self._work is None or not self._is_sent_early:
                self._work = begin()
            self._is_sent_early = False
            more = bool(self._wait(self._work, sends_early=True))
            if not more or self._is_sent_early or self.pages.is_full:
                return more

    def _wait(self, work: _Work, *, sends_early: bool = False) -> Any:
        """Run work items until the work is done or, if it `sends_early`, a page must be sent."""
        deadline = self.deadline
        while True:
            seconds = deadline.remaining()
            if sends_early and self.pages.has_more:
                seconds_to_flush = self.pages.seconds_to_flush()
                if not seconds_to_flush:
                    self._is_sent_early = True
                    return True
                seconds = min(seconds, seconds_to_flush)
            try:
                item = self.inbox.get(timeout=seconds)
            except Empty:
                if deadline.expired():
                    self.cancel(deadline_exceeded(self.name))
                    return self._await_clean_up(work)
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

    def _await_clean_up(self, work: _Work) -> Any:
        """Wait up to `STOP_SECONDS` for a cancelled function to clean up."""
        deadline = Deadline.after(STOP_SECONDS)
        while not work.is_done and not deadline.expired():
            with contextlib.suppress(Empty):
                item = self.inbox.get(timeout=deadline.remaining())
                if isinstance(item, WorkItem):
                    self._run_item(item)
        return self._outcome(work)

    def _outcome(self, work: _Work) -> Any:
        self.check()
        if work.error is None and work.is_done:
            return work.result
        if work.error is None:
            raise cancelled(self.name) from None
        # A CancelledError too: this call was not cancelled, so the function itself failed.
        raise work.error
