"""Changes by a reload, for each procedure."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Final, Literal

from sidecypher.loading.loader import Key, Loaded, Part, Unit, key_of
from sidecypher.sdk.registry import Procedure

State = Literal["added", "changed", "signature changed", "options changed", "removed", "failed"]

_REBUILD: Final = (
    "Rebuild the plugin and restart Neo4j to call it by its name; `sidecypher.call` reaches it now"
)
_IN_SERVICE: Final = "the code before it goes on"

_PLUGIN_OPTIONS: Final = {
    "availability": "availability",
    "timeout_ms": "timeout",
    "single": "return annotation",
    "eager": "eager",
    "admin": "admin",
    "cache": "cache",
    "deprecated_by": "deprecated_by",
}
"""What the plugin does by itself, by the field of an entry: its name for an author."""


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one procedure or function, or of a module that has none.

    Attributes:
        module: Entry point or file name.
        name: The procedure or function; None for a module that failed and has none in service.
        detail: Advice or reason for a person; may be empty.
    """

    module: str
    name: str | None
    state: State
    detail: str = ""


def changes_between(before: Loaded, after: Loaded) -> tuple[Change, ...]:
    """Return the changes in the order of sources and modules."""
    found: list[Change] = []
    known = {key_of(each): each for each in before.registry}
    for source, part in after.parts.items():
        earlier = before.parts.get(source)
        shared = _has_shared_change(part, earlier)
        for unit in part.units:
            found += _changes_of(unit, known, part.changed, shared=shared)
    present = {key_of(each) for each in after.registry}
    for part in before.parts.values():
        for unit in part.units:
            found += [
                Change(unit.name, each.name, "removed", "The plugin offers it until it is rebuilt")
                for each in unit.procedures
                if key_of(each) not in present
            ]
    return tuple(found)


def _changes_of(
    unit: Unit, known: dict[Key, Procedure], changed: frozenset[str], *, shared: bool
) -> Iterator[Change]:
    if unit.failure is not None:
        for kept in unit.procedures:
            yield Change(unit.name, kept.name, "failed", f"{unit.failure}; {_IN_SERVICE}")
        if not unit.procedures:
            yield Change(unit.name, None, "failed", unit.failure)
        return
    for procedure in unit.procedures:
        earlier = known.get(key_of(procedure))
        if earlier is None:
            yield Change(unit.name, procedure.name, "added", _REBUILD)
        elif earlier.entry.signature != procedure.entry.signature:
            yield Change(unit.name, procedure.name, "signature changed", _REBUILD)
        elif options := _changed_options(earlier, procedure):
            detail = f"Rebuild the plugin and restart Neo4j, which still has the earlier {options}"
            yield Change(unit.name, procedure.name, "options changed", detail)
        elif earlier is not procedure and (shared or _file_of(procedure) in changed):
            yield Change(unit.name, procedure.name, "changed")


def _changed_options(before: Procedure, after: Procedure) -> str:
    """Return the names of the changed options that are built into the plugin."""
    return ", ".join(
        f"`{name}`"
        for field, name in _PLUGIN_OPTIONS.items()
        if getattr(before.entry, field, None) != getattr(after.entry, field, None)
    )


def _has_shared_change(part: Part, before: Part | None) -> bool:
    """Return whether a helper file has changed, which any module of procedures may use."""
    units = (*part.units, *(before.units if before is not None else ()))
    files = {_file_of(each) for unit in units for each in unit.procedures}
    names = {unit.name for unit in units}
    return any(path not in files and Path(path).name not in names for path in part.changed)


def _file_of(procedure: Procedure) -> str:
    code: CodeType = inspect.unwrap(procedure.function).__code__
    return code.co_filename
