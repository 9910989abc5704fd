"""The sidecar's handle of a Ray cluster, through a driver process."""

import contextlib
import importlib.util
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import msgspec

from sidecypher.calls.executors._pool_worker import Worker
from sidecypher.calls.executors.pool import AddRows, Lease
from sidecypher.calls.executors.pool_messages import KILL_SECONDS, Outcome, Setup, Task
from sidecypher.calls.executors.ray.messages import (
    Away,
    Cancel,
    DriverSetup,
    Report,
    Request,
    Status,
    Stop,
    Submit,
)
from sidecypher.errors import ClusterUnavailable, OutcomeUnknown, SidecarStopping
from sidecypher.host.locks import file_lock, is_locked
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.batch.variants import BatchVariant
from sidecypher.sdk.call import cancelled
from sidecypher.sdk.registry import Procedure
from sidecypher.telemetry.calls import logger

_DRIVER: Final = "sidecypher.calls.executors.ray.driver"
_READ_LOG: Final = "The sidecar's log has the reason."

_SILENCE_SECONDS: Final = 30.0
"""A driver that is silent for longer is replaced."""

_CONNECT_SECONDS: Final = 180.0
"""How long a driver may take to connect; Ray tries for a minute."""

_FOLDER: Final = "sidecypher-ray-"
_LOCK: Final = "lock"

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
RAY_STOP_SECONDS: Final = 4.0
"""How long a driver may take to leave a cluster, and to end a local one."""

_decode: Final = msgspec.json.Decoder(Report).decode


class _Driver:
    """A driver process and the calls that it runs."""

    def __init__(self, process: Worker) -> None:
        self.process: Final = process
        self.status: Status | None = None
        self.away: Away | None = None
        self.has_reported = False
        self.calls: Final[dict[str, SimpleQueue[Outcome | None]]] = {}
        self._lock: Final = threading.Lock()
        self._is_retired = False
        self._is_over = False
        """Whether it begins no more calls: it has ended, or was told to."""

    def send(self, request: Request) -> None:
        """Send a request; one to a process that has ended is lost, and so are its calls."""
        with self._lock:
            self._send(request)

    def _send(self, request: Request) -> None:
        with contextlib.suppress(EOFError):
            self.process.write(envelope.write(request))

    def read(self, changed: Callable[["_Driver"], None]) -> None:
        """Pass on what the process sends until it ends; then each of its calls gets None."""
        try:
            while True:
                # Once it is connected it reports its state again and again.
                patience = _SILENCE_SECONDS if self.status else _CONNECT_SECONDS
                report = _decode(self.process.answer(Deadline.after(patience)))
                if isinstance(report, Outcome):
                    self._pass_on(report)
                    continue
                self.has_reported = True
                if isinstance(report, Status):
                    self.status = report
                else:
                    self.away = report
                changed(self)
        except (EOFError, TimeoutError, msgspec.MsgspecError):
            self.process.kill()
        with self._lock:
            self._is_over = True
            self.status = None
            calls = list(self.calls.values())
        for waiting in calls:
            waiting.put(None)

    def _pass_on(self, outcome: Outcome) -> None:
        waiting = self.calls.get(outcome.call_id)
        if waiting is not None:
            waiting.put(outcome)

    def begin(self, submit: Submit) -> "SimpleQueue[Outcome | None] | None":
        """Begin a call; return the queue of its outcomes, or None if another driver must run it."""
        waiting: SimpleQueue[Outcome | None] = SimpleQueue()
        with self._lock:
            if self._is_over:
                return None
            self.calls[submit.task.call_id] = waiting
            self._send(submit)
        return waiting

    def finish(self, call_id: str) -> None:
        """Forget a call that has ended."""
        with self._lock:
            self.calls.pop(call_id, None)
            self._end_if_idle()

    def retire(self) -> None:
        """Let the process end when its calls have ended."""
        with self._lock:
            self._is_retired = True
            self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_retired and not self.calls:
            self._is_over = True
            self._send(Stop())


class _Submitted:
    """A call that a driver runs, as the lease of the call sees it."""

    def __init__(self, driver: _Driver, call_id: str) -> None:
        self._driver = driver
        self._call_id = call_id

    def kill(self) -> None:
        """End the call on the cluster."""
        self._driver.send(Cancel(self._call_id))


@dataclass(frozen=True)
class ClusterState:
    """State of a Ray cluster.

    Attributes:
        address: Its address; empty if there is none.
        nodes: Number of nodes that are alive; 0 if it is not connected.
        cpus: Number of their CPUs.
        tasks: Number of calls that it runs, or that wait there.
        problem: Why it runs no calls; None if it does, or is not connected yet.
    """

    address: str = ""
    nodes: int = 0
    cpus: float = 0.0
    tasks: int = 0
    problem: str | None = None


class RayCluster:
    """A Ray cluster that runs functions; its driver starts when the first is needed."""

    def __init__(self, setup: Setup, address: str) -> None:
        """Set up without a connection.

        Args:
            setup: What the nodes load, limits, and settings for logs and traces.
            address: Address of the cluster, or `local`; empty refuses all calls.
        """
        self._setup = setup
        self._address = address
        self._changed: Final = threading.Condition()
        self._driver: _Driver | None = None
        self._away: Away | None = None
        if address and importlib.util.find_spec("ray") is None:
            self._away = Away("Ray is not installed", "Install `sidecypher[ray]`.")
        self._generation = 0
        self._is_started = self._is_stopping = False
        self._threads: list[threading.Thread] = []

    def state(self) -> "ClusterState":
        """Return the state of the cluster."""
        driver = self._driver
        problem = None if self._away is None else self._away.reason
        if driver is None:
            return ClusterState(self._address, problem=problem)
        status = driver.status or Status(0, 0.0)
        return ClusterState(self._address, status.nodes, status.cpus, len(driver.calls), problem)

    def start(self) -> None:
        """Connect in the background, unless that was done before."""
        with self._changed:
            can_start = self._address and self._away is None and not self._is_stopping
            if can_start and not self._is_started:
                self._is_started = True
                self._keep_driver()

    def check(self, name: str) -> None:
        """Raise if no cluster can run a call now; one that is being connected is waited for.

        Raises:
            ClusterUnavailable: There is none.
        """
        if not self._address:
            raise ClusterUnavailable(
                f"`{name}` runs on a Ray cluster, and none is set",
                hint="Set `ray_address`: `local`, or HOST:PORT of a cluster.",
            )
        # While a driver connects, calls are refused for the reason of the one before.
        away = self._away
        if away is not None:
            raise ClusterUnavailable(
                f"`{name}` needs the Ray cluster: {away.reason}", hint=away.hint or None
            )

    def workers(self, procedure: Procedure) -> "RayWorkers":
        """Return the cluster as it runs one procedure."""
        return RayWorkers(self, procedure)

    def run(self, submit: Submit, lease: Lease, deadline: Deadline, add: AddRows) -> Outcome:
        """Run a task; return its last outcome.

        Raises:
            ClusterUnavailable: No cluster can run it.
            OutcomeUnknown: The driver was lost.
            CallCancelled: The lease was cancelled.
            TimeoutError: The deadline has passed.
        """
        name, call_id = submit.task.name, submit.task.call_id
        self.start()
        began = time.monotonic()
        waiting = None
        while waiting is None:
            driver = self._await_driver(name, lease, deadline)
            waiting = driver.begin(submit)
        submitted = _Submitted(driver, call_id)
        try:
            if not lease.hold(submitted):
                submitted.kill()
                raise cancelled(name)
            outcome = _next(waiting, name, deadline)
            lease.queued = time.monotonic() - began
            while outcome.more:
                add(outcome.rows)
                outcome = _next(waiting, name, deadline)
            add(outcome.rows)
        except TimeoutError:
            lease.cancel()
            raise
        finally:
            driver.finish(call_id)
        if not lease.release():
            raise cancelled(name)
        return outcome

    def cancel(self, lease: Lease) -> None:
        """Cancel a call; can be called from any thread."""
        lease.cancel()
        with self._changed:
            self._changed.notify_all()

    def reload(self, sources: list[str] | None = None) -> None:
        """Run all further calls in Ray workers that load the procedures of `sources` again."""
        with self._changed:
            self._setup = msgspec.structs.replace(self._setup, sources=sources)
            self._generation += 1
            if self._driver is not None:
                self._driver.retire()
            self._driver = None
            if self._is_started and not self._is_stopping:
                self._keep_driver()

    def stop(self) -> None:
        """Leave the cluster; calls that still run there fail."""
        with self._changed:
            self._is_stopping = True
            self._generation += 1
            driver = self._driver
            self._changed.notify_all()
        if driver is not None:
            driver.send(Stop())
        deadline = Deadline.after(RAY_STOP_SECONDS)
        for thread in self._threads:
            thread.join(deadline.remaining())
        if driver is not None:
            driver.process.kill()

    def _await_driver(self, name: str, lease: Lease, deadline: Deadline) -> _Driver:
        with self._changed:
            while True:
                if lease.is_cancelled:
                    raise cancelled(name)
                if self._is_stopping:
                    raise SidecarStopping(
                        "The sidecar is stopping", hint="Call again.", retryable=True
                    )
                self.check(name)
                driver = self._driver
                if driver is not None and driver.status is not None:
                    return driver
                if not self._changed.wait(deadline.remaining()) and deadline.expired():
                    raise TimeoutError

    def _keep_driver(self) -> None:
        """Start the thread that keeps a driver until the next reload."""
        # Linux kills a process when the thread that started it ends.
        thread = threading.Thread(
            target=self._keep, args=(self._generation,), name="sidecypher-ray", daemon=True
        )
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _keep(self, generation: int) -> None:
        pause = _FIRST_PAUSE
        while generation == self._generation:
            began = time.monotonic()
            try:
                self._run_driver(generation)
            except OSError as error:
                self._lack(self._driver, Away(f"no driver can be started ({error.strerror})"))
            if time.monotonic() - began > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            with self._changed:
                self._changed.notify_all()
                self._changed.wait_for(lambda: generation != self._generation, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _run_driver(self, generation: int) -> None:
        with _own_folder() as folder:
            setup = DriverSetup(self._setup, self._address, str(folder))
            driver = _Driver(Worker(setup, generation, _DRIVER))
            with self._changed:
                if generation != self._generation:
                    driver.retire()
                else:
                    self._driver = driver
            driver.read(self._report)
            driver.process.end(KILL_SECONDS)
            if not driver.has_reported:
                self._lack(driver, Away("its driver ended before it was connected", _READ_LOG))

    def _report(self, driver: _Driver) -> None:
        """Tell those who wait for the cluster what its driver has told."""
        if driver.away is not None:
            self._lack(driver, driver.away)
            return
        with self._changed:
            if driver is self._driver:
                self._away = None
                self._changed.notify_all()

    def _lack(self, driver: _Driver | None, away: Away) -> None:
        """Refuse calls for a reason, unless a driver tells it that was replaced."""
        with self._changed:
            if driver is not self._driver or self._is_stopping:
                return
            if self._away != away:
                logger().error("no Ray cluster", reason=away.reason)
            self._away = away
            self._changed.notify_all()


class RayWorkers:
    """A Ray cluster as it runs one procedure."""

    def __init__(self, cluster: RayCluster, procedure: Procedure) -> None:
        self._cluster = cluster
        self._options = procedure.ray
        self._is_batch = isinstance(procedure, BatchVariant)

    def run(
        self, _name: str, task: Task, lease: Lease, deadline: Deadline, add: AddRows
    ) -> Outcome:
        """Run a task, as `RayCluster.run` does."""
        return self._cluster.run(Submit(task, self._options, self._is_batch), lease, deadline, add)

    def cancel(self, lease: Lease) -> None:
        """Cancel a call; can be called from any thread."""
        self._cluster.cancel(lease)


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder for the block, with a path that is short: Ray's sockets have their place in it.

    Those that killed sidecars have left are removed.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*/{_LOCK}"):
        if not is_locked(left):
            shutil.rmtree(left.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
    try:
        with file_lock(folder / _LOCK, seconds=0):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _next(waiting: "SimpleQueue[Outcome | None]", name: str, deadline: Deadline) -> Outcome:
    try:
        outcome = waiting.get(timeout=deadline.remaining())
    except Empty:
        raise TimeoutError from None
    if outcome is None:
        raise OutcomeUnknown(f"The Ray cluster was lost while it ran `{name}`")
    return outcome
