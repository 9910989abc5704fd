"""Description of a supervised process, and functions to start and stop one."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

_POLL = 0.02  # seconds
KILL_SECONDS: Final = 10.0
"""Longest time for the system to end a killed process."""

PLAN_SECONDS: Final = 90.0
"""Longest time for a supervisor to start all its processes."""

READY_SECONDS: Final = 180.0
"""Longest time for a process to be ready.

Neo4j takes 5 to 10 s on an idle machine, and took over 60 s on one with six times its load.
"""

_TAIL_LINES = 20
_TAIL_BYTES = 1 << 16
_ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process, before it runs.

    Attributes:
        name: Its name for people, such as ``neo4j``.
        argv: Command and arguments; nothing secret, since everyone can list processes.
        env: The whole environment of the process.
        log_file: The file to which its output is appended.
        restart: Whether it is started again when it ends; if not, its end stops everything.
        ready: Called with the process's pid, repeatedly, until it returns true.
        ready_timeout: Longest time until it is ready, in seconds.
        answers: Called with the pid of a process that was ready, repeatedly; it must return within
            a few seconds.
        hang_seconds: Seconds without an answer after which it is killed; 0 disables this.
        stop_grace: Seconds between SIGTERM and SIGKILL.
        stops_last: Whether it is stopped only when all others have ended, because they use it
            until then.
        folder: Its current folder; None for that of this program, which may be deleted meanwhile.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log_file: Path
    restart: bool
    ready: Callable[[int], bool]
    ready_timeout: float = READY_SECONDS
    answers: Callable[[int], bool] = bool
    hang_seconds: float = 0.0
    stop_grace: float = 10.0
    stops_last: bool = False
    folder: Path | None = None

    @contextmanager
    def output(self) -> Iterator[int]:
        """Open the log file for a process to inherit; mode 0600."""
        self.log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def launch_process(spec: ProcessSpec) -> subprocess.Popen[bytes]:
    """Start a process in its own session, so that Ctrl-C in the terminal does not end it.

    Raises:
        OSError: If its command cannot be run.
    """
    with spec.output() as output:
        return subprocess.Popen(
            spec.argv,
            env=dict(spec.env),
            cwd=spec.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@contextmanager
def ending_signals_blocked() -> Iterator[None]:
    """Delay signals that would end this program until the end of the `with` block.

    A process runs before `launch_process` has returned it. An exception from a signal between the
    two would leave it running, unknown to the caller.

    Example:
        >>> process = None
        >>> try:  # doctest: +SKIP
        ...     with ending_signals_blocked():
        ...         process = launch_process(spec)
        ... finally:
        ...     if process is not None:
        ...         process.kill()
    """
    if threading.current_thread() is not threading.main_thread():
        # Python handles signals in the main thread only.
        yield
        return
    delayed: list[int] = []
    # Ignored or native handlers raise nothing here.
    handled = [number for number in _ENDINGS if callable(signal.getsignal(number))]
    handlers = {n: signal.signal(n, lambda number, _frame: delayed.append(number)) for n in handled}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in delayed:
            signal.raise_signal(late)


def end_processes(
    graces: Mapping[psutil.Process, float], *, asked: Collection[psutil.Process] = ()
) -> None:
    """End processes that each lead a session, all at the same time.

    Each receives SIGTERM, and after its grace SIGKILL. Then the rest of its process group is
    killed. A process that cannot be ended does not delay the others.

    Args:
        graces: Seconds that each process has to end by itself. psutil never signals another process
            that got the same pid later.
        asked: Those that have already received SIGTERM; a second one would cut their grace.
    """
    began = time.monotonic()
    for process in graces.keys() - set(asked):
        with contextlib.suppress(psutil.Error):
            process.terminate()
    left = dict(graces)
    while left:
        passed = time.monotonic() - began
        for process, grace in list(left.items()):
            if _has_ended(process) or passed > grace + KILL_SECONDS:
                del left[process]
                sweep_session(process.pid)
            elif passed > grace:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        time.sleep(_POLL)


def _has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended with all its threads; collect it if it is a child."""
    try:
        if not process.is_running():
            return True
        process.wait(0)
    except psutil.TimeoutExpired:
        # Others collect it. Its first thread may have ended while others still hold its files.
        return _is_zombie(process)
    except psutil.NoSuchProcess:
        pass
    return True


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except psutil.NoSuchProcess:
        return True


def sweep_session(leader: int) -> None:
    """Kill the rest of the process group of a process that has just ended."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def log_size(log_file: Path) -> int:
    """Return the size of a log file, 0 if it is missing: the mark at which a run's lines begin."""
    return log_file.stat().st_size if log_file.is_file() else 0


def log_tail(log_file: Path, mark: int = 0) -> list[str]:
    """Return the last 20 lines that were written to a log after a mark."""
    size = log_size(log_file)
    if size <= mark:
        return []
    with log_file.open("rb") as file:
        file.seek(max(mark, size - _TAIL_BYTES))
        return file.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]
