"""Threads for work that may block."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, TypeVar

_Result = TypeVar("_Result")
_MOST_IDLE: Final = 16


def in_thread(work: Callable[[], _Result], name: str) -> Future[_Result]:
    """Run `work` in a thread that delays neither an author's threads nor the end of the process.

    Example:
        >>> in_thread(lambda: 7, "seven").result()
        7
    """
    ended: Future[_Result] = Future()
    # From now on nobody can cancel the future, so its result can always be set.
    ended.set_running_or_notify_cancel()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            ended.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return ended


class SpareThreads:
    """Threads that are reused for further work; a new one starts if none is idle.

    Example:
        >>> done = threading.Event()
        >>> SpareThreads("spare").run(done.set)
        >>> done.wait(5.0)
        True
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def run(self, work: Callable[[], None]) -> None:
        """Run `work` in a thread; it must not raise.

        Raises:
            RuntimeError: No thread can be started.
        """
        try:
            tasks = self._idle.pop()
        except IndexError:
            tasks = SimpleQueue()
            threading.Thread(
                target=self._serve, args=(tasks,), name=self._name, daemon=True
            ).start()
        tasks.put(work)

    def _serve(self, tasks: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            work = tasks.get()
            work()
            # Release the task before waiting for the next one.
            del work
            if len(self._idle) >= _MOST_IDLE:
                return
            self._idle.append(tasks)
