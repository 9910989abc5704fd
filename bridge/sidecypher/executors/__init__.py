"""Run bodies: on the connection's thread, on the event loop, or in a process of their own."""

from typing import Protocol

from sidecypher.errors import CallError
from sidecypher.executors.loop import CLEANUP_SECONDS, STEP_SECONDS, STOP_SECONDS, EventLoop
from sidecypher.executors.messages import KILL_SECONDS
from sidecypher.executors.pages import PAGE_ROWS, Page
from sidecypher.executors.process import ProcessRunning
from sidecypher.executors.tasks import AsyncRunning
from sidecypher.executors.threads import StreamRunning, ThreadRunning
from sidecypher.executors.workers import ProcessWorkers

__all__ = [
    "CLEANUP_SECONDS",
    "KILL_SECONDS",
    "PAGE_ROWS",
    "STEP_SECONDS",
    "STOP_SECONDS",
    "AsyncRunning",
    "EventLoop",
    "Page",
    "ProcessRunning",
    "ProcessWorkers",
    "Running",
    "StreamRunning",
    "ThreadRunning",
]


class Running(Protocol):
    """A body that has been started."""

    @property
    def lingers(self) -> bool:
        """Whether it works on the next page, or though nobody waits for it."""

    def fill(self, page: Page) -> bool:
        """Add rows to `page`; tell whether there may be more."""

    def close(self) -> None:
        """Give up: close the generator."""

    def cancel(self, reason: CallError) -> None:
        """Stop what is being served, from another thread; wait for nothing."""

    def interrupt(self) -> None:
        """Raise an exception in what did not stop, if that can be done."""
