"""The tags, and the Cypher type each stands for."""

from typing import Any, Final

type_of_tag: Final[dict[str, str]] = {}
"""The Cypher type of every tag of this version of the envelope; filled by `kinds`."""


def looks_tagged(value: dict[str, Any]) -> bool:
    """Tell whether a map with these keys would be taken for a tag."""
    return len(value) == 1 and next(iter(value)).startswith("$")
