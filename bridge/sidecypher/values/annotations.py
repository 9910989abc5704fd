"""What an annotation says beyond Python's own type."""

from dataclasses import dataclass
from datetime import datetime, time
from typing import Annotated, Final

INTEGER_MIN: Final = -(2**63)
"""Smallest Cypher INTEGER (Cypher manual, *Property, structural and constructed values*)."""

INTEGER_MAX: Final = 2**63 - 1
"""Largest Cypher INTEGER."""


@dataclass(frozen=True, slots=True)
class Description:
    """Describe a column: `score: Annotated[float, Description("0..1, cosine")]`."""

    text: str


@dataclass(frozen=True, slots=True)
class CypherTypeName:
    """Name the Cypher type of an annotation that Python's type alone leaves open."""

    name: str


LocalDateTime = Annotated[datetime, CypherTypeName("LOCAL DATETIME")]
"""A `datetime` without a time zone; annotate with it where Cypher shall say LOCAL DATETIME."""

LocalTime = Annotated[time, CypherTypeName("LOCAL TIME")]
"""A `time` without a time zone; annotate with it where Cypher shall say LOCAL TIME."""
