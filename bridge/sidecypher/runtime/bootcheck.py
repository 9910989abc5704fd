"""Test start of a temporary Neo4j with a plugin, before the plugin is installed."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.runtime._temporary_server import offered_names, running, temporary_server
from sidecypher.runtime.errors import PluginRefused, ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.neo4j import Neo4jServer

_NAMED = 3
_REASON_LINES = 20
_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d )", re.MULTILINE)
_REASONS = ("ERROR", "WARN", "Exception", "Caused by", "Error:")


def boot_check(
    plugin_jar: Path | None,
    expected_procedures: Collection[str],
    expected_functions: Collection[str] = (),
    *,
    installation: Installation,
    java: Java,
) -> None:
    """Start Neo4j with a plugin in its own folder, and check whether it offers all procedures.

    Takes 5 to 10 s. The server has a password that only this process knows, offers Bolt on loopback
    only, and leaves no files behind.

    Args:
        plugin_jar: The plugin; None checks Neo4j alone.
        expected_procedures: Full names that `SHOW PROCEDURES` must list.
        expected_functions: Full names that `SHOW FUNCTIONS` must list.
        installation: Neo4j's jars.
        java: The Java to run on.

    Raises:
        PluginRefused: If Neo4j does not start, or a procedure or function is missing;
            `details["log_tail"]` has the log lines with the reason.

    Example:
        >>> boot_check(jar, {"kg.score"}, installation=installation, java=java)  # doctest: +SKIP
    """
    with temporary_server(installation, java) as server:
        if plugin_jar is not None:
            (server.plugin_folder / plugin_jar.name).symlink_to(plugin_jar.resolve())
        try:
            with running(server.process(restart=False)):
                procedures, functions = offered_names(server)
        except ServerFailed as error:
            raise _refused("Neo4j does not start with this plugin", plugin_jar, server) from error
        lacking = (set(expected_procedures) - procedures, set(expected_functions) - functions)
        missing = [*sorted(lacking[0]), *(f"{name}()" for name in sorted(lacking[1]))]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing[:_NAMED])
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            raise _refused(f"Neo4j does not offer {names}{more}", plugin_jar, server)


def _refused(what: str, plugin_jar: Path | None, server: Neo4jServer) -> PluginRefused:
    name = plugin_jar.name if plugin_jar else "no plugin"
    return PluginRefused(
        f"{what} (`{name}`)",
        hint="Read the log lines, correct the plugin and build it again.",
        details={"plugin": name, "log_tail": _reasons(server)},
    )


def _reasons(server: Neo4jServer) -> list[str]:
    """Return the lines with the reason, from the server's output and its debug log."""
    logs = (server.log_file, server.folder / "logs" / "debug.log")
    texts = [log.read_text(encoding="utf-8", errors="replace") for log in logs if log.is_file()]
    plain = ["".join(map(_as_text, text.splitlines(keepends=True))) for text in texts]
    entries = [entry for text in plain for entry in _ENTRY.split(text)]
    known = [jar.name for jar in server.installation.jars("plugins")]
    relevant = [entry for entry in entries if _has_reason(entry, known)]
    lines = "".join(relevant or entries).splitlines()
    return [line for line in lines if not line.startswith("\t")][-_REASON_LINES:]


class _JsonEntry(msgspec.Struct):
    time: str
    level: str
    category: str = ""
    message: str = ""
    stacktrace: str = ""


_decode: Final = msgspec.json.Decoder(_JsonEntry).decode


def _as_text(line: str) -> str:
    """Return a line of the current lane's debug log, which is JSON, in the format of the LTS."""
    try:
        entry = _decode(line)
    except msgspec.DecodeError:
        return line
    head = f"{entry.time} {entry.level} [{entry.category}] {entry.message}"
    return "\n".join(filter(None, [head, entry.stacktrace])) + "\n"


def _has_reason(entry: str, known: Collection[str]) -> bool:
    # At each start, APOC warns of its own classes that lack an optional library.
    headline = entry.partition("\n")[0]
    noise = any(name in headline for name in known)
    return not noise and any(reason in entry for reason in _REASONS)
