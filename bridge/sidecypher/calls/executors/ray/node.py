"""What runs on the nodes of a Ray cluster: one function at a time in each of Ray's processes."""

import contextlib
import faulthandler
import os
import resource
import signal
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Final

from sidecypher.calls.executors.pool_messages import MEMORY_EXIT, Outcome, Setup, Task
from sidecypher.calls.executors.task_runner import OutcomeSender, TaskRunner
from sidecypher.errors import WorkerLost
from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import ErrorBody
from sidecypher.telemetry.calls import configure_logging, logger
from sidecypher.telemetry.export import export_spans

INTERRUPT_SECONDS: Final = 1.0
"""How long the function of a cancelled task may take to clean up."""

_LOOK_SECONDS: Final = 0.05
"""Ray cancels a task by an exception, which a thread that waits in a lock does not get."""

_AHEAD: Final = 2
"""Outcomes that wait to be sent; a function that is further ahead waits."""

_STANDARD_ERROR: Final = 2
_MIB: Final = 1024 * 1024


class Node:
    """The procedures in one process of Ray."""

    def __init__(self, setup: Setup) -> None:
        configure_logging(setup.log_level, setup.log_format)
        if setup.traces:
            export_spans()
        loaded = load([Path(folder) for folder in setup.folders], only=setup.sources)
        for failure in loaded.failures:
            logger().error("module left out", module=failure.module, reason=failure.reason)
        self._is_full = False
        self._memory_mb = setup.memory_mb
        self._outcomes: Queue[bytes | None] = Queue(_AHEAD)
        sender = OutcomeSender(self._outcomes.put, os._exit)
        self._runner = TaskRunner(loaded.registry, setup.message_bytes, sender)

    def stream(self, message: bytes, table: Any) -> Iterator[bytes]:
        """Run a task; yield its outcomes. The first one only says that it has begun."""
        task = envelope.read(message, Task)
        yield envelope.write(Outcome(task.call_id, more=True))
        _limit_memory(self._memory_mb)
        # Not on this thread, since the rows of a stream are sent while it makes the next one.
        has_ended = threading.Event()
        thread = threading.Thread(
            target=self._run,
            args=(task, message, table, has_ended),
            name="sidecypher-task",
            daemon=True,
        )
        try:
            # Before the start: the function may keep the interpreter from its first line on.
            _end_after(task.seconds + INTERRUPT_SECONDS)
            # A cancellation may come while `start` waits for a thread that already works.
            thread.start()
            while True:
                _end_after(task.seconds + INTERRUPT_SECONDS)
                with contextlib.suppress(Empty):
                    outcome = self._outcomes.get(timeout=_LOOK_SECONDS)
                    if outcome is None:
                        break
                    yield outcome
        except BaseException:
            self._end(has_ended, task.call_id)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            if self._is_full:
                # Its state is unknown now, and its memory must be released.
                os._exit(MEMORY_EXIT)

    def interrupt(self, call_id: str) -> None:
        """Raise an exception in the function of a call, if it runs Python code."""
        self._runner.interrupt(call_id)

    def _run(self, task: Task, message: bytes, table: Any, has_ended: threading.Event) -> None:
        try:
            self._runner.run(message, table)
        except MemoryError:
            self._is_full = True
            error = WorkerLost(
                f"`{task.name}` needed more than the {self._memory_mb} MiB it may use"
            )
            self._outcomes.put(envelope.write(Outcome(task.call_id, error=ErrorBody.of(error))))
        finally:
            self._outcomes.put(None)
            has_ended.set()

    def _end(self, has_ended: threading.Event, call_id: str) -> None:
        """End the function of a cancelled task, or else this process."""
        deadline = Deadline.after(INTERRUPT_SECONDS)
        while not has_ended.is_set():
            if deadline.expired():
                os._exit(1)
            self.interrupt(call_id)
            with contextlib.suppress(Empty):
                self._outcomes.get(timeout=_LOOK_SECONDS)
        while not self._outcomes.empty():
            self._outcomes.get()


class Actor:
    """A process of Ray that is kept for one procedure."""

    def __init__(self, setup: bytes) -> None:
        self._node = Node(envelope.read(setup, Setup))

    def run(self, message: bytes, table: Any) -> Iterator[bytes]:
        """Run a task; yield its outcomes."""
        yield from self._node.stream(message, table)

    def interrupt(self, call_id: str) -> None:
        """Raise an exception in the function of a call, if it runs Python code."""
        self._node.interrupt(call_id)

    def ping(self) -> None:
        """Do nothing: who gets an answer knows that the process is there."""


def run(setup: bytes, message: bytes, table: Any) -> Iterator[bytes]:
    """Run a task in a process of Ray that may run others afterwards; yield its outcomes."""
    yield from _node(setup).stream(message, table)


@cache
def _node(setup: bytes) -> Node:
    # By this signal Ray cancels a task; a node that was started in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return Node(envelope.read(setup, Setup))


def _end_after(seconds: float) -> None:
    """End this process if no Python code runs for so long: C code may keep the interpreter."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=_STANDARD_ERROR)


def _limit_memory(memory_mb: int) -> None:
    """Allow so much memory in addition to what is in use, without what is shared with others."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:
        return
    limit = int(pages) * resource.getpagesize() + memory_mb * _MIB
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
