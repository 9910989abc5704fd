"""Migration files, in the order they are applied in, and their content."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from sidecypher_schema.checksum import checksum
from sidecypher_schema.errors import BadScript, BadScriptName
from sidecypher_schema.lexer import Statement, split
from sidecypher_schema.trigger_files import Trigger, read_trigger

TARGET: Final = "sidecypher"
"""Chain of the scripts that ship with sidecypher."""

OWN_TARGET: Final = "own"
"""Chain of the scripts in a user's own folder."""

_NAME: Final = re.compile(
    r"(?:V(?P<version>\d+(?:[_.]\d+)*)|(?P<repeatable>R))__(?P<description>\w+)\.cypher"
)

# Preconditions of the Java tool neo4j-migrations (its class `Precondition`).
_PRECONDITION: Final = re.compile(r"(?:assume|assert)(?: in \w+)? (?:that\b|q')", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Script:
    """A migration.

    Attributes:
        source: Name of the file.
        version: Such as `001` or `001.1`; `R__name` for a repeatable one.
        description: The rest of its name, with spaces.
        repeatable: Whether it runs again whenever it has changed.
        statements: Its statements, in their order.
        checksum: Checksum, as the Java tool neo4j-migrations computes it.
    """

    source: str
    version: str
    description: str
    repeatable: bool
    statements: tuple[Statement, ...]
    checksum: str

    @property
    def order(self) -> tuple[bool, tuple[int, ...], str]:
        """Sort key: versions as numbers, then repeatable scripts by name."""
        if self.repeatable:
            return (True, (), self.version)
        return (False, order_of(self.version), "")


@dataclass(frozen=True, slots=True)
class Scripts:
    """Migrations and triggers for a graph.

    Attributes:
        target: Name of the chain in the graph, `migrationTarget` of its nodes.
        migrations: Migrations, in the order they are applied in.
        triggers: Triggers, by name.
    """

    target: str
    migrations: tuple[Script, ...]
    triggers: tuple[Trigger, ...] = ()


def shipped_scripts() -> Scripts:
    """Return the scripts that ship with sidecypher.

    Example:
        >>> shipped_scripts().migrations[0].version
        '001'
    """
    return read_scripts(files("sidecypher_schema"), TARGET)


def own_scripts(folder: Path, target: str = OWN_TARGET) -> Scripts:
    """Return the scripts of a folder.

    Args:
        folder: Folder with a folder `migrations`, a folder `triggers`, or both.
        target: Name of their chain.

    Raises:
        BadScript: There is no such folder, one of its files cannot be read, or a migration is
            outside of `migrations`.
        BadScriptName: A file has no version, or the version of another file.
    """
    if not any((folder / name).is_dir() for name in ("migrations", "triggers")):
        raise BadScript(
            f"The folder `{folder.name}` has neither `migrations` nor `triggers` in it",
            hint="Name the folder above them.",
        )
    outside = sorted(each.name for each in folder.iterdir() if _NAME.fullmatch(each.name))
    if outside:
        raise BadScript(
            f"`{outside[0]}` is not in the folder `migrations`", hint="Move it there, or rename it."
        )
    return read_scripts(folder, target)


def read_scripts(folder: Traversable, target: str) -> Scripts:
    """Return the scripts of a folder; see `own_scripts`."""
    migrations = [read_script(name, text) for name, text in _texts(folder / "migrations")]
    triggers = [read_trigger(name, text) for name, text in _texts(folder / "triggers")]
    ordered = sorted(migrations, key=lambda script: script.order)
    _refuse_duplicates((each.source, each.order) for each in ordered)
    _refuse_duplicates((each.source, each.name) for each in triggers)
    return Scripts(target, tuple(ordered), tuple(triggers))


def read_script(name: str, text: str) -> Script:
    """Return a migration.

    Args:
        name: Name of its file.
        text: Content of its file.

    Raises:
        BadScript: It cannot be split into statements, or has a precondition.
        BadScriptName: The name has no version.

    Example:
        >>> read_script("V001_2__add_people.cypher", "CREATE (:Person)").version
        '001.2'
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise BadScriptName(f"`{name}` is not a name of a migration")
    parts = split(text, name)
    _refuse_preconditions(parts.header, name)
    version = found["version"]
    return Script(
        source=name,
        version=version.replace("_", ".") if version else f"R__{found['description']}",
        description=found["description"].replace("_", " "),
        repeatable=found["repeatable"] is not None,
        statements=parts.statements,
        checksum=checksum(text),
    )


def _refuse_preconditions(header: Iterable[tuple[int, str]], name: str) -> None:
    """Refuse preconditions: neo4j-migrations checks them, and here they would be comments only."""
    for line, text in header:
        if _PRECONDITION.match(text):
            raise BadScript(
                f"`{name}`, line {line}, has a precondition",
                hint="sidecypher does not check preconditions. Remove the line, or apply the script"
                " with neo4j-migrations.",
            )


def order_of(version: str) -> tuple[int, ...]:
    """Return a version as numbers, so that 2 comes before 10, and 1 is the same as 1.0.

    Example:
        >>> order_of("001.10")
        (1, 10)
    """
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _texts(folder: Traversable) -> list[tuple[str, str]]:
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if each.name.endswith(".cypher")]
    return [(each.name, _text(each)) for each in sorted(found, key=lambda each: each.name)]


def _text(file: Traversable) -> str:
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        raise BadScript(f"`{file.name}` is not text in UTF-8") from None


def _refuse_duplicates(named: Iterable[tuple[str, object]]) -> None:
    seen: dict[object, str] = {}
    for source, key in named:
        if key in seen:
            raise BadScriptName(f"`{seen[key]}` and `{source}` are the same version or name")
        seen[key] = source
