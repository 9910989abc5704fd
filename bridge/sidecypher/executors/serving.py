"""The serving thread's end of a body that runs elsewhere: it waits, and does the body's errands."""

import contextlib
from collections.abc import Callable
from queue import Empty
from typing import Any, Generic, Protocol, TypeVar

from sidecypher.errands import Errand
from sidecypher.errors import CallError
from sidecypher.executors.loop import STOP_SECONDS
from sidecypher.executors.pages import Page
from sidecypher.state import CallState, cancelled, deadline_exceeded
from sidecypher.types import Deadline


class Work(Protocol):
    """A piece of a body's work; it puts itself into the call's inbox when it is done."""

    is_done: bool
    result: Any
    error: BaseException | None


_Work = TypeVar("_Work", bound=Work)


RunOnThread = Callable[[Callable[[], None]], None]
"""Has another thread do something; raises RuntimeError when there is none to be had."""


class Pull:
    """Work on a thread: to have a body make rows."""

    __slots__ = ("error", "is_done", "result")

    def __init__(self) -> None:
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Served(Generic[_Work]):
    """A body on the event loop or on a thread of its own, as the serving thread sees it."""

    def __init__(self, state: CallState) -> None:
        self._state = state
        self._work: _Work | None = None
        self._sent: Page | None = None

    @property
    def lingers(self) -> bool:
        """Whether it works: for the page asked for, for the next one, or though it is cancelled."""
        return self._work is not None and not self._work.is_done

    def cancel(self, reason: CallError) -> None:
        """Make the body's next `ctx.check` or `ctx.run` raise."""
        self._state.stop(reason)

    def _stream(self, page: Page, begin: Callable[[], _Work]) -> bool:
        """Have rows added to `page` until it is to be sent; tell whether there may be more."""
        sent, self._sent = self._sent, None
        if sent is not None and self._work is not None:
            # The body was at its next row when that page was sent.
            more = bool(self._wait(self._work))
            if page.take_over(sent) or not more:
                return more
        inbox = self._state.inbox
        page.begun = lambda: inbox.put(page)
        self._work = begin()
        return bool(self._wait(self._work, page))

    def _wait(self, work: _Work, page: Page | None = None) -> Any:
        """Do errands until the work is done, or `page` has to be sent before that."""
        deadline = self._state.deadline
        while True:
            seconds = deadline.remaining()
            if page is not None and page.rows:
                patience = page.patience()
                if not patience:
                    self._sent = page
                    return True
                seconds = min(seconds, patience)
            try:
                item = self._state.inbox.get(timeout=seconds)
            except Empty:
                if deadline.expired():
                    self.cancel(deadline_exceeded(self._state.name))
                    return self._last_chance(work)
                continue
            if item is work:
                return self._outcome(work)
            if isinstance(item, Errand):
                self._do(item)

    def _do(self, errand: Errand) -> None:
        if self._state.stopped:
            errand.refuse(self._state.reason)
        else:
            errand.do()

    def _last_chance(self, work: _Work) -> Any:
        """Wait for a cancelled body to clean up, but not for long."""
        patience = Deadline.after(STOP_SECONDS)
        while not work.is_done and not patience.expired():
            with contextlib.suppress(Empty):
                item = self._state.inbox.get(timeout=patience.remaining())
                if isinstance(item, Errand):
                    self._do(item)
        return self._outcome(work)

    def _outcome(self, work: _Work) -> Any:
        self._state.check()
        if work.error is None and work.is_done:
            return work.result
        if work.error is None:
            raise cancelled(self._state.name) from None
        # A CancelledError too: nobody has cancelled this call, so it is the body's own failure.
        raise work.error
