"""The columns of the `code` procedures, in order."""

from datetime import datetime
from typing import Annotated

from sidecypher import Description, Row

Tier = Annotated[str, Description("exact, typed, flow, unique_name or class_family")]
Confidence = Annotated[float, Description("how sure it is, from 0 to 1")]
FilePath = Annotated[str, Description("the file, below the root")]


class Indexed(Row):
    """What an indexing has done."""

    repo_id: str
    files: int
    entities: int
    relationships: int
    written: Annotated[int, Description("nodes and relationships that were created or changed")]
    removed: Annotated[int, Description("nodes and relationships that were deleted")]
    unresolved: Annotated[int, Description("calls without a target in the repository")]
    seconds: float


class Repository(Row):
    """An indexed repository."""

    repo_id: str
    status: Annotated[str, Description("ready, or writing")]
    indexed_at: datetime | None
    entities: int


class Called(Row):
    """A function that calls another, or is called by it."""

    entity_id: str
    name: str
    qualified_name: str
    file_path: FilePath
    line: Annotated[int, Description("where the call is")]
    resolution: Tier
    confidence: Confidence
    hops: int


class DefinitionRow(Row):
    """A definition around a line."""

    entity_id: str
    name: str
    qualified_name: str
    type: str
    start_line: int
    end_line: int
    signature: str
    docstring: str


class Statistic(Row):
    """A count."""

    kind: Annotated[str, Description("type, relationship, tier, language, unresolved or failed")]
    key: str
    count: int


class Edge(Row):
    """A relationship."""

    source: str
    target: str
    type: str
    resolution: Tier
    file_path: FilePath
    line: int


class Dropped(Row):
    """What was deleted."""

    entities: int
    chunks: int
