"""The sidecar's handle of one worker process."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Final

import msgspec

from sidecypher.calls.executors.pool_messages import MEMORY_EXIT
from sidecypher.host.signals import how_ended
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline

WORKER_MODULE: Final = "sidecypher.calls.executors.pool_main"

_POLL_SECONDS: Final = 0.5


class Worker:
    """A process of the sidecar, with a connection of its own.

    Attributes:
        generation: Number of the reload after which it loaded the procedures.
    """

    def __init__(self, setup: msgspec.Struct, generation: int, module: str = WORKER_MODULE) -> None:
        """Start `module` as a process; its first message reports that it is ready.

        Raises:
            OSError: The process cannot be started.
        """
        self.generation = generation
        ours, theirs = socket.socketpair()
        with theirs:
            # Without `-P` a file in the current folder could replace a module of Python.
            command = ["-P", "-m", module, theirs.fileno(), os.getpid()]
            # Ctrl-C does not reach a separate process group, and it can be killed as a whole.
            self._process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
        self._connection = Connection(ours.detach())
        with contextlib.suppress(OSError):
            self._connection.send_bytes(envelope.write(setup))

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, message: bytes, deadline: Deadline) -> bytes:
        """Send a message and return the answer; raises the same errors as `answer`."""
        self.write(message)
        return self.answer(deadline)

    def write(self, message: bytes) -> None:
        """Send a message.

        Raises:
            EOFError: The process has ended, or was killed.
        """
        try:
            self._connection.send_bytes(message)
        except OSError:
            raise EOFError from None

    def answer(self, deadline: Deadline) -> bytes:
        """Return its next message.

        Raises:
            TimeoutError: No message arrived by the deadline.
            EOFError: The process has ended, or was killed.
        """
        self._await_answer(deadline)
        try:
            return self._connection.recv_bytes()
        except OSError:
            raise EOFError from None

    def _await_answer(self, deadline: Deadline) -> None:
        while not self._connection.poll(min(deadline.remaining(), _POLL_SECONDS)):
            if deadline.expired():
                raise TimeoutError
            # A child process of a function may keep the connection open after the worker ended.
            if not self.is_alive and not self._connection.poll():
                raise EOFError

    def kill(self) -> None:
        """Kill the process and all that it started; can be called from any thread."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def hang_up(self) -> None:
        """Let the process end by itself."""
        self._connection.close()

    def end(self, grace: float = 0.0) -> int:
        """Wait `grace` seconds for the process to end, then kill it; return its exit code."""
        self._connection.close()
        if grace:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        self.kill()
        return self._process.wait()


def exit_reason(exit_code: int, memory_mb: int) -> str:
    """Describe how a worker ended.

    Example:
        >>> exit_reason(-11, 1024)
        'was ended by SIGSEGV'
    """
    if exit_code == MEMORY_EXIT:
        return f"needed more than the {memory_mb} MiB it may use"
    return how_ended(exit_code)
