"""Java: which one runs Neo4j, and which one compiles the plugin."""

from functools import partial
from pathlib import Path

from sidecypher.cli.doctor.findings import CannotTell, Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.cli.prepare import find_compiler
from sidecypher.runtime import Installation, Java, load_compiler_lock, load_lock, way_to_java
from sidecypher.settings import Settings
from sidecypher_plugin.compiler import Compiler

_LANES = ("lts", "current")


def look_at_java(subject: Subject) -> Finding:
    """Tell every Java that is found, and which of them each lane takes."""
    lane = load_lock(subject.settings.lane)
    taken = {each: subject.javas.first(load_lock(each).java) for each in _LANES}
    if taken[lane.lane] is None:
        wanted = " or ".join(map(str, lane.java))
        there = ", ".join(map(_shown, subject.javas)) or "none"
        # Whoever has a Neo4j of their own needs none.
        state = warn if subject.settings.neo4j_uri else error
        return state(
            f"the lane `{lane.lane}` needs Java {wanted}; found: {there}", way_to_java(lane.java)
        )
    told = "; ".join(_lane(each, java) for each, java in taken.items())
    others = [_shown(java) for java in subject.javas if java not in taken.values()]
    return ok(told + (f"; also found: {', '.join(others)}" if others else ""))


def look_at_compiler(subject: Subject) -> Finding:
    """Tell which compiler builds the plugin."""
    try:
        found = compiler_of(subject)
    except CannotTell as missing:
        return warn(missing.why, missing.way_out)
    return ok(f"`{found.name}` of {_short(Path(found.command[0]).parent.parent)}")


def compiler_of(subject: Subject) -> Compiler:
    """Return the compiler that would build the plugin now.

    Raises:
        CannotTell: There is none on this machine yet, or nothing builds a plugin here.
    """
    settings = subject.settings
    java = subject.javas.first(load_lock(settings.lane).java)
    if java is None:
        raise CannotTell(
            f"without a Java for the lane `{settings.lane}` no plugin is built here",
            "See what is said of `java`.",
        )
    return find_compiler(subject.javas, java, partial(_fetched, settings))


def _fetched(settings: Settings) -> Path:
    [jar] = Installation(load_compiler_lock(), settings.cache_dir).jars("compiler")
    if not jar.exists():
        raise CannotTell(
            "no JDK has one, and Eclipse's is not fetched yet",
            "It is fetched when a plugin is built; that needs the network once.",
        )
    return jar


def _lane(lane: str, java: Java | None) -> str:
    if java is None:
        wanted = " or ".join(map(str, load_lock(lane).java))
        return f"`{lane}` has none, it needs {wanted}"
    return f"`{lane}` takes {_shown(java)}, the first that fits"


def _shown(java: Java) -> str:
    return f"{java.version} ({_short(java.home)})"


def _short(folder: Path) -> str:
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
