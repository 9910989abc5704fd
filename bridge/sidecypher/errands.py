"""Errands: what an async body asks the thread that serves its call to do."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any


class Errand:
    """A function for the serving thread, and a body on the event loop that waits for its result.

    Attributes:
        answer: What the body awaits.
    """

    __slots__ = ("_loop", "_work", "answer")

    def __init__(self, work: Callable[[], Any]) -> None:
        """Make an errand, on the event loop."""
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self._loop.create_future()

    def do(self) -> None:
        """Do it, and tell the body how it went; on the serving thread."""
        try:
            result = self._work()
        # The body waits for it, whatever it was.
        except Exception as error:  # noqa: BLE001
            self.refuse(error)
        else:
            self._tell(self._succeed, result)

    def refuse(self, error: Exception) -> None:
        """Tell the body that it will not be done; from any thread."""
        self._tell(self._fail, error)

    def _tell(self, how: Callable[[Any], None], what: object) -> None:
        # A loop that has been closed has no body that waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(how, what)

    def _succeed(self, result: object) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def _fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
