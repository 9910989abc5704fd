"""Start of a supervisor in the background, until its processes are ready."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import Popen
from typing import Final

from sidecypher.runtime.errors import AlreadyRunning, RuntimeFailure, ServerFailed
from sidecypher.runtime.process.spec import (
    PLAN_SECONDS,
    READY_SECONDS,
    ProcessSpec,
    ending_signals_blocked,
    launch_process,
    log_size,
    log_tail,
)
from sidecypher.runtime.process.state import Failure, State, read_state
from sidecypher.runtime.process.stop import stop

_POLL = 0.05  # seconds
_MARGIN_SECONDS: Final = 15.0


def launch_supervisor(
    home: Path,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    timeout: float = PLAN_SECONDS + READY_SECONDS + _MARGIN_SECONDS,
) -> State:
    """Start a command that runs a `Supervisor`, and wait until its processes are ready.

    The command goes on after this program has ended. Its output goes to `logs/supervisor.log`.

    Args:
        home: The home that the command supervises.
        argv: The command, such as ``[sys.executable, "-m", "sidecypher", "supervise"]``.
        env: Its whole environment.
        timeout: Seconds after which it is stopped. The supervisor itself stops if a process is not
            ready in time, so this is for a supervisor that hangs.

    Raises:
        AlreadyRunning: If the home has a running supervisor.
        RuntimeFailure: The supervisor's failure, with its code, message, hint and details.
        ServerFailed: If the command ends without a reported failure, or takes too long.
    """
    running = read_state(home)
    if running is not None and running.alive:
        raise AlreadyRunning("This home is in use by a running supervisor")
    log_file = home / "logs" / "supervisor.log"
    mark = log_size(log_file)
    spec = ProcessSpec("supervisor", tuple(argv), env, log_file, restart=False, ready=bool)
    supervisor: Popen[bytes] | None = None
    try:
        with ending_signals_blocked():
            supervisor = launch_process(spec)
        state = _await_ready(home, supervisor, timeout)
    except BaseException:
        # Also after Ctrl-C: no process may start that no command waits for.
        if supervisor is not None:
            _end(home, supervisor)
        raise
    if state is None:
        ended = supervisor.poll() is not None
        what = (
            "ended before its processes were ready" if ended else f"was not ready in {timeout:g} s"
        )
        _end(home, supervisor)
        raise _failed(what, log_tail(log_file, mark))
    # The supervisor outlives this program; an exit code stops Popen's warning.
    supervisor.returncode = 0
    return state


def _await_ready(home: Path, supervisor: Popen[bytes], timeout: float) -> State | None:
    """Return the state once everything is ready, or None if it ends or takes too long."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended = supervisor.poll() is not None
        state = read_state(home)
        if state is not None and state.pid == supervisor.pid:
            if state.failure is not None:
                raise _raised(state.failure)
            if state.status == "ready":
                return state
        if ended:
            return None
        time.sleep(_POLL)
    return None


def _end(home: Path, supervisor: Popen[bytes]) -> None:
    state = read_state(home)
    if state is not None and state.pid == supervisor.pid:
        # Within its time limit, together with its processes.
        stop(home)
    else:
        supervisor.terminate()
    supervisor.wait()


def _raised(failure: Failure) -> RuntimeFailure:
    return RuntimeFailure(
        failure.message, code=failure.code, hint=failure.hint, details=failure.details
    )


def _failed(what: str, tail: list[str]) -> ServerFailed:
    return ServerFailed(
        f"The supervisor {what}",
        hint="Read its last lines, or all of supervisor.log.",
        details={"process": "supervisor", "log_tail": tail},
    )
