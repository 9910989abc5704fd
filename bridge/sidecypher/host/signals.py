"""Signals: sleep until one arrives, and tell which one has ended a process."""

import select
import signal
import socket
from types import FrameType
from typing import Final, Self

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_SIGNALS: Final = (*STOP_SIGNALS, signal.SIGCHLD)


class Wakeup:
    """Handler of SIGTERM, SIGINT and SIGCHLD of the main thread during a `with` block.

    The system may deliver a signal to any thread. A thread that waits for a lock notices only its
    own signals; a thread that waits here notices all of them.

    Attributes:
        stop_requested: Whether SIGTERM or SIGINT has arrived.
    """

    def __init__(self) -> None:
        self.stop_requested = False

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)  # noqa: FBT003 - it has no keyword
        self._writer.setblocking(False)  # noqa: FBT003 - it has no keyword
        self._old_handlers = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        self._old_descriptor = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._old_descriptor)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def wait(self, seconds: float | None) -> None:
        """Sleep until a signal arrives, or at most so many seconds."""
        select.select([self._reader], [], [], seconds)
        try:
            self._reader.recv(4096)
        except BlockingIOError:
            return

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.stop_requested |= number in STOP_SIGNALS


def how_ended(exit_code: int) -> str:
    """Describe the end of a process by its exit code, as `subprocess` has it.

    Example:
        >>> how_ended(-11), how_ended(3)
        ('was ended by SIGSEGV', 'ended with exit code 3')
    """
    if exit_code < 0:
        return f"was ended by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"
