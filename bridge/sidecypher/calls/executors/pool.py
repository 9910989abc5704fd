"""The worker processes of a sidecar.

Each has its own connection, and shares nothing with others. The decision is explained
in `docs/decisions/0002-isolation.md`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from sidecypher.calls.executors._pool_worker import Worker, exit_reason
from sidecypher.calls.executors.pool_messages import KILL_SECONDS, Outcome, Setup, Task
from sidecypher.errors import ProtocolError, SidecarStopping, WorkerLost
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.call import cancelled
from sidecypher.telemetry.calls import logger

START_SECONDS: Final = 60.0
"""How long a worker may take to load the procedures."""

CRASHES: Final = 5
CRASH_SECONDS: Final = 60.0
"""`CRASHES` workers that die by themselves within these seconds are a crash loop."""

AddRows = Callable[[list[tuple[int, msgspec.Raw]]], None]
"""Receives rows of a task: JSON arrays, each with its number of rows."""

_FAILED_STARTS: Final = 2
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


class Killable(Protocol):
    """A process that runs one call, or the call itself where others share its process."""

    def kill(self) -> None:
        """End it; can be called from any thread."""


class Lease:
    """The lease of a worker by one call; it begins while the call still waits.

    Attributes:
        queued: Seconds that the call waited for a worker.
        is_cancelled: Whether the call was cancelled.
    """

    def __init__(self) -> None:
        self.queued = 0.0
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._worker: Killable | None = None

    def hold(self, worker: Killable) -> bool:
        """Hold a worker; return False if the call was cancelled."""
        with self._lock:
            self._worker = worker
            return not self.is_cancelled

    def release(self) -> bool:
        """Release the worker; return whether it may serve others, because it was not killed."""
        with self._lock:
            self._worker = None
            return not self.is_cancelled

    def cancel(self) -> None:
        """Kill the worker, if one is held; can be called from any thread."""
        with self._lock:
            self.is_cancelled = True
            if self._worker is not None:
                self._worker.kill()


class ProcessWorkers:
    """A fixed number of worker processes, started when the first is needed.

    Attributes:
        restarts: Number of workers that were lost or killed; each of them is replaced.
    """

    def __init__(self, setup: Setup, processes: int = 2) -> None:
        """Set up the pool without starting a process.

        Args:
            setup: What the processes load, limits, and settings for logs and traces.
            processes: Number of processes; 0 refuses all calls.
        """
        self._setup = setup
        self._processes = processes
        self._changed = threading.Condition()
        self._missing = processes
        self._starting: list[Worker] = []
        self._idle: list[Worker] = []
        self._generation = 0
        self._is_stopping = self._is_stopped = False
        self._starter: threading.Thread | None = None
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self._failed_starts = 0
        self.restarts = 0

    def start(self) -> None:
        """Start the processes in the background, unless that was done before."""
        with self._changed:
            if self._starter is None and self._processes and not self._is_stopping:
                # One thread starts all: Linux kills a process when the thread that started it ends.
                self._starter = threading.Thread(
                    target=self._start_missing, name="sidecypher-workers", daemon=True
                )
                self._starter.start()

    def crash_looping(self) -> bool:
        """Return whether workers do not get ready, or die one after the other."""
        with self._changed:
            latest = time.monotonic() - CRASH_SECONDS
            many = len(self._crashes) == CRASHES and self._crashes[0] > latest
            return many or self._failed_starts >= _FAILED_STARTS

    def run(self, name: str, task: Task, lease: Lease, deadline: Deadline, add: AddRows) -> Outcome:
        """Run a task in a worker; return its last outcome.

        Raises:
            WorkerLost: It died, or no worker process runs.
            CallCancelled: The lease was cancelled.
            TimeoutError: The deadline has passed.
        """
        self.start()
        worker = self._take(name, lease, deadline)
        outcome: Outcome | None = None
        how = ""
        try:
            if lease.hold(worker):
                outcome = _run_task(worker, task, deadline, add)
        except EOFError:
            pass
        except ProtocolError:
            how = "sent something that is not an answer"
        except BaseException:
            lease.release()
            self._replace(worker)
            raise
        if not lease.release():
            self._replace(worker)
            raise cancelled(name)
        if outcome is None:
            raise self._lost(worker, name, how)
        self._put_back(worker)
        return outcome

    def cancel(self, lease: Lease) -> None:
        """Cancel a call and kill its worker; can be called from any thread."""
        lease.cancel()
        with self._changed:
            self._changed.notify_all()

    def reload(self, sources: list[str] | None = None) -> None:
        """Run all further calls in processes that load the procedures of `sources` again."""
        with self._changed:
            self._setup = msgspec.structs.replace(self._setup, sources=sources)
            self._generation += 1
            self._failed_starts = 0
            self._crashes.clear()
            old, self._idle = self._idle, []
            self._missing += len(old)
            self._changed.notify_all()
        _end_all(old)

    def stop(self) -> None:
        """End all processes; calls that still run in one of them fail."""
        with self._changed:
            self._is_stopping = True
            old, self._idle = self._idle, []
            for worker in self._starting:
                worker.kill()
            self._changed.notify_all()
        _end_all(old)
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if self._starter is not None:
            self._starter.join(KILL_SECONDS)

    def _take(self, name: str, lease: Lease, deadline: Deadline) -> Worker:
        started = time.monotonic()
        with self._changed:
            while True:
                if lease.is_cancelled:
                    raise cancelled(name)
                while self._idle:
                    worker = self._idle.pop()
                    if worker.is_alive:
                        lease.queued = time.monotonic() - started
                        return worker
                    self._forget(worker, crashed=True)
                self._refuse(name)
                if not self._changed.wait(deadline.remaining()) and deadline.expired():
                    raise TimeoutError

    def _refuse(self, name: str) -> None:
        if not self._processes:
            raise WorkerLost(
                f"`{name}` runs in a worker process, and no worker process runs",
                hint="Set `worker_processes` above 0.",
            )
        if self._is_stopping:
            raise SidecarStopping("The sidecar is stopping", hint="Call again.", retryable=True)
        if self._failed_starts >= _FAILED_STARTS:
            raise WorkerLost(
                f"No worker process could be started for `{name}`",
                hint="The sidecar's log names the reason.",
            )

    def _put_back(self, worker: Worker) -> None:
        with self._changed:
            is_current = worker.generation == self._generation and not self._is_stopping
            if is_current:
                self._idle.append(worker)
            else:
                self._missing += 1
            self._changed.notify_all()
        if not is_current:
            _end_later(worker)

    def _lost(self, worker: Worker, name: str, how: str) -> WorkerLost:
        code = self._replace(worker, crashed=True)
        how = how or exit_reason(code, self._setup.memory_mb)
        logger().error("worker lost", procedure=name, how=how)
        return WorkerLost(f"The worker process that ran `{name}` {how}")

    def _replace(self, worker: Worker, *, crashed: bool = False) -> int:
        code = worker.end()
        with self._changed:
            self._forget(worker, crashed=crashed)
        return code

    def _forget(self, worker: Worker, *, crashed: bool) -> None:
        """Count a worker that has ended; the caller holds the lock."""
        worker.end()
        self.restarts += 1
        self._missing += 1
        if crashed:
            self._crashes.append(time.monotonic())
        self._changed.notify_all()

    def _start_missing(self) -> None:
        """Start missing workers until the pool is stopped."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped or self._may_start())
                if self._is_stopped:
                    return
                wanted, self._missing = self._missing, 0
            self._start_some(wanted)

    def _may_start(self) -> bool:
        return self._missing > 0 and not self._is_stopping

    def _start_some(self, wanted: int) -> None:
        for _ in range(wanted):
            try:
                worker = Worker(self._setup, self._generation)
            except OSError as error:
                self._not_started(type(error).__name__)
                continue
            with self._changed:
                self._starting.append(worker)
                if self._is_stopping:
                    worker.kill()
        for worker in list(self._starting):
            try:
                worker.answer(Deadline.after(START_SECONDS))
            except (EOFError, TimeoutError):
                self._starting.remove(worker)
                self._not_started(exit_reason(worker.end(), self._setup.memory_mb))
            else:
                self._starting.remove(worker)
                self._failed_starts = 0
                self._put_back(worker)

    def _not_started(self, how: str) -> None:
        with self._changed:
            self._missing += 1
            if self._is_stopping:
                return
            self._failed_starts += 1
            pause = min(_FIRST_PAUSE * 2**self._failed_starts, _LONGEST_PAUSE)
            self._changed.notify_all()
            logger().error("worker not started", how=how)
            self._changed.wait_for(lambda: self._is_stopping, pause)


def _run_task(worker: Worker, task: Task, deadline: Deadline, add: AddRows) -> Outcome:
    """Send a task to a worker; return its last outcome.

    Raises:
        ProtocolError: The reply is not an outcome: code in the worker wrote to its channel.
    """
    message = worker.ask(envelope.write(task), deadline)
    while True:
        outcome = envelope.read(message, Outcome)
        if outcome.call_id != task.call_id:
            raise ProtocolError("The worker answered another task")
        if outcome.rows:
            add(outcome.rows)
        if not outcome.more:
            return outcome
        message = worker.answer(deadline)


def _end_later(worker: Worker) -> None:
    """Let a worker end by itself, without delaying the caller whose call it has just run."""
    thread = threading.Thread(
        target=worker.end, args=(KILL_SECONDS,), name="sidecypher-worker-end", daemon=True
    )
    try:
        thread.start()
    except RuntimeError:
        worker.end()


def _end_all(workers: list[Worker]) -> None:
    for worker in workers:
        worker.hang_up()
    deadline = Deadline.after(KILL_SECONDS)
    for worker in workers:
        worker.end(max(deadline.remaining(), 0.001))
