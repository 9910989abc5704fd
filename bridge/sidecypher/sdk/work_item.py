"""`WorkItem`: work that a function on another thread submits to the thread serving its call."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class WorkItem:
    """A function for the serving thread, and the future result that its sender waits for.

    Attributes:
        result: The future of the sender; if it is cancelled before the item runs, it never runs.
    """

    __slots__ = ("_function", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self.result: Future[Any] = Future()

    def run(self) -> None:
        """Run it on the serving thread, unless its sender has stopped waiting."""
        if not self.result.set_running_or_notify_cancel():
            return
        try:
            result = self._function()
        # The sender receives the error, of any type.
        except Exception as error:  # noqa: BLE001
            self.result.set_exception(error)
        else:
            self.result.set_result(result)

    def refuse(self, error: Exception) -> None:
        """Raise `error` in the sender instead of running the item; callable from any thread."""
        if self.result.set_running_or_notify_cancel():
            self.result.set_exception(error)
