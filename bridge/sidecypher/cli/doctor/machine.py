"""Checks of this machine: settings, Java, disks, memory, ports and files with secrets."""

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

from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.prepare import find_compiler
from sidecypher.host.settings import LOOPBACK, PREFIX, Settings
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java, java_hint
from sidecypher.runtime.lockfile import load_compiler_lock, load_lock
from sidecypher.sdk.checks import CannotCheck, Check, Finding
from sidecypher_plugin.compiler import Compiler


def look_at_settings(context: DoctorContext) -> Finding:
    """Report settings that are misspelt or not valid; the checks use the others."""
    if context.setting_errors:
        messages = "; ".join(error.message for error in context.setting_errors)
        hints = dict.fromkeys(error.hint for error in context.setting_errors if error.hint)
        return Finding.error(messages, " ".join(hints) or "Correct it.")
    given = sorted(context.settings.model_fields_set)
    return Finding.ok(f"set: {', '.join(given)}" if given else "all have their defaults")


_LANES = ("lts", "current")


def look_at_java(context: DoctorContext) -> Finding:
    """Report each Java that is found, and the one that each lane uses."""
    lane = load_lock(context.settings.lane)
    taken = {each: context.javas.first(load_lock(each).java) for each in _LANES}
    if taken[lane.lane] is None:
        wanted = " or ".join(map(str, lane.java))
        there = ", ".join(map(_shown, context.javas)) or "none"
        # Java is optional if `neo4j_uri` names another Neo4j.
        state = Finding.warn if context.settings.neo4j_uri else Finding.error
        return state(
            f"the lane `{lane.lane}` needs Java {wanted}; found: {there}", java_hint(lane.java)
        )
    found = "; ".join(_lane(each, java) for each, java in taken.items())
    others = [_shown(java) for java in context.javas if java not in taken.values()]
    return Finding.ok(found + (f"; also found: {', '.join(others)}" if others else ""))


def look_at_compiler(context: DoctorContext) -> Finding:
    """Report the compiler that builds the plugin."""
    try:
        found = compiler_of(context)
    except CannotCheck as missing:
        return Finding.warn(missing.why, missing.fix)
    return Finding.ok(f"`{found.name}` of {_short(Path(found.command[0]).parent.parent)}")


def compiler_of(context: DoctorContext) -> Compiler:
    """Return the compiler that would build the plugin now.

    Raises:
        CannotCheck: This machine has no compiler yet, or no Java for the lane.
    """
    settings = context.settings
    java = context.javas.first(load_lock(settings.lane).java)
    if java is None:
        raise CannotCheck(
            f"without a Java for the lane `{settings.lane}` no plugin is built here",
            "See the check `java`.",
        )
    return find_compiler(context.javas, java, partial(_fetched, settings))


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
    return f"`{lane}` uses {_shown(java)}, the first that fits"


def _shown(java: Java) -> str:
    return f"{java.version} ({_short(java.home)})"


def _short(folder: Path) -> str:
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


_MIB: Final = 2**20
_LEAST_DISK: Final = 200 * _MIB
"""An import can fill this in a minute; after that Neo4j cannot write its transaction log."""

_ENOUGH_DISK: Final = 2048 * _MIB
_START_MEMORY: Final = 1024 * _MIB
"""Memory of Neo4j's heap, page cache and code, and of a sidecar."""

_SPARE_MEMORY: Final = 256 * _MIB


def look_at_home(context: DoctorContext) -> Finding:
    """Report whether the home is writable, and its free space."""
    return _room(context.settings.home, "home", "Set SIDECYPHER_HOME or `--home` to another one.")


def look_at_cache(context: DoctorContext) -> Finding:
    """Report whether the cache of jars is writable, and its free space."""
    return _room(context.settings.cache_dir, "cache", "Set SIDECYPHER_CACHE_DIR to another one.")


def look_at_memory(context: DoctorContext) -> Finding:
    """Report the free memory, for a start or next to the running processes."""
    free = psutil.virtual_memory().available
    wanted = _SPARE_MEMORY if context.runs else _START_MEMORY
    found = f"{free // _MIB} MiB are free"
    if free < wanted:
        purpose = "next to the running processes" if context.runs else "for Neo4j and a sidecar"
        return Finding.warn(
            f"{found}, {wanted // _MIB} MiB are needed {purpose}", "End other programs."
        )
    return Finding.ok(found)


def _room(folder: Path, name: str, fix: str) -> Finding:
    # The folder itself may not be there yet.
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        return Finding.error(f"the {name} is below a file, so it cannot be made", fix)
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding.error(f"the {name} cannot be written", fix)
    free = shutil.disk_usage(there).free
    found = f"{free // _MIB} MiB are free" + ("" if there == folder else "; it is not made yet")
    if free < _LEAST_DISK:
        return Finding.error(found, f"Make room on its disk. {fix}")
    if free < _ENOUGH_DISK:
        return Finding.warn(found, f"Make room on its disk. {fix}")
    return Finding.ok(found)


def look_at_ports(context: DoctorContext) -> Finding:
    """Report whether the configured ports are free, or which program of this user has them."""
    if context.runs:
        return Finding.ok("they belong to the running processes of this home")
    own = {port for each in context.sidecars for port in (each.port, each.http)}
    configured = [(use, port) for use, port in _configured_ports(context) if port not in own]
    taken = [
        f"{port} for {use} is taken by {_program_on(port)}"
        for use, port in configured
        if _is_taken(port)
    ]
    if taken:
        return Finding.error(
            "; ".join(taken), "Stop that program, set another port, or 0 for a free one."
        )
    if not configured:
        return Finding.ok(
            "no other is configured" if own else "none is configured; a start picks free ones"
        )
    return Finding.ok(", ".join(f"{port} for {use} is free" for use, port in configured))


def _configured_ports(context: DoctorContext) -> Iterator[tuple[str, int]]:
    settings = context.settings
    uses = {
        "Bolt": settings.bolt_port,
        "Neo4j's HTTP": settings.browser_port,
        "the plugin": settings.port,
        "the sidecar's HTTP": settings.http_port,
    }
    return ((use, port) for use, port in uses.items() if port)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As in Java: connections that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def _program_on(port: int) -> str:
    """Return the name of the program that listens on a port, if it is one of this user."""
    for process in psutil.process_iter():
        # Processes of other users cannot be inspected, and any may end meanwhile.
        with suppress(psutil.Error):
            if any(
                each.laddr.port == port and each.status == psutil.CONN_LISTEN
                for each in process.net_connections("tcp")
            ):
                return f"`{process.name()}`, process {process.pid}"
    return "a program of another user"


_SOON: Final = timedelta(days=30)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_RENEW: Final = (
    "Delete `certificate.pem` and `key.pem` in the run folder and restart all its sidecars."
)


def look_at_private_files(context: DoctorContext) -> Finding:
    """Report whether the run folder and files with secrets are private to their owner."""
    own = [file for file in _own_files(context) if file.exists()]
    problems = [problem for file in own for problem in _problems(file.name, file)]
    if problems:
        return Finding.error(
            "; ".join(problems), "Run `chmod 600` on files and `chmod 700` on folders."
        )
    named = [each for each in _named_files(context) if each[1].exists()]
    open_ones = [problem for name, file in named for problem in _problems(name, file)]
    if open_ones:
        return Finding.warn(
            "; ".join(open_ones), "Run `chmod 600` on it, unless others are to read it."
        )
    count = len(own) + len(named)
    return Finding.ok(
        f"{count} of them, each for its owner alone" if count else "there are none yet"
    )


def look_at_certificate(context: DoctorContext) -> Finding:
    """Report the end of validity of the sidecar's certificate."""
    file = context.run_folder / "certificate.pem"
    if not file.exists():
        return Finding.ok("it is made at the first start")
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except ValueError:
        return Finding.error("it is damaged", _RENEW)
    now = datetime.now(UTC)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    # The plugin compares only the hash of the certificate, so it ignores these dates.
    if now < begins:
        return Finding.warn(
            f"it is valid from {begins:%Y-%m-%d} on: a clock is or was wrong", _RENEW
        )
    if now >= ends:
        return Finding.warn(f"it was valid until {ends:%Y-%m-%d}", _RENEW)
    if ends - now < _SOON:
        return Finding.warn(f"it is valid until {ends:%Y-%m-%d} only", _RENEW)
    return Finding.ok(f"it is valid until {ends:%Y-%m-%d}")


def _own_files(context: DoctorContext) -> Iterator[Path]:
    run_folder = context.run_folder
    yield run_folder
    for name in ("token", "http-token", "key.pem", "server-password"):
        yield run_folder / name
    yield context.settings.home / "neo4j-password"


def _named_files(context: DoctorContext) -> Iterator[tuple[str, Path]]:
    """Yield each variable that names a file of secrets, also those of procedures, and the file."""
    for variable, value in sorted(context.environ.items()):
        if variable.startswith(PREFIX) and variable.endswith("_FILE") and value:
            # Not the method of `Path`, which raises if there is no such user.
            yield variable, Path(os.path.expanduser(value))  # noqa: PTH111


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
