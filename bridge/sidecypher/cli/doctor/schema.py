"""The schema in the graph: migrations that are pending, and triggers."""

from sidecypher.cli.doctor.findings import Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher_schema import Drift, find_drift, shipped_scripts

_MIGRATE = "Run `sidecypher migrate`."


def look_at_migrations(subject: Subject) -> Finding:
    """Tell which scripts are pending, and which constraints and indexes are not as they say."""
    found = [each for each in _drift(subject) if each.what != "trigger"]
    if not found:
        return ok(f"all {len(shipped_scripts().migrations)} scripts are applied")
    if all(each.problem == "pending" for each in found):
        return warn(_told(found), _MIGRATE)
    return error(_told(found), "`sidecypher migrate validate` tells more; see docs/migrations.md.")


def look_at_triggers(subject: Subject) -> Finding:
    """Tell which triggers are not in service."""
    found = [each for each in _drift(subject) if each.what == "trigger"]
    if not found:
        return ok(f"all {len(shipped_scripts().triggers)} are in service")
    if any(each.problem == "unavailable" for each in found):
        return warn(
            _told(found),
            "Give Neo4j APOC, with `apoc.trigger.enabled=true` and `apoc.*` unrestricted.",
        )
    return warn(_told(found), _MIGRATE)


def _drift(subject: Subject) -> list[Drift]:
    return find_drift(subject.graph(), shipped_scripts())


def _told(found: list[Drift]) -> str:
    return "; ".join(f"{each.what} `{each.name}` is {each.problem}" for each in found)
