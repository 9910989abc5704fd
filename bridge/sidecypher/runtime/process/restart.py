"""Restart of one process of a home: it is ended here, and its supervisor starts it again."""

import contextlib
import time
from pathlib import Path

import psutil

from sidecypher.runtime.errors import NotRunning, ServerFailed
from sidecypher.runtime.process.spec import READY_SECONDS
from sidecypher.runtime.process.state import ProcessState, find_process, read_state

_POLL = 0.05  # seconds


def restart_process(home: Path, name: str, *, timeout: float = READY_SECONDS) -> None:
    """End a process, and wait until its successor is ready.

    Args:
        home: The home.
        name: The process, such as ``neo4j``; one that its supervisor restarts.
        timeout: Seconds until the successor must be ready, after the grace of the process.

    Raises:
        NotRunning: It does not run.
        ServerFailed: Its successor is not ready in time, or the supervisor has stopped.
    """
    before = _running(home, name)
    found = find_process(before.pid, before.start) if before else None
    if before is None or found is None:
        raise NotRunning(f"`{name}` does not run")
    # If it has just ended by itself, its supervisor starts it again anyway.
    with contextlib.suppress(psutil.NoSuchProcess):
        found.terminate()
    deadline = time.monotonic() + before.stop_grace + timeout
    while time.monotonic() < deadline:
        now = _running(home, name)
        if now is None:
            break
        if now.restarts > before.restarts and now.status == "ready":
            return
        time.sleep(_POLL)
    raise ServerFailed(f"`{name}` did not come back", hint="Run `sidecypher logs`.")


def _running(home: Path, name: str) -> ProcessState | None:
    """Return a process of a home whose supervisor runs."""
    state = read_state(home)
    processes = state.processes if state is not None and state.alive else ()
    return next((each for each in processes if each.name == name), None)
