"""Functions that stop a home from outside, also after its supervisor was killed."""

from pathlib import Path
from typing import Final

from sidecypher.runtime.process.spec import end_processes
from sidecypher.runtime.process.state import State, find_process, read_state

_MARGIN_SECONDS: Final = 5.0


def stop(home: Path) -> bool:
    """Stop the supervisor of a home and its processes that are still running.

    The supervisor is killed if it takes longer than the graces of its processes allow.

    Returns:
        Whether anything was running.

    Example:
        >>> stop(Path("/nonexistent"))
        False
    """
    state = read_state(home)
    if state is None:
        return False
    supervisor = find_process(state.pid, state.start)
    if supervisor is not None:
        end_processes({supervisor: state.stop_seconds + _MARGIN_SECONDS})
    return stop_orphans(read_state(home)) or supervisor is not None


def stop_orphans(state: State | None) -> bool:
    """Stop the processes that outlived their supervisor, in the supervisor's own order.

    Returns:
        Whether there were any.
    """
    any_ran = False
    for stops_last in (False, True):
        found = {
            process: orphan
            for orphan in (state.orphans if state else ())
            if orphan.stops_last is stops_last
            and (process := find_process(orphan.pid, orphan.start)) is not None
        }
        end_processes(
            {process: orphan.stop_grace for process, orphan in found.items()},
            asked=[process for process, orphan in found.items() if orphan.status == "stopping"],
        )
        any_ran |= bool(found)
    return any_ran
