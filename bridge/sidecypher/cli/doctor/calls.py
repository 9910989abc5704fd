"""Calls: one through all parts, and those that read the settings of a namespace."""

from datetime import UTC, datetime
from typing import Any, Final

from sidecypher.cli.calling import call_procedure
from sidecypher.cli.doctor.findings import CannotTell, Finding, ok
from sidecypher.cli.doctor.subject import Subject

_NOBODY: Final = "sidecypher-doctor"


def look_at_call(subject: Subject) -> Finding:
    """Make a call from Neo4j to the sidecar and back."""
    if not subject.sidecars:
        raise CannotTell("no sidecar runs", subject.way_to_start)
    found = call_procedure(subject.graph().driver, "sidecypher.info", [])
    told = found.records[0]
    return ok(f"Neo4j reaches the sidecar of process {told['pid']}, version {told['version']}")


def look_at_rules(subject: Subject) -> Finding:
    """Have the `rules` procedures read their settings."""
    _ask(subject, "rules.active", _NOBODY, "global", "", {"now": datetime.now(UTC)})
    return ok("they can be used")


def look_at_runs(subject: Subject) -> Finding:
    """Have the `runs` procedures read their settings."""
    _ask(subject, "runs.list", {"limit": 1})
    return ok("they can be used")


def _ask(subject: Subject, name: str, *values: Any) -> None:
    """Call a procedure that reads the graph: where a sidecar runs, through Neo4j."""
    if subject.sidecars:
        call_procedure(subject.graph().driver, name, values)
    else:
        subject.ask(name, *values)
