"""Run checks one after the other, each for a bounded time; none of them hides another."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from sidecypher.cli.doctor.findings import CannotTell, Finding, error, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.errors import SidecypherError
from sidecypher.threads import in_thread

CHECK_SECONDS: Final = 30.0
"""Longer than what a check waits for: a process, the sidecar, an import."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at.

    Attributes:
        group: What it belongs to, a heading of the report.
        name: Its name.
        look: Looks at it; it must change nothing.
    """

    group: str
    name: str
    look: Callable[[Subject], Finding]


def examine(
    checks: Iterable[Check], subject: Subject, seconds: float = CHECK_SECONDS
) -> Iterator[tuple[Check, Finding]]:
    """Yield each check with what it has found.

    Args:
        checks: What to look at, in this order.
        subject: Where.
        seconds: How long each of them may take.
    """
    for check in checks:
        yield check, _outcome(check, subject, seconds)


def _outcome(check: Check, subject: Subject, seconds: float) -> Finding:
    looking = in_thread(partial(check.look, subject), f"doctor-{check.name}")
    try:
        failed = looking.exception(seconds)
    except TimeoutError:
        return error(f"no answer within {seconds:g} s", "Look at it by hand; it hangs.")
    match failed:
        case None:
            return looking.result()
        case CannotTell():
            return warn(f"cannot be told: {failed.why}", failed.way_out)
        case SidecypherError():
            return error(f"{failed.message} [{failed.code}]", failed.hint)
        case _:
            # Its text may hold anything.
            return error(
                f"the check itself failed: {type(failed).__name__}", "Report it as a bug, please."
            )
