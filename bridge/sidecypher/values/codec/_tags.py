"""The tags, and their Cypher types."""

from typing import Any, Final

type_of_tag: Final[dict[str, str]] = {}
"""The Cypher type of every tag of this version of the envelope; filled by `kinds`."""


def looks_tagged(value: dict[str, Any]) -> bool:
    """Return whether a map has the form of a tagged value."""
    return len(value) == 1 and next(iter(value)).startswith("$")
