"""`sidecypher doctor`: run the checks one after the other, and change nothing."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Any, Final

import typer
from rich.text import Text

from sidecypher.cli.doctor import installation, machine
from sidecypher.cli.doctor.subject import Subject
from sidecypher.cli.options import AsJson, Config, Home, Lane, Procedures
from sidecypher.cli.output import results, results_alone, show_json
from sidecypher.errors import SidecypherError
from sidecypher.host.threads import in_thread
from sidecypher.sdk.checks import CannotCheck, Check, Finding
from sidecypher.telemetry.calls import configure_logging

ENTRY_POINT_GROUP: Final = "sidecypher.checks"
"""Where packages name their checks: any iterable of `Check`."""

CHECK_SECONDS: Final = 30.0
"""Longer than what a check waits for: a process, the sidecar, an import."""

Found = tuple[Check, Finding]

_STYLES: Final = {"OK": "green", "WARN": "yellow", "ERROR": "bold red"}
_NAME_WIDTH: Final = 15


def doctor(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    lane: Lane = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation and suggest fixes.

    The exit code is 1 if there is an error. Nothing is changed. [doctor.md](doctor.md) has every
    check.

    ```sh
    sidecypher doctor
    sidecypher doctor --home /tmp/second --json
    ```
    """
    # To load a module of procedures leaves nothing beside it.
    sys.dont_write_bytecode = True
    # The report has what fails; the log would print it again.
    configure_logging("ERROR", "console")
    flags = {"home": home, "procedures": procedures, "lane": lane}
    with Subject(flags, os.environ, config) as subject:
        found = examine(all_checks(), subject)
        if as_json:
            with results_alone():
                shown = list(found)
            show_json(facts_of(shown))
        else:
            shown = show(found)
    if not is_well(shown):
        raise typer.Exit(1)


def all_checks() -> tuple[Check, ...]:
    """Return the checks in the order of the report: sidecypher's own, then those of packages."""
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return (*machine.CHECKS, *installation.CHECKS, *chain.from_iterable(map(_loaded, points)))


def _loaded(point: EntryPoint) -> tuple[Check, ...]:
    try:
        return tuple(point.load())
    # A package is another author's, and its import may do anything.
    except Exception as error:  # noqa: BLE001
        reason = f"the checks of `{point.name}` cannot be loaded: {type(error).__name__}"
        finding = Finding.error(reason, f"Correct or uninstall the package of `{point.value}`.")
        return (Check("Checks", point.name, lambda _: finding),)


def examine(
    checks: Iterable[Check], subject: Subject, seconds: float = CHECK_SECONDS
) -> Iterator[tuple[Check, Finding]]:
    """Yield each check with what it has found; each may take `seconds`."""
    for check in checks:
        yield check, _outcome(check, subject, seconds)


def _outcome(check: Check, subject: Subject, seconds: float) -> Finding:
    looking = in_thread(partial(check.look, subject), f"doctor-{check.name}")
    try:
        failed = looking.exception(seconds)
    except TimeoutError:
        return Finding.error(f"no answer within {seconds:g} s", "Look at it yourself: it hangs.")
    match failed:
        case None:
            return looking.result()
        case CannotCheck():
            return Finding.warn(f"could not check: {failed.why}", failed.fix)
        case SidecypherError():
            return Finding.error(f"{failed.message} [{failed.code}]", failed.hint)
        case _:
            # The error's text may contain secrets.
            return Finding.error(
                f"the check itself failed: {type(failed).__name__}", "Report it as a bug, please."
            )


def show(found: Iterable[Found]) -> list[Found]:
    """Print each finding as soon as it is there, then how many there are of each state."""
    shown: list[Found] = []
    for check, finding in found:
        if not shown or shown[-1][0].group != check.group:
            results.print(Text(check.group, style="bold"))
        for line in _lines(check, finding):
            results.print(line, soft_wrap=True)
        shown.append((check, finding))
    results.print(_summary(shown), highlight=False)
    return shown


def facts_of(found: Sequence[Found]) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "ok": is_well(found),
        "counts": _counts(found),
        "checks": [
            {
                "group": check.group,
                "name": check.name,
                "state": finding.state,
                "found": finding.found,
                "fix": finding.fix,
            }
            for check, finding in found
        ],
    }


def is_well(found: Iterable[Found]) -> bool:
    """Return whether nothing is an error."""
    return all(finding.state != "ERROR" for _, finding in found)


def _lines(check: Check, finding: Finding) -> Iterator[Text]:
    state = (f"  {finding.state:5}", _STYLES[finding.state])
    yield Text.assemble(state, f"  {check.name:{_NAME_WIDTH}}  {finding.found}")
    if finding.fix:
        yield Text(f"{'':{_NAME_WIDTH + 11}}{finding.fix}")


def _counts(found: Iterable[Found]) -> dict[str, int]:
    counted = Counter(finding.state for _, finding in found)
    return {state: counted[state] for state in ("OK", "WARN", "ERROR")}


def _summary(found: Sequence[Found]) -> str:
    counts = ", ".join(f"{count} {state}" for state, count in _counts(found).items())
    return f"{len(found)} checks: {counts}"
