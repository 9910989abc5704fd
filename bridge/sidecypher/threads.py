"""Threads for what may block."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


def in_thread(work: Callable[[], _Result], name: str) -> Future[_Result]:
    """Do it in a thread that holds up neither an author's threads nor the end of the process.

    Example:
        >>> in_thread(lambda: 7, "seven").result()
        7
    """
    ended: Future[_Result] = Future()
    # From now on it cannot be cancelled, so that its end can be told whenever it comes.
    ended.set_running_or_notify_cancel()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            ended.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return ended
