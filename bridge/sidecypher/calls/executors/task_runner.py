"""Run tasks in a process that is not the sidecar, and send their outcomes."""

import os
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from sidecypher.calls.executors._pages import Pages
from sidecypher.calls.executors._thread import ThreadExecution
from sidecypher.calls.executors.pool_messages import MEMORY_EXIT, Cache, Outcome, Task
from sidecypher.errors import CatalogueMismatch, MessageTooLarge, RowError, SidecypherError
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallHead, ErrorBody
from sidecypher.sdk.call import cancelled, no_transaction_in_worker, procedure_failed
from sidecypher.sdk.interruption import CallInterrupted
from sidecypher.sdk.projection import shared_table
from sidecypher.sdk.registry import Procedure, Registry
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.telemetry import tracing
from sidecypher.telemetry.calls import log_unexpected

_PAGE_BYTES: Final = 1024 * 1024


class OutcomeSender:
    """Sender of outcomes; it sends rows when they are due or earlier.

    A function that forks returns twice; only the worker itself may answer.
    """

    def __init__(self, send: Callable[[bytes], None], end: Callable[[int], None]) -> None:
        self._send = send
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
            self._send(envelope.write(outcome))

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
                self._send(envelope.write(outcome))

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
        self._call: ThreadExecution | None = None
        self._interrupted = ""

    def interrupt(self, call_id: str) -> None:
        """Cancel the task of a call, which may not have begun, and interrupt its Python code."""
        # First: a task that begins meanwhile sees this, or is seen here.
        self._interrupted = call_id
        call = self._call
        # It may have ended before, and another one runs.
        if call is not None and call.call_id == call_id:
            call.cancel(cancelled(call.name))
            call.interrupt()

    def run(self, message: bytes, projection: Any = None) -> None:
        """Run a task and send its outcome.

        Args:
            message: A `Task`.
            projection: The table that the function gets; by default the one that the task names.

        Raises:
            MemoryError: The function needs more memory than this process may use.
        """
        task = envelope.read(message, Task)
        name = task.name
        try:
            procedure, arguments = self._resolve(task)
            name = procedure.name
            if projection is None and task.projection:
                projection = shared_table(task.projection)
            self._send_rows(task, procedure, arguments, projection)
        except MemoryError:
            raise
        except SidecypherError as error:
            known = error
        except CallInterrupted:
            known = cancelled(name)
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
        procedure, arguments = found.resolve(task.args, self._registry)
        return procedure.counting_from(task.first), arguments

    def _send_rows(
        self, task: Task, procedure: Procedure, arguments: list[Any], projection: Any
    ) -> None:
        head = CallHead(task.call_id, task.name, task.database, task.user)
        with tracing.continued(task.traceparent):
            call = ThreadExecution(head, procedure, arguments, self.resources)
        call.projection = projection
        self._call = call
        call.serve(no_transaction_in_worker, Deadline.after(task.seconds))
        pages, more = call.pages, True
        if procedure.signature.returns is ReturnKind.ITERATOR:
            self._sender.watch(task.call_id, pages)
        try:
            while more or pages.has_more:
                if self._interrupted == task.call_id:
                    raise CallInterrupted
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
            self._call = None
            # What `_send_due` sends after the answer would be taken for an answer of the next task.
            pages.drop()
            call.suspend()
            call.end()
            call.close()
