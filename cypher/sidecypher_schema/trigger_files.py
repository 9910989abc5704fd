"""Trigger files: one statement each, with a header that sets name and phase.

::

// trigger: rules-guard
// phase: before
// params: {"limit": 10}
UNWIND coalesce($assignedLabels['StyleRule'], []) AS rule ...
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from sidecypher_schema.errors import TriggerRefused
from sidecypher_schema.lexer import split

Phase = Literal["before", "after", "rollback", "afterAsync"]
"""Time at which APOC runs a trigger; only in the phase `before` can it refuse a transaction."""

_ENTRY: Final = re.compile(r"(?P<key>trigger|phase|params)\s*:\s*(?P<value>.*)")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger.

    Attributes:
        source: Name of its file.
        name: Its name in APOC.
        phase: When it runs.
        text: Its statement.
        params: Its parameters in addition to those of APOC.
        line: Line of the file where the statement begins.
    """

    source: str
    name: str
    phase: Phase
    text: str
    params: dict[str, Any] = field(default_factory=dict, compare=False)
    line: int = 1


def read_trigger(source: str, text: str) -> Trigger:
    """Return the trigger of a file.

    Args:
        source: Name of the file.
        text: Content of its file.

    Raises:
        BadScript: It cannot be split into statements.
        TriggerRefused: Name, phase or parameters are missing or wrong, or there is not exactly one
            statement.

    Example:
        >>> read_trigger("guard.cypher", "// trigger: guard\\n// phase: before\\nRETURN 1;").name
        'guard'
    """
    parts = split(text, source)
    found = [entry for _, line in parts.header if (entry := _ENTRY.fullmatch(line))]
    header = {entry["key"]: entry["value"].strip() for entry in found}
    if len(header) != len(found):
        raise TriggerRefused(f"The header of `{source}` says something twice")
    if not _NAME.fullmatch(header.get("trigger", "")):
        raise TriggerRefused(
            f"`{source}` does not name its trigger",
            hint="Begin it with `// trigger: NAME`, of letters, digits and dashes.",
        )
    if header.get("phase") not in get_args(Phase):
        raise TriggerRefused(
            f"The phase of the trigger `{header['trigger']}` in `{source}` is not one of APOC's",
            hint=f"Write `// phase: ` and one of {', '.join(get_args(Phase))}.",
        )
    if len(parts.statements) != 1:
        raise TriggerRefused(f"`{source}` has {len(parts.statements)} statements instead of one")
    [statement] = parts.statements
    return Trigger(
        source=source,
        name=header["trigger"],
        phase=header["phase"],  # type: ignore[arg-type]  # it is one of them
        text=statement.text,
        params=_params(header.get("params", "{}"), source),
        line=statement.line,
    )


def _params(text: str, source: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise TriggerRefused(
            f"The parameters in `{source}` are not a JSON object",
            hint='Write them in one line, such as `// params: {"limit": 10}`.',
        )
    return found
