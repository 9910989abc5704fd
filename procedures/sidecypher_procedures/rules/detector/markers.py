"""Hints in a text about the time it speaks of."""

from typing import Literal

from sidecypher_procedures.rules.detector.canonical import canonical
from sidecypher_procedures.rules.detector.reading import read_text
from sidecypher_procedures.rules.detector.scanning import scan

Marker = Literal["current", "past", "future", "negated"]


def read_marker(text: str) -> Marker:
    """Tell whether a text speaks of now, of the past, of later, or of what must not be.

    The past goes before the rest ("I used to avoid tables" is past); polarity is read by itself.

    Example:
        >>> read_marker("I used to like a casual tone")
        'past'
        >>> read_marker("never use emojis")
        'negated'
    """
    roles = {role for mark in scan(canonical(text)) for role in mark.entry.roles}
    if "past" in roles:
        return "past"
    if "future" in roles and "current" not in roles:
        return "future"
    return "negated" if read_text(text).polarity == "negative" else "current"
