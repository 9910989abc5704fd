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
from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.options import AsJson, Config, Database, Home, Lane, Procedures
from sidecypher.cli.output import results, results_alone, show_json
from sidecypher.errors import SidecypherError
from sidecypher.host.threads import in_thread
from sidecypher.sdk.checks import CannotCheck, Check, Finding
from sidecypher.telemetry.calls import configure_logging

ENTRY_POINT_GROUP: Final = "sidecypher.checks"
"""Entry points for checks of packages: each an iterable of `Check`."""

CHECK_SECONDS: Final = 30.0
"""Longer than all timeouts of checks: for a process, the sidecar or an import."""

Found = tuple[Check, Finding]

_STYLES: Final = {"OK": "green", "WARN": "yellow", "ERROR": "bold red"}
_NAME_WIDTH: Final = 15


def doctor(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    lane: Lane = None,
    database: Database = None,
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
    # Loading a module of procedures must not write bytecode next to it.
    sys.dont_write_bytecode = True
    # The report shows failures; the log would print them again.
    configure_logging("ERROR", "console")
    flags = {"home": home, "procedures": procedures, "lane": lane, "neo4j_database": database}
    with DoctorContext(flags, os.environ, config) as context:
        found = examine(all_checks(), context)
        if as_json:
            with results_alone():
                shown = list(found)
            show_json(facts_of(shown))
        else:
            shown = show(found)
    if not has_no_errors(shown):
        raise typer.Exit(1)


def all_checks() -> tuple[Check, ...]:
    """Return the checks in the order of the report: sidecypher's own, then those of packages."""
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return (*machine.CHECKS, *installation.CHECKS, *chain.from_iterable(map(_loaded, points)))


def _loaded(point: EntryPoint) -> tuple[Check, ...]:
    try:
        return tuple(point.load())
    # The import of a package may do anything.
    except Exception as error:  # noqa: BLE001
        reason = f"the checks of `{point.name}` cannot be loaded: {type(error).__name__}"
        finding = Finding.error(reason, f"Correct or uninstall the package of `{point.value}`.")
        return (Check("Checks", point.name, lambda _: finding),)


def examine(
    checks: Iterable[Check], context: DoctorContext, seconds: float = CHECK_SECONDS
) -> Iterator[tuple[Check, Finding]]:
    """Yield each check with its finding; each may take `seconds`."""
    for check in checks:
        yield check, _outcome(check, context, seconds)


def _outcome(check: Check, context: DoctorContext, seconds: float) -> Finding:
    looking = in_thread(partial(check.look, context), f"doctor-{check.name}")
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
        case PermissionError():
            return Finding.error(
                "this account may not read a file of the installation",
                "Run `sidecypher doctor` as the account that runs the sidecar.",
            )
        case _:
            # The error's text may contain secrets.
            return Finding.error(
                f"the check itself failed: {type(failed).__name__}", "Report it as a bug, please."
            )


def show(found: Iterable[Found]) -> list[Found]:
    """Print each finding as soon as it is available, then the number of each state."""
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
    """Return the facts that `--json` prints."""
    return {
        "ok": has_no_errors(found),
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


def has_no_errors(found: Iterable[Found]) -> bool:
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
