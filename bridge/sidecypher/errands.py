"""Errands: what a body that runs elsewhere asks the thread that serves its call to do."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Errand:
    """A function for the serving thread, and a body that waits for its result.

    Attributes:
        answer: What the body waits for; once cancelled, an errand that has not begun is not done.
    """

    __slots__ = ("_work", "answer")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self.answer: Future[Any] = Future()

    def do(self) -> None:
        """Do it, unless nobody waits any more, and say how it went; on the serving thread."""
        if not self.answer.set_running_or_notify_cancel():
            return
        try:
            result = self._work()
        # The body waits for it, whatever it was.
        except Exception as error:  # noqa: BLE001
            self.answer.set_exception(error)
        else:
            self.answer.set_result(result)

    def refuse(self, error: Exception) -> None:
        """Say that it will not be done; from any thread."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_exception(error)
