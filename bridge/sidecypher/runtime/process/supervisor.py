"""Keep the processes of a home running, in order, until told to stop."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from sidecypher.errors import SidecypherError
from sidecypher.filelock import file_lock
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process.child import Backoff, Child
from sidecypher.runtime.process.spec import ProcessSpec
from sidecypher.runtime.process.state import Failure, State, Status, read_state, write_state
from sidecypher.runtime.process.stop import stop_orphans
from sidecypher.wakeup import Wakeup

Plan = Callable[[], Sequence[ProcessSpec]]


class Supervisor:
    """Starts processes one after the other, restarts them, and stops them in reverse order.

    It needs the main thread, since it lives on signals: SIGTERM and SIGINT stop everything.

    Args:
        home: The home; `run/state.json` in it tells others what runs.
        plan: Gives the processes. It is called with the home locked and the orphans of a killed
            supervisor gone, so it may choose ports and write settings.
        backoff: How long to wait before restarts.

    Example:
        >>> Supervisor(home, lambda: [server.process(restart=True)]).run()  # doctest: +SKIP
    """

    def __init__(self, home: Path, plan: Plan, *, backoff: Backoff | None = None) -> None:
        self._home = home
        self._plan = plan
        self._backoff = backoff or Backoff()
        self._children: list[Child] = []
        self._written: State | None = None

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, or until a process ends that is not to be restarted.

        Raises:
            AlreadyRunning: If another supervisor holds this home.
            ServerFailed: If a process does not get ready, or ends and is not to be restarted.
            SidecypherError: Whatever the plan raises.
        """
        run_folder = self._home / "run"
        run_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(file_lock(run_folder / "supervisor.lock", wait=False))
            except BlockingIOError:
                raise AlreadyRunning("This home is in use by a running supervisor") from None
            wakeup = stack.enter_context(Wakeup())
            self._supervise(wakeup)

    def _supervise(self, wakeup: Wakeup) -> None:
        before = read_state(self._home)
        self._note("starting")
        failure: Failure | None = None
        try:
            stop_orphans(before)
            for spec in self._plan():
                self._bring_up(spec, wakeup)
            while not wakeup.stop_requested:
                self._tend("ready")
                wakeup.wait(self._patience())
        except SidecypherError as error:
            failure = Failure(error.code, error.message, error.hint, error.details)
            raise
        finally:
            self._stop_all()
            self._note("failed" if failure else "stopped", failure)

    def _bring_up(self, spec: ProcessSpec, wakeup: Wakeup) -> None:
        if wakeup.stop_requested:
            return
        child = Child(spec, self._backoff)
        self._children.append(child)
        child.launch()
        self._tend("starting")
        while child.status != "ready" and not wakeup.stop_requested:
            wakeup.wait(self._patience())
            self._tend("starting")

    def _tend(self, status: Status) -> None:
        self._note(status)
        for child in self._children:
            child.tend()
        self._note(status)

    def _patience(self) -> float | None:
        waits = [child.patience for child in self._children]
        return min((wait for wait in waits if wait is not None), default=None)

    def _stop_all(self) -> None:
        for child in reversed(self._children):
            child.stop()
            self._note("stopping")

    def _note(self, status: Status, failure: Failure | None = None) -> None:
        own = psutil.Process()
        children = tuple(child.state for child in self._children)
        state = State(own.pid, own.create_time(), status, children, failure)
        if state != self._written:
            write_state(self._home, state)
            self._written = state
