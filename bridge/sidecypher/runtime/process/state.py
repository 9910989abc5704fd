"""State file of a supervisor and its processes, compared with the running processes."""

import os
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import psutil

from sidecypher.runtime.process.spec import KILL_SECONDS, PLAN_SECONDS

Status = Literal["starting", "ready", "restarting", "stopping", "stopped", "failed"]

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class ProcessState(msgspec.Struct, frozen=True):
    """One process of a home.

    Attributes:
        pid: Process id; 0 while it waits for its restart.
        start: Its start, see `start_of`; a later process with the same pid has another one.
        stop_grace: Seconds it has to end by itself.
        stops_last: Whether it is stopped only when all others have ended.
    """

    name: str
    pid: int
    start: str
    status: Status
    restarts: int
    stop_grace: float = 10.0
    stops_last: bool = False

    @property
    def alive(self) -> bool:
        """Whether this process, not another one with its pid, is running."""
        return find_process(self.pid, self.start) is not None


class Failure(msgspec.Struct, frozen=True):
    """Failure that stopped a supervisor: the parts of a `SidecypherError`."""

    code: str
    message: str
    hint: str
    details: dict[str, Any]


class State(msgspec.Struct, frozen=True):
    """A supervisor and its processes.

    Attributes:
        pid: The supervisor's own process id.
        start: Its start, see `start_of`.
        status: ``ready`` once every process was ready.
        processes: In the order they are started.
        failure: The failure, if `status` is ``failed``.
    """

    pid: int
    start: str
    status: Status
    processes: tuple[ProcessState, ...] = ()
    failure: Failure | None = None

    @property
    def alive(self) -> bool:
        """Whether the supervisor is running."""
        return find_process(self.pid, self.start) is not None

    @property
    def running(self) -> bool:
        """Whether the supervisor and all its processes are running."""
        return self.alive and bool(self.processes) and all(each.alive for each in self.processes)

    @property
    def stop_seconds(self) -> float:
        """Longest time for the supervisor to end: its plan, then its processes in two groups."""
        groups = (
            [each.stop_grace + KILL_SECONDS for each in self.processes if each.stops_last is last]
            for last in (False, True)
        )
        planning = PLAN_SECONDS if self.status == "starting" else 0.0
        return planning + sum(max(group, default=0.0) for group in groups)

    @property
    def orphans(self) -> tuple[ProcessState, ...]:
        """The processes that outlived their supervisor."""
        return () if self.alive else tuple(entry for entry in self.processes if entry.alive)


_decode: Final = msgspec.json.Decoder(State).decode


def start_of(pid: int) -> str:
    """Return what tells a process from all others with its pid: the boot, and ticks since then.

    The time of day of its start would be another one after each correction of the clock.

    Raises:
        psutil.NoSuchProcess: There is none.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    # Field 22 of `proc(5)`; the name before it may have spaces.
    ticks = stat.rpartition(")")[2].split()[19]
    # Sandboxes such as gVisor have no such file.
    boot = _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
    return f"{boot} {ticks}"


def find_process(pid: int, start: str) -> psutil.Process | None:
    """Return the running process that has this pid and this start, or None."""
    if pid <= 0:
        return None
    try:
        process = psutil.Process(pid)
        same = start_of(pid) == start
        running = process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return None
    return process if same and running else None


def state_file(home: Path) -> Path:
    """Return the path of the state file of a home."""
    return home / "run" / "state.json"


def read_state(home: Path) -> State | None:
    """Return the state that the last supervisor of a home wrote, or None if there was none.

    `alive` of the result, and of each process in it, shows whether it is still running.

    Example:
        >>> read_state(Path("/nonexistent")) is None
        True
    """
    try:
        return _decode(state_file(home).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_state(home: Path, state: State) -> None:
    """Replace the state of a home in one step; mode 0600."""
    target = state_file(home)
    fresh = target.with_name(f"{target.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(state))
    fresh.replace(target)
