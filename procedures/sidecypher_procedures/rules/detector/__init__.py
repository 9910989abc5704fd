"""Finds out whether two rules contradict each other: deterministic, versioned, without a model."""

from typing import Final

from sidecypher_procedures.rules.detector.canonical import canonical
from sidecypher_procedures.rules.detector.clauses import read_condition
from sidecypher_procedures.rules.detector.comparing import Verdict, compare
from sidecypher_procedures.rules.detector.markers import Marker, read_marker
from sidecypher_procedures.rules.detector.understanding import (
    IDENTITY,
    Reading,
    read_parts,
    read_text,
)

DETECTOR: Final = "slots"
VERSION: Final = "2"

__all__ = [
    "DETECTOR",
    "IDENTITY",
    "VERSION",
    "Marker",
    "Reading",
    "Verdict",
    "canonical",
    "compare",
    "read_condition",
    "read_marker",
    "read_parts",
    "read_text",
]
