"""Neo4j: its version, APOC, what it offers of the plugin, and its clock."""

import fnmatch
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Final

from sidecypher.cli.doctor.findings import CannotTell, Finding, error, named, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.runtime import load_lock
from sidecypher_schema import Graph

_ALLOW_LIST: Final = "dbms.security.procedures.allowlist"
_CLOCK_SECONDS: Final = 2.0


def look_at_server(subject: Subject) -> Finding:
    """Tell version and edition of Neo4j."""
    try:
        server = subject.graph().server()
    except CannotTell as unknown:
        if subject.settings.neo4j_uri or subject.runs:
            return error(unknown.why, unknown.way_out)
        raise
    whose = "named by `neo4j_uri`" if subject.settings.neo4j_uri else "the embedded one"
    told = f"Neo4j {server.version} {server.edition}, {whose}"
    tested = [load_lock(lane).neo4j for lane in ("lts", "current")]
    if _release(server.version) not in map(_release, tested):
        return warn(f"{told}; it is not tested", f"Tested are {' and '.join(tested)}.")
    return ok(told)


def look_at_apoc(subject: Subject) -> Finding:
    """Tell whether APOC is there, in the version of Neo4j."""
    graph = subject.graph()
    if not graph.run("SHOW FUNCTIONS YIELD name WHERE name = 'apoc.version' RETURN name"):
        return warn(
            "it is not there, so no trigger guards the graph",
            "Put APOC core for this version of Neo4j into its `plugins`, and restart it.",
        )
    version = graph.run("RETURN apoc.version() AS version")[0]["version"]
    if _release(version) != _release(graph.server().version):
        return error(f"{version} is for another Neo4j", "Install the APOC of Neo4j's version.")
    return ok(version)


def look_at_offered(subject: Subject) -> Finding:
    """Tell whether Neo4j offers every procedure and function, or an allow-list hides some."""
    graph = subject.graph()
    catalogue, _ = subject.catalogue()
    wanted = [each.name for each in catalogue.procedures]
    wanted += [each.name for each in catalogue.functions]
    offered = _names(graph, "PROCEDURES") | _names(graph, "FUNCTIONS")
    missing = sorted(set(wanted) - offered)
    if not missing:
        return ok(f"all {len(wanted)} of them")
    allowed = graph.run(
        "SHOW SETTINGS YIELD name, value WHERE name = $name RETURN value", {"name": _ALLOW_LIST}
    )
    hidden = hidden_by(allowed[0]["value"] if allowed else "*", missing)
    if hidden:
        spaces = ",".join(sorted({f"{name.partition('.')[0]}.*" for name in hidden}))
        return error(
            f"`{_ALLOW_LIST}` hides {named(hidden)}",
            f"Add `{spaces}` to that line of neo4j.conf, and restart Neo4j.",
        )
    return error(
        f"Neo4j does not offer {named(missing)}",
        "Restart Neo4j with the plugin of these procedures in its `plugins`.",
    )


def look_at_clock(subject: Subject) -> Finding:
    """Compare the clock of this machine with Neo4j's."""
    graph = subject.graph()
    before = datetime.now(UTC)
    told = graph.run("RETURN datetime.realtime().epochMillis AS now")[0]["now"] / 1000
    after = datetime.now(UTC)
    # What the question took is no difference of the clocks.
    ahead = max(before.timestamp() - told, min(0.0, after.timestamp() - told))
    if abs(ahead) > _CLOCK_SECONDS:
        way = "ahead of" if ahead > 0 else "behind"
        return warn(
            f"this machine's clock is {abs(ahead):.0f} s {way} Neo4j's",
            "Have both set by NTP: times of rules and runs come from either.",
        )
    return ok("that of this machine agrees with Neo4j's")


def hidden_by(allow_list: str, names: Iterable[str]) -> list[str]:
    """Return the names that an allow-list of Neo4j does not have.

    Example:
        >>> hidden_by("apoc.*, github.getIssue", ["github.getIssue", "rules.add"])
        ['rules.add']
    """
    patterns = [each.strip() for each in allow_list.split(",")]
    return [name for name in names if not any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def _names(graph: Graph, what: str) -> set[str]:
    return {row["name"] for row in graph.run(f"SHOW {what} YIELD name RETURN name")}


def _release(version: str) -> Collection[str]:
    """Return year or major, and minor, of a version."""
    return re.findall(r"\d+", version)[:2]
