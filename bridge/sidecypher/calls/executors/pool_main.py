"""A worker process: loads the procedures, then runs one function at a time for the sidecar.

Started as `python -m sidecypher.calls.executors.pool_main`. It ends when the sidecar does.
"""

import asyncio
import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from sidecypher.calls.executors._pages import Pages
from sidecypher.calls.executors._thread import ThreadExecution
from sidecypher.calls.executors.pool_messages import (
    MEMORY_EXIT,
    STOP_SECONDS,
    Cache,
    Outcome,
    Ready,
    Setup,
    Task,
)
from sidecypher.errors import CatalogueMismatch, MessageTooLarge, RowError, SidecypherError
from sidecypher.host.epochs import Epochs
from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead, ErrorBody
from sidecypher.sdk.caching import share_epochs
from sidecypher.sdk.call import no_transaction_in_worker, procedure_failed
from sidecypher.sdk.registry import Procedure, Registry
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.telemetry import tracing
from sidecypher.telemetry.calls import configure_logging, log_unexpected
from sidecypher.telemetry.export import export_spans

_DIE_WITH_PARENT: Final = 1
_MIB: Final = 1024 * 1024
_PAGE_BYTES: Final = _MIB


class OutcomeSender:
    """Sender of outcomes to the sidecar; it sends rows when they are due or earlier.

    A function that forks returns twice; only the worker itself may answer.
    """

    def __init__(self, connection: Connection, end: Callable[[int], None]) -> None:
        self._connection = connection
        self._end = end
        self._own = os.getpid()
        self._lock = threading.Lock()
        self._with_rows: SimpleQueue[tuple[str, Pages]] = SimpleQueue()
        threading.Thread(target=self._send_due, name="sidecypher-pages", daemon=True).start()

    def answer(self, outcome: Outcome) -> None:
        """Send the outcome of a task."""
        if os.getpid() != self._own:
            self._end(0)
        with self._lock:
            self._connection.send_bytes(envelope.write(outcome))

    def watch(self, call_id: str, pages: Pages) -> None:
        """Send rows when they are due, even if the function is still running."""
        pages.on_first_row = lambda: self._with_rows.put((call_id, pages))

    def send_rows(
        self, call_id: str, pages: Pages, *, more: bool, cache: Cache | None = None
    ) -> None:
        """Send the rows of the page that were not sent before.

        Raises:
            RowError: A row does not fit its procedure.
        """
        if os.getpid() != self._own:
            self._end(0)
        with self._lock:
            rows = [(each.count, msgspec.Raw(each.json)) for each in pages.take()]
            more = more or pages.has_more
            if rows or not more:
                outcome = Outcome(call_id, rows, more=more, cache=cache)
                self._connection.send_bytes(envelope.write(outcome))

    def _send_due(self) -> None:
        while True:
            call_id, pages = self._with_rows.get()
            if pages.has_more:
                time.sleep(pages.seconds_to_flush())
            try:
                self.send_rows(call_id, pages, more=True)
            except RowError:
                # It is raised again where the function adds its next row, or at its end.
                continue
            except MemoryError:
                self._end(MEMORY_EXIT)
            except OSError:
                # The sidecar closed the connection; the function's own thread notices that too.
                return


class TaskRunner:
    """Runner of tasks, one after the other."""

    def __init__(self, registry: Registry, message_bytes: int, sender: OutcomeSender) -> None:
        self.resources: Final = Resources()
        self._registry = registry
        self._message_bytes = message_bytes
        self._sender = sender

    def run(self, message: bytes) -> None:
        """Run a task and send its outcome.

        Raises:
            MemoryError: The function needs more memory than this process may use.
        """
        task = envelope.read(message, Task)
        name = task.name
        try:
            procedure, arguments = self._resolve(task)
            name = procedure.name
            self._send_rows(task, procedure, arguments)
        except MemoryError:
            raise
        except SidecypherError as error:
            known = error
        # SystemExit too: the process can still run other tasks.
        except BaseException as error:  # noqa: BLE001
            log_unexpected(error, procedure=name, call=task.call_id)
            known = procedure_failed(name, error, task.call_id)
        else:
            return
        self._sender.answer(Outcome(task.call_id, error=ErrorBody.of(known)))

    def _resolve(self, task: Task) -> tuple[Procedure, list[Any]]:
        found = self._registry.get(task.name, task.kind)
        if found.entry.signature != task.signature:
            raise CatalogueMismatch(f"The sidecar and its worker disagree about `{task.name}`")
        return found.resolve(task.args, self._registry)

    def _send_rows(self, task: Task, procedure: Procedure, arguments: list[Any]) -> None:
        head = CallHead(task.call_id, task.name, task.database, task.user)
        with tracing.continued(task.traceparent):
            call = ThreadExecution(head, procedure, arguments, self.resources)
        call.serve(no_transaction_in_worker, Deadline.after(task.seconds))
        pages, more = call.pages, True
        if procedure.signature.returns is ReturnKind.ITERATOR:
            self._sender.watch(task.call_id, pages)
        try:
            while more or pages.has_more:
                bytes_left = self._message_bytes - pages.bytes_taken
                if bytes_left <= 0:
                    raise MessageTooLarge(
                        f"The rows of `{procedure.name}` have more than {self._message_bytes} "
                        "bytes, which a worker may send",
                        hint="Return less per call, or run the procedure on a thread.",
                    )
                pages.begin(sys.maxsize, min(bytes_left, _PAGE_BYTES))
                try:
                    more = pages.is_full or call.fill()
                finally:
                    kept = call.cache_seconds
                    cache = None if kept is None else (kept, call.cache_tags)
                    self._sender.send_rows(task.call_id, pages, more=more, cache=cache)
        finally:
            # What `_send_due` sends after the answer would be taken for an answer of the next task.
            pages.drop()
            call.suspend()
            call.end()
            call.close()


def end_with(parent: int) -> None:
    """End this process when the sidecar ends; on Linux even in the middle of C code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit_memory(memory_mb: int) -> None:
    """Allow so much memory in addition to what is in use; be the first that Linux kills."""
    used = _address_space()
    limit = used + memory_mb * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # If the machine runs out of memory, the kernel should kill this process, not the database.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _address_space() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def serve(connection: Connection, end: Callable[[int], None] = os._exit) -> None:
    """Answer tasks until the sidecar closes the connection."""
    setup = envelope.read(connection.recv_bytes(), Setup)
    configure_logging(setup.log_level, setup.log_format)
    spans = export_spans() if setup.traces else None
    registry = load([Path(folder) for folder in setup.folders], only=setup.sources).registry
    runner = TaskRunner(registry, setup.message_bytes, OutcomeSender(connection, end))
    if setup.epochs:
        share_epochs(Epochs(Path(setup.epochs)))
    limit_memory(setup.memory_mb)
    connection.send_bytes(envelope.write(Ready(len(registry))))
    try:
        while True:
            runner.run(connection.recv_bytes())
    except MemoryError:
        # The state of this process is unknown now, and its memory must be released.
        end(MEMORY_EXIT)
    except (EOFError, OSError):
        # One limit for resources and spans together: the sidecar kills this process after 1.5 s.
        deadline = Deadline.after(STOP_SECONDS)
        asyncio.run(runner.resources.stop())
        if spans is not None:
            spans.stop(deadline.remaining())


def main() -> None:
    """Serve the sidecar that started this process."""
    channel, parent = map(int, sys.argv[1:3])
    end_with(parent)
    # Ctrl-C is for the sidecar, which then closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    with Connection(channel) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
