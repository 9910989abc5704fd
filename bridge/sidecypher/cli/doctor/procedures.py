"""Procedures: whether their modules load, and whether the plugin offers these very ones."""

from pathlib import Path
from typing import Final

from sidecypher.catalogue import Catalogue
from sidecypher.cli.doctor.findings import CannotTell, Finding, error, named, ok, warn
from sidecypher.cli.doctor.java import compiler_of
from sidecypher.cli.doctor.subject import Subject
from sidecypher.cli.prepare import PLUGIN_FILE
from sidecypher.errors import SidecypherError
from sidecypher_plugin.builder import CORE_JAR, is_current, read_catalogue, read_inputs

_REBUILD: Final = "Run `sidecypher down`, then `sidecypher up`: it builds the plugin that fits."


def look_at_modules(subject: Subject) -> Finding:
    """Tell which modules of procedures cannot be loaded, or do what a module must not."""
    loaded = subject.loaded
    failed = [f"`{each.module}`: {each.reason}" for each in loaded.failures]
    if failed:
        return error("; ".join(failed), "Correct them, or take them out of the folder.")
    warned = [f"`{each.module}`: {each.what}" for each in loaded.warnings]
    if warned:
        return warn("; ".join(warned), "Correct that, or take it out of the module's top level.")
    return ok(f"{len(loaded.registry)} procedures and functions are found")


def look_at_plugin(subject: Subject) -> Finding:
    """Compare the plugin with the procedures of the sidecar that runs, or else with those found."""
    jar = subject.settings.home / "neo4j" / "plugins" / PLUGIN_FILE
    if not jar.exists() and subject.settings.neo4j_uri:
        return ok("there is none in the home; see what Neo4j offers")
    if not jar.exists():
        return warn("it is not built yet", subject.way_to_start)
    try:
        built = read_catalogue(jar)
    except SidecypherError as problem:
        return error(problem.message, _REBUILD)
    wanted, whose = subject.catalogue()
    differing = _differing(built, wanted)
    if differing:
        names = "; ".join(f"{what}: {named(each)}" for what, each in differing.items())
        return error(f"it was built for others than {whose}: {names}", _REBUILD)
    if built.hash != wanted.hash:
        return warn(f"it has older descriptions or timeouts than {whose}", _REBUILD)
    if _is_stale(jar, built, subject):
        return warn("it was built by another version of sidecypher or of the compiler", _REBUILD)
    return ok(f"it fits {whose}: {_count(built)}")


def _differing(built: Catalogue, wanted: Catalogue) -> dict[str, list[str]]:
    """Return names by what calls of them meet."""
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
    # A procedure and a function may have one name.
    procedures = {each.name: each.signature for each in catalogue.procedures}
    return procedures | {f"{each.name}()": each.signature for each in catalogue.functions}


def _is_stale(jar: Path, built: Catalogue, subject: Subject) -> bool:
    try:
        compiler = compiler_of(subject)
        return not is_current(jar, read_inputs(built, core_jar=CORE_JAR, compiler=compiler))
    except (CannotTell, SidecypherError):
        # Without a compiler or a core there is nothing to compare with; others tell that.
        return False


def _count(catalogue: Catalogue) -> str:
    return f"{len(catalogue.procedures)} procedures and {len(catalogue.functions)} functions"
