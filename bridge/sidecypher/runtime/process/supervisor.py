"""`Supervisor`: start, restart and stop the processes of a home."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecypher.errors import SidecypherError
from sidecypher.host.locks import file_lock
from sidecypher.host.signals import Wakeup
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process._child import Backoff, Child
from sidecypher.runtime.process.spec import ProcessSpec, end_processes
from sidecypher.runtime.process.state import (
    Failure,
    State,
    Status,
    read_state,
    start_of,
    write_state,
)
from sidecypher.runtime.process.stop import stop_orphans

Plan = Callable[[], Iterable[ProcessSpec]]


class Supervisor:
    """Supervisor of processes, which it starts together and stops, those that others use last.

    It needs the main thread for signals: SIGTERM and SIGINT stop everything.

    Args:
        home: The home; `run/state.json` in it lists the processes for other programs.
        plan: Yields the processes, each of which is started at once. When it is called, the home is
            locked and orphans of a killed supervisor have ended. So it may choose ports and write
            settings.

    Example:
        >>> Supervisor(home, lambda: [server.process(restart=True)]).run()  # doctest: +SKIP
    """

    def __init__(self, home: Path, plan: Plan, *, backoff: Backoff | None = None) -> None:
        self._home = home
        self._plan = plan
        self._backoff = backoff or Backoff()
        self._children: list[Child] = []
        self._status: Status = "starting"
        self._failure: Failure | None = None
        self._pid = os.getpid()
        self._start = start_of(self._pid)
        self._written: State | None = None

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, or until a process ends that is not to be restarted.

        Raises:
            AlreadyRunning: If another supervisor holds this home.
            ServerFailed: If a process does not get ready, or ends and is not to be restarted.
            SidecypherError: An error of the plan.
        """
        run_folder = self._home / "run"
        run_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(file_lock(run_folder / "supervisor.lock", seconds=0))
            except BlockingIOError:
                raise AlreadyRunning("This home is in use by a running supervisor") from None
            wakeup = stack.enter_context(Wakeup())
            self._supervise(wakeup)

    def _supervise(self, wakeup: Wakeup) -> None:
        before = read_state(self._home)
        # With those that a killed supervisor has left: this one may be killed before they end.
        # Nothing else runs yet, so a home that cannot be written ends the start here.
        self._write(replace(self._state(), processes=before.orphans if before else ()))
        try:
            stop_orphans(before)
            for spec in self._plan():
                if wakeup.stop_requested:
                    break
                self._launch(spec)
            while not wakeup.stop_requested:
                self._check_children()
                wakeup.wait(self._seconds_to_check())
        except SidecypherError as error:
            self._failure = Failure(error.code, error.message, error.hint, error.details)
            raise
        finally:
            self._stop_all()

    def _launch(self, spec: ProcessSpec) -> None:
        child = Child(spec, self._backoff)
        self._children.append(child)
        child.launch()
        self._write_changes()

    def _check_children(self) -> None:
        for child in self._children:
            child.check()
            self._write_changes()
        # It stays ready when a process is restarted later.
        if all(child.status == "ready" for child in self._children):
            self._status = "ready"
            self._write_changes()

    def _seconds_to_check(self) -> float | None:
        waits = [child.seconds_to_check for child in self._children]
        if self._written != self._state():
            waits.append(_WRITE_AGAIN_SECONDS)
        return min((wait for wait in waits if wait is not None), default=None)

    def _stop_all(self) -> None:
        self._status = "stopping"
        for stops_last in (False, True):
            group = [each for each in self._children if each.spec.stops_last is stops_last]
            found = {each: each.process for each in group}
            for child in group:
                child.status = "stopping"
            # Before the first signal, so that `stop` sends no second one if this supervisor dies.
            self._write_changes()
            end_processes({own: each.spec.stop_grace for each, own in found.items() if own})
            for child in group:
                child.stopped()
        self._status = "failed" if self._failure else "stopped"
        self._write_changes()

    def _state(self) -> State:
        children = tuple(child.state for child in self._children)
        return State(self._pid, self._start, self._status, children, self._failure)

    def _write_changes(self) -> None:
        """Write a changed state; processes keep running if the disk is full."""
        state = self._state()
        if state != self._written:
            with contextlib.suppress(OSError):
                self._write(state)

    def _write(self, state: State) -> None:
        write_state(self._home, state)
        self._written = state


_WRITE_AGAIN_SECONDS: Final = 1.0
"""Delay before a state that could not be written is written again."""
