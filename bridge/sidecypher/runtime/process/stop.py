"""Stop a home from outside, also after its supervisor was killed."""

from pathlib import Path

from sidecypher.runtime.process.spec import end_process
from sidecypher.runtime.process.state import State, find_process, read_state

_ORPHAN_GRACE = 10.0  # seconds


def stop(home: Path, *, grace: float = 40.0) -> bool:
    """Stop the supervisor of a home and whatever it has left running.

    Args:
        home: The home.
        grace: Seconds the supervisor has to stop its processes before it is killed.

    Returns:
        Whether anything was running.

    Example:
        >>> stop(Path("/nonexistent"))
        False
    """
    state = read_state(home)
    if state is None:
        return False
    supervisor = find_process(state.pid, state.create_time)
    if supervisor is not None:
        end_process(supervisor, grace)
    return stop_orphans(read_state(home)) or supervisor is not None


def stop_orphans(state: State | None) -> bool:
    """Stop the processes that outlived their supervisor, the last started first.

    Returns:
        Whether there were any.
    """
    found = False
    for orphan in reversed(state.orphans if state else ()):
        process = find_process(orphan.pid, orphan.create_time)
        if process is not None:
            end_process(process, _ORPHAN_GRACE)
            found = True
    return found
