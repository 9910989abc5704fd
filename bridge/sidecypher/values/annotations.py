"""Annotations that add to Python's own type."""

from dataclasses import dataclass
from datetime import datetime, time
from typing import Annotated, Final

INTEGER_MIN: Final = -(2**63)
"""Smallest Cypher INTEGER (Cypher manual, *Property, structural and constructed values*)."""

INTEGER_MAX: Final = 2**63 - 1
"""Largest Cypher INTEGER."""


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a parameter, a column or a field of options.

    Written as `score: Annotated[float, Description("0..1, cosine")]`.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CypherTypeName:
    """Cypher type of an annotation whose Python type has more than one."""

    name: str


LocalDateTime = Annotated[datetime, CypherTypeName("LOCAL DATETIME")]
"""A `datetime` without a time zone; its Cypher type is LOCAL DATETIME."""

LocalTime = Annotated[time, CypherTypeName("LOCAL TIME")]
"""A `time` without a time zone; its Cypher type is LOCAL TIME."""
