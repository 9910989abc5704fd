"""Hints in a text about the time it speaks of."""

from typing import Final, Literal

from sidecypher_procedures.rules.detector.canonical import canonical
from sidecypher_procedures.rules.detector.quoting import unquoted
from sidecypher_procedures.rules.detector.scanning import scan
from sidecypher_procedures.rules.detector.understanding import read_text

Marker = Literal["current", "past", "future", "negated"]

_LASTING: Final = {"always", "never"}
_PROMISES: Final = {"i will", "we will", "going to"}


def read_marker(text: str) -> Marker:
    """Tell whether a text speaks of now, of the past, of later, or of what must not be.

    The past goes before the rest ("I used to avoid tables" is past); polarity is read by itself.
    What stands in quotes is only mentioned. "I will always" promises what holds already.

    Example:
        >>> read_marker("I used to like a casual tone")
        'past'
        >>> read_marker("I will never want emojis")
        'negated'
    """
    said = canonical(unquoted(text))
    lasting = not _LASTING.isdisjoint(said.split())
    roles = {
        role
        for mark in scan(said)
        if not (lasting and mark.text in _PROMISES)
        for role in mark.entry.roles
    }
    if "past" in roles:
        return "past"
    if "future" in roles and "current" not in roles:
        return "future"
    return "negated" if read_text(text).polarity == "negative" else "current"
