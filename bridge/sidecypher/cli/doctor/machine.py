"""This machine: settings, Java, disks, memory, ports and files with secrets."""

import os
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import psutil
from cryptography import x509

from sidecypher.cli.doctor.subject import Subject
from sidecypher.cli.prepare import find_compiler
from sidecypher.host.address import LOOPBACK
from sidecypher.host.settings import PREFIX, Settings
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java, way_to_java
from sidecypher.runtime.lockfile import load_compiler_lock, load_lock
from sidecypher.sdk.checks import CannotCheck, Check, Finding
from sidecypher_plugin.compiler import Compiler


def look_at_settings(subject: Subject) -> Finding:
    """Tell every setting that is misspelt or cannot be used; the others count meanwhile."""
    if subject.wrong:
        told = "; ".join(wrong.message for wrong in subject.wrong)
        hints = dict.fromkeys(wrong.hint for wrong in subject.wrong if wrong.hint)
        return Finding.error(told, " ".join(hints) or "Correct it.")
    given = sorted(subject.settings.model_fields_set)
    return Finding.ok(f"set: {', '.join(given)}" if given else "all have their defaults")


_LANES = ("lts", "current")


def look_at_java(subject: Subject) -> Finding:
    """Tell every Java that is found, and which of them each lane takes."""
    lane = load_lock(subject.settings.lane)
    taken = {each: subject.javas.first(load_lock(each).java) for each in _LANES}
    if taken[lane.lane] is None:
        wanted = " or ".join(map(str, lane.java))
        there = ", ".join(map(_shown, subject.javas)) or "none"
        # Java is optional if `neo4j_uri` names another Neo4j.
        state = Finding.warn if subject.settings.neo4j_uri else Finding.error
        return state(
            f"the lane `{lane.lane}` needs Java {wanted}; found: {there}", way_to_java(lane.java)
        )
    told = "; ".join(_lane(each, java) for each, java in taken.items())
    others = [_shown(java) for java in subject.javas if java not in taken.values()]
    return Finding.ok(told + (f"; also found: {', '.join(others)}" if others else ""))


def look_at_compiler(subject: Subject) -> Finding:
    """Tell which compiler builds the plugin."""
    try:
        found = compiler_of(subject)
    except CannotCheck as missing:
        return Finding.warn(missing.why, missing.fix)
    return Finding.ok(f"`{found.name}` of {_short(Path(found.command[0]).parent.parent)}")


def compiler_of(subject: Subject) -> Compiler:
    """Return the compiler that would build the plugin now.

    Raises:
        CannotCheck: There is none on this machine yet, or nothing builds a plugin here.
    """
    settings = subject.settings
    java = subject.javas.first(load_lock(settings.lane).java)
    if java is None:
        raise CannotCheck(
            f"without a Java for the lane `{settings.lane}` no plugin is built here",
            "See what is said of `java`.",
        )
    return find_compiler(subject.javas, java, partial(_fetched, settings))


def _fetched(settings: Settings) -> Path:
    [jar] = Installation(load_compiler_lock(), settings.cache_dir).jars("compiler")
    if not jar.exists():
        raise CannotCheck(
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


_MIB: Final = 2**20
_LEAST_DISK: Final = 200 * _MIB
"""A graph that is filled grows by more in a minute; below this Neo4j soon cannot write its log."""

_ENOUGH_DISK: Final = 2048 * _MIB
_START_MEMORY: Final = 1024 * _MIB
"""What Neo4j's heap and page cache, its own code, and a sidecar take together."""

_SPARE_MEMORY: Final = 256 * _MIB


def look_at_home(subject: Subject) -> Finding:
    """Tell whether the home can be written, and how much room it has."""
    return _room(subject.settings.home, "home", "Set SIDECYPHER_HOME or `--home` to another one.")


def look_at_cache(subject: Subject) -> Finding:
    """Tell whether the cache of jars can be written, and how much room it has."""
    return _room(subject.settings.cache_dir, "cache", "Set SIDECYPHER_CACHE_DIR to another one.")


def look_at_memory(subject: Subject) -> Finding:
    """Tell how much memory is free, for a start or beside what runs."""
    free = psutil.virtual_memory().available
    wanted = _SPARE_MEMORY if subject.runs else _START_MEMORY
    told = f"{free // _MIB} MiB are free"
    if free < wanted:
        purpose = "beside what runs" if subject.runs else "for Neo4j and a sidecar"
        return Finding.warn(
            f"{told}, {wanted // _MIB} MiB are wanted {purpose}", "End other programs."
        )
    return Finding.ok(told)


def _room(folder: Path, name: str, fix: str) -> Finding:
    # The folder itself may not be there yet.
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        return Finding.error(f"the {name} is below a file, so it cannot be made", fix)
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding.error(f"the {name} cannot be written", fix)
    free = shutil.disk_usage(there).free
    told = f"{free // _MIB} MiB are free" + ("" if there == folder else "; it is not made yet")
    if free < _LEAST_DISK:
        return Finding.error(told, f"Make room on its disk. {fix}")
    if free < _ENOUGH_DISK:
        return Finding.warn(told, f"Make room on its disk. {fix}")
    return Finding.ok(told)


def look_at_ports(subject: Subject) -> Finding:
    """Tell whether the ports that are asked for are free; of own programs also which has them."""
    if subject.runs:
        return Finding.ok("they are those of what runs in this home")
    own = {port for each in subject.sidecars for port in (each.port, each.http)}
    asked_for = [(use, port) for use, port in _asked_for(subject) if port not in own]
    taken = [f"{port} for {use} is taken{_by(port)}" for use, port in asked_for if _is_taken(port)]
    if taken:
        return Finding.error(
            "; ".join(taken), "Stop that program, set another port, or 0 for a free one."
        )
    if not asked_for:
        return Finding.ok(
            "no other is asked for" if own else "none is asked for; a start takes free ones"
        )
    return Finding.ok(", ".join(f"{port} for {use} is free" for use, port in asked_for))


def _asked_for(subject: Subject) -> Iterator[tuple[str, int]]:
    settings = subject.settings
    uses = {
        "Bolt": settings.bolt_port,
        "Neo4j's HTTP": settings.browser_port,
        "the plugin": settings.port,
        "the sidecar's HTTP": settings.http_port,
    }
    return ((use, port) for use, port in uses.items() if port)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As Java does it: connections that are still closing do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def _by(port: int) -> str:
    """Name the program that listens, if it is one of this user's."""
    for process in psutil.process_iter():
        # Processes of others may not be looked into, and any may end meanwhile.
        with suppress(psutil.Error):
            if any(
                each.laddr.port == port and each.status == psutil.CONN_LISTEN
                for each in process.net_connections("tcp")
            ):
                return f" by `{process.name()}`, process {process.pid}"
    return " by a program of another user"


_SOON: Final = timedelta(days=30)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_RENEW: Final = (
    "Delete `certificate.pem` and `key.pem` in the run folder and restart all its sidecars."
)


def look_at_private_files(subject: Subject) -> Finding:
    """Tell whether files with secrets, and the run folder, are for their owner alone."""
    own = [file for file in _own_files(subject) if file.exists()]
    problems = [problem for file in own for problem in _problems(file.name, file)]
    if problems:
        return Finding.error(
            "; ".join(problems), "Run `chmod 600` on files and `chmod 700` on folders."
        )
    named = [each for each in _named_files(subject) if each[1].exists()]
    open_ones = [problem for name, file in named for problem in _problems(name, file)]
    if open_ones:
        return Finding.warn(
            "; ".join(open_ones), "Run `chmod 600` on it, unless others are to read it."
        )
    count = len(own) + len(named)
    return Finding.ok(
        f"{count} of them, each for its owner alone" if count else "there are none yet"
    )


def look_at_certificate(subject: Subject) -> Finding:
    """Tell until when the sidecar's certificate is valid."""
    file = subject.run_folder / "certificate.pem"
    if not file.exists():
        return Finding.ok("it is made at the first start")
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except ValueError:
        return Finding.error("it is damaged", _RENEW)
    now = datetime.now(UTC)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    # The plugin knows the certificate by its hash, and goes on whatever its dates.
    if now < begins:
        return Finding.warn(
            f"it is valid from {begins:%Y-%m-%d} on: a clock is or was wrong", _RENEW
        )
    if now >= ends:
        return Finding.warn(f"it was valid until {ends:%Y-%m-%d}", _RENEW)
    if ends - now < _SOON:
        return Finding.warn(f"it is valid until {ends:%Y-%m-%d} only", _RENEW)
    return Finding.ok(f"it is valid until {ends:%Y-%m-%d}")


def _own_files(subject: Subject) -> Iterator[Path]:
    run_folder = subject.run_folder
    yield run_folder
    for name in ("token", "http-token", "key.pem", "server-password"):
        yield run_folder / name
    yield subject.settings.home / "neo4j-password"


def _named_files(subject: Subject) -> Iterator[tuple[str, Path]]:
    """Yield the files of secrets that variables name, of procedures too, with their variables."""
    for variable, value in sorted(subject.environ.items()):
        if variable.startswith(PREFIX) and variable.endswith("_FILE") and value:
            yield variable, Path(value)


def _problems(name: str, file: Path) -> Iterator[str]:
    found = file.stat()
    if found.st_mode & _OTHERS:
        yield f"`{name}` has the mode {stat.S_IMODE(found.st_mode):04o}"
    if found.st_uid != os.geteuid():
        yield f"`{name}` belongs to another user"


CHECKS: Final = (
    Check("Settings", "sidecypher", look_at_settings),
    Check("Machine", "java", look_at_java),
    Check("Machine", "compiler", look_at_compiler),
    Check("Machine", "home", look_at_home),
    Check("Machine", "cache", look_at_cache),
    Check("Machine", "memory", look_at_memory),
    Check("Machine", "ports", look_at_ports),
    Check("Secrets", "private files", look_at_private_files),
    Check("Secrets", "certificate", look_at_certificate),
)
