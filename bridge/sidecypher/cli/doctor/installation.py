"""Checks of the installation: procedures, processes, Neo4j and its schema."""

import fnmatch
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.doctor.machine import compiler_of
from sidecypher.cli.prepare import PLUGIN_FILE
from sidecypher.errors import SidecypherError
from sidecypher.host.rendezvous import Announcement
from sidecypher.protocol.catalogue import Catalogue
from sidecypher.runtime.lockfile import load_lock
from sidecypher.sdk.checks import CannotCheck, Check, Finding
from sidecypher_plugin.builder import CORE_JAR, is_current, read_catalogue, read_inputs
from sidecypher_schema import Drift, Graph, find_drift, shipped_scripts

_REBUILD: Final = "Run `sidecypher restart`: it builds the plugin that fits."


def look_at_modules(context: DoctorContext) -> Finding:
    """Report modules that cannot be loaded, or whose import does something forbidden."""
    loaded = context.loaded
    failed = [f"`{each.module}`: {each.reason}" for each in loaded.failures]
    if failed:
        return Finding.error("; ".join(failed), "Correct them, or remove them from the folder.")
    warned = [f"`{each.module}`: {each.reason}" for each in loaded.warnings]
    if warned:
        return Finding.warn(
            "; ".join(warned), "Correct that, or remove it from the module's top level."
        )
    return Finding.ok(f"{len(loaded.registry)} procedures and functions are found")


def look_at_plugin(context: DoctorContext) -> Finding:
    """Compare the plugin with the procedures of the running sidecar, or else with those found."""
    jar = context.settings.home / "neo4j" / "plugins" / PLUGIN_FILE
    if not jar.exists() and context.settings.neo4j_uri:
        return Finding.ok("there is none in the home; see what Neo4j offers")
    if not jar.exists():
        return Finding.warn("it is not built yet", context.how_to_start)
    try:
        built = read_catalogue(jar)
    except SidecypherError as problem:
        return Finding.error(problem.message, _REBUILD)
    wanted, whose = context.catalogue()
    differing = _differing(built, wanted)
    if differing:
        names = "; ".join(f"{what}: {named(each)}" for what, each in differing.items())
        return Finding.error(f"it was built for other procedures than {whose}: {names}", _REBUILD)
    if built.hash != wanted.hash:
        return Finding.warn(f"it has older descriptions or timeouts than {whose}", _REBUILD)
    if _is_stale(jar, built, context):
        return Finding.warn(
            "it was built by another version of sidecypher or of the compiler", _REBUILD
        )
    return Finding.ok(f"it fits {whose}: {_count(built)}")


def _differing(built: Catalogue, wanted: Catalogue) -> dict[str, list[str]]:
    """Return the names that differ, by the kind of difference."""
    old, new = _signatures(built), _signatures(wanted)
    found = {
        "unknown to it": sorted(new.keys() - old.keys()),
        "gone": sorted(old.keys() - new.keys()),
        "with another signature": sorted(
            name for name in old.keys() & new.keys() if old[name] != new[name]
        ),
    }
    return {what: names for what, names in found.items() if names}


def _signatures(catalogue: Catalogue) -> dict[str, str]:
    # A procedure and a function may have the same name.
    procedures = {each.name: each.signature for each in catalogue.procedures}
    return procedures | {f"{each.name}()": each.signature for each in catalogue.functions}


def _is_stale(jar: Path, built: Catalogue, context: DoctorContext) -> bool:
    try:
        compiler = compiler_of(context)
        return not is_current(jar, read_inputs(built, core_jar=CORE_JAR, compiler=compiler))
    except (CannotCheck, SidecypherError):
        # Without a compiler or a core there is nothing to compare; other checks report that.
        return False


def _count(catalogue: Catalogue) -> str:
    return f"{len(catalogue.procedures)} procedures and {len(catalogue.functions)} functions"


def look_at_processes(context: DoctorContext) -> Finding:
    """Report whether the supervisor and its processes are running, and their restarts."""
    state = context.state
    if context.settings.neo4j_uri and not context.runs:
        return Finding.ok("there is none; Neo4j is the one that `neo4j_uri` names")
    if state is None:
        return Finding.warn("nothing was started in this home yet", context.how_to_start)
    if not state.alive:
        left = [each.name for each in state.orphans]
        if left:
            return Finding.error(
                f"the supervisor was killed, and {', '.join(left)} went on without it",
                "Run `sidecypher up`: it stops them and starts everything.",
            )
        return Finding.warn("nothing runs", context.how_to_start)
    down = [each.name for each in state.processes if not each.alive]
    if down or state.status != "ready":
        what = f"not running: {', '.join(down)}" if down else f"the supervisor is {state.status}"
        return Finding.error(what, "Read the end of its log in `logs` of the home.")
    found = ", ".join(f"{each.name} ({each.pid})" for each in state.processes)
    restarted = [f"{each.name} {each.restarts} times" for each in state.processes if each.restarts]
    if restarted:
        return Finding.warn(
            f"{found}; restarted: {', '.join(restarted)}",
            "Read in `logs` of the home why it ended.",
        )
    return Finding.ok(found)


def look_at_sidecars(context: DoctorContext) -> Finding:
    """Report whether each sidecar is ready, and the health of its shared objects."""
    if not context.sidecars:
        return Finding.warn("no sidecar runs", context.how_to_start)
    problems = [
        f"process {each.pid}: {problem}"
        for each in context.sidecars
        for problem in _problems(context, each)
    ]
    if problems:
        return Finding.error(
            "; ".join(problems), "Read the end of its log; restart it if it stays so."
        )
    count = len(context.sidecars)
    return Finding.ok("1 is ready" if count == 1 else f"{count} are ready")


def _problems(context: DoctorContext, sidecar: Announcement) -> list[str]:
    ready = context.get(sidecar, "/readyz?verbose")
    if not ready.is_success:
        return [line for line in ready.text.splitlines() if line.startswith("[-]")]
    if sidecar.left_out:
        return [f"`{module}` is left out" for module in sidecar.left_out]
    if sidecar != context.sidecars[0]:
        return []
    try:
        rows = context.call("sidecypher.health")
    except SidecypherError as error:
        return [error.message]
    return [f"{row['check']}: {row['problem']}" for row in rows if not row["ok"]]


_ALLOW_LIST: Final = "dbms.security.procedures.allowlist"
_CLOCK_SECONDS: Final = 2.0


def look_at_ray(context: DoctorContext) -> Finding:
    """Report a Ray cluster that procedures need and that cannot be used."""
    if not context.sidecars:
        raise CannotCheck("no sidecar runs", context.how_to_start)
    [row] = context.call("sidecypher.cluster")
    if not row["procedures"]:
        return Finding.ok("no procedure runs on a Ray cluster")
    needed = f"{row['procedures']} procedures need one"
    if row["address"] is None:
        return Finding.warn(f"{needed}, and none is set", "Set `ray_address`.")
    if row["problem"] is not None:
        return Finding.error(row["problem"], "Start it, or correct `ray_address`; see its log.")
    if not row["nodes"]:
        return Finding.ok("it is not connected yet")
    return Finding.ok(f"{row['nodes']} nodes with {row['cpus']:g} CPUs")


def look_at_server(context: DoctorContext) -> Finding:
    """Report version and edition of Neo4j."""
    try:
        server = context.graph().server()
    except CannotCheck as unknown:
        if context.settings.neo4j_uri or context.runs:
            return Finding.error(unknown.why, unknown.fix)
        raise
    whose = "named by `neo4j_uri`" if context.settings.neo4j_uri else "the embedded one"
    found = f"Neo4j {server.version} {server.edition}, {whose}"
    tested = [load_lock(lane).neo4j for lane in ("lts", "current")]
    if _release(server.version) not in map(_release, tested):
        return Finding.warn(f"{found}; it is not tested", f"Tested are {' and '.join(tested)}.")
    return Finding.ok(found)


def look_at_apoc(context: DoctorContext) -> Finding:
    """Report whether APOC is installed, in the version of Neo4j."""
    graph = context.graph()
    if not graph.run("SHOW FUNCTIONS YIELD name WHERE name = 'apoc.version' RETURN name"):
        return Finding.warn(
            "it is not there, so no trigger guards the graph",
            "Put APOC core for this version of Neo4j into its `plugins`, and restart it.",
        )
    version = graph.run("RETURN apoc.version() AS version")[0]["version"]
    if _release(version) != _release(graph.server().version):
        return Finding.error(
            f"{version} is for another Neo4j", "Install the APOC of Neo4j's version."
        )
    return Finding.ok(version)


def look_at_offered(context: DoctorContext) -> Finding:
    """Report procedures and functions that Neo4j does not offer, or an allow-list hides."""
    graph = context.graph()
    catalogue, _ = context.catalogue()
    wanted = [each.name for each in catalogue.procedures]
    wanted += [each.name for each in catalogue.functions]
    offered = _names(graph, "PROCEDURES") | _names(graph, "FUNCTIONS")
    missing = sorted(set(wanted) - offered)
    if not missing:
        return Finding.ok(f"all {len(wanted)} of them")
    allowed = graph.run(
        "SHOW SETTINGS YIELD name, value WHERE name = $name RETURN value", {"name": _ALLOW_LIST}
    )
    hidden = hidden_by(allowed[0]["value"] if allowed else "*", missing)
    if hidden:
        spaces = ",".join(sorted({f"{name.partition('.')[0]}.*" for name in hidden}))
        return Finding.error(
            f"`{_ALLOW_LIST}` hides {named(hidden)}",
            f"Add `{spaces}` to that line of neo4j.conf, and restart Neo4j{context.see_also}.",
        )
    return Finding.error(
        f"Neo4j does not offer {named(missing)}",
        f"Restart Neo4j with the plugin of these procedures in its `plugins`{context.see_also}.",
    )


def look_at_clock(context: DoctorContext) -> Finding:
    """Compare the clock of this machine with Neo4j's."""
    graph = context.graph()
    before = datetime.now(UTC)
    theirs = graph.run("RETURN datetime.realtime().epochMillis AS now")[0]["now"] / 1000
    after = datetime.now(UTC)
    # The query's own duration is not clock skew.
    ahead = max(before.timestamp() - theirs, min(0.0, after.timestamp() - theirs))
    if abs(ahead) > _CLOCK_SECONDS:
        way = "ahead of" if ahead > 0 else "behind"
        return Finding.warn(
            f"this machine's clock is {abs(ahead):.0f} s {way} Neo4j's",
            "Synchronise both with NTP: the graph contains times of both clocks.",
        )
    return Finding.ok("that of this machine agrees with Neo4j's")


def hidden_by(allow_list: str, names: Iterable[str]) -> list[str]:
    """Return the names that an allow-list of Neo4j does not match.

    Example:
        >>> hidden_by("apoc.*, github.getIssue", ["github.getIssue", "rules.add"])
        ['rules.add']
    """
    patterns = [each.strip() for each in allow_list.split(",")]
    return [name for name in names if not any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def _names(graph: Graph, what: str) -> set[str]:
    return {row["name"] for row in graph.run(f"SHOW {what} YIELD name RETURN name")}


def _release(version: str) -> Collection[str]:
    """Return the first two numbers of a version."""
    return re.findall(r"\d+", version)[:2]


def look_at_call(context: DoctorContext) -> Finding:
    """Make a call from Neo4j to the sidecar and back."""
    if not context.sidecars:
        raise CannotCheck("no sidecar runs", context.how_to_start)
    [row] = context.call_in_neo4j("sidecypher.info")
    return Finding.ok(
        f"Neo4j reaches the sidecar of process {row['pid']}, version {row['version']}"
    )


_MIGRATE = "Run `sidecypher migrate`."


def look_at_migrations(context: DoctorContext) -> Finding:
    """Report pending scripts, and constraints and indexes that differ from their scripts."""
    found = [each for each in _drift(context) if each.what != "trigger"]
    if not found:
        return Finding.ok(f"all {len(shipped_scripts().migrations)} scripts are applied")
    if all(each.problem == "pending" for each in found):
        return Finding.warn(_problems_of(found), _MIGRATE)
    return Finding.error(
        _problems_of(found), "`sidecypher migrate validate` shows more; see docs/migrations.md."
    )


def look_at_triggers(context: DoctorContext) -> Finding:
    """Report triggers that are not in service."""
    found = [each for each in _drift(context) if each.what == "trigger"]
    if not found:
        return Finding.ok(f"all {len(shipped_scripts().triggers)} are in service")
    if any(each.problem == "unavailable" for each in found):
        return Finding.warn(
            _problems_of(found),
            "Give Neo4j APOC, with `apoc.trigger.enabled=true` and `apoc.*` unrestricted.",
        )
    return Finding.warn(_problems_of(found), _MIGRATE)


def _drift(context: DoctorContext) -> list[Drift]:
    return find_drift(context.graph(), shipped_scripts())


def _problems_of(found: list[Drift]) -> str:
    return "; ".join(f"{each.what} `{each.name}` is {each.problem}" for each in found)


def named(names: list[str], most: int = 5) -> str:
    """Join names for a message, with a count instead of names after the first few.

    Example:
        >>> named(["a", "b", "c"], most=2)
        '`a`, `b` and 1 more'
    """
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


CHECKS: Final = (
    Check("Procedures", "modules", look_at_modules),
    Check("Procedures", "plugin", look_at_plugin),
    Check("Processes", "supervisor", look_at_processes),
    Check("Processes", "sidecars", look_at_sidecars),
    Check("Processes", "ray", look_at_ray),
    Check("Neo4j", "version", look_at_server),
    Check("Neo4j", "APOC", look_at_apoc),
    Check("Neo4j", "offered", look_at_offered),
    Check("Neo4j", "call", look_at_call),
    Check("Neo4j", "clock", look_at_clock),
    Check("Schema", "migrations", look_at_migrations),
    Check("Schema", "triggers", look_at_triggers),
)
