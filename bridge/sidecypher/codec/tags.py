"""The tags, and the Cypher type each stands for."""

from typing import Any, Final

TAGS: Final = {
    "$bytes": "BYTES",
    "$date": "DATE",
    "$datetime": "ZONED DATETIME",
    "$duration": "DURATION",
    "$float": "FLOAT",
    "$localdatetime": "LOCAL DATETIME",
    "$localtime": "LOCAL TIME",
    "$map": "MAP",
    "$node": "NODE",
    "$path": "PATH",
    "$point": "POINT",
    "$relationship": "RELATIONSHIP",
    "$time": "ZONED TIME",
}
"""Every tag of this version of the envelope."""


def looks_tagged(value: dict[str, Any]) -> bool:
    """Tell whether a map with these keys would be taken for a tag."""
    return len(value) == 1 and next(iter(value)).startswith("$")
