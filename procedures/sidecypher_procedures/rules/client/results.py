"""What the memory answers: the MAPs of docs/rules.md, with their types."""

from datetime import datetime
from typing import TypedDict


class Entity(TypedDict):
    """A concept that matters."""

    id: str
    name: str
    score: float
    sources: dict[str, int]


# `from` is a word of Python's own.
Relation = TypedDict(
    "Relation", {"from": str, "type": str, "to": str, "factId": str, "extractionIds": list[str]}
)


class StyleRule(TypedDict):
    """A rule that holds."""

    ruleId: str
    text: str
    scope: str
    temporalMarker: str
    status: str
    extractionIds: list[str]


class Citation(TypedDict):
    """Where a rule or relation comes from."""

    extractionId: str
    sessionId: str | None
    artifactId: str | None
    snippet: str | None
    createdAt: datetime


class GraphContext(TypedDict):
    """What to know before writing."""

    entities: list[Entity]
    relations: list[Relation]
    styleRules: list[StyleRule]
    citations: list[Citation]
    truncated: bool
    timedOut: bool


class Added(TypedDict):
    """A rule that was stated."""

    ruleId: str
    status: str
    reason: str
    contradicts: list[str]
    extractionId: str
    created: bool


class LeftOut(TypedDict):
    """What a text says and is not written."""

    text: str | None
    reason: str


class Remembered(TypedDict):
    """What was written."""

    extractionId: str
    concepts: list[str]
    facts: list[str]
    rules: list[Added]
    leftOut: list[LeftOut]


class Standing(TypedDict):
    """A rule as it stands after a write."""

    ruleId: str
    status: str
    reason: str
