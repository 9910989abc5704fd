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


class Match(Row):
    """A chunk that a search has found."""

    chunk_id: str
    file_path: FilePath
    start_line: int
    end_line: int
    entity_id: Annotated[str | None, Description("the entity for which the chunk was found")]
    name: Annotated[str | None, Description("its name")]
    score: Annotated[float, Description("how well it fits; comparable within one answer only")]
    hops: Annotated[
        int | None, Description("relationships from a match; null if the graph did not find it")
    ]
    support: Annotated[int | None, Description("how many ways lead to it; null likewise")]
    why: Annotated[list[str], Description("how it was found, one sentence a step")]
    notices: Annotated[
        list[str], Description("what the whole answer lacks, such as a leg that found nothing")
    ]


class Embedded(Row):
    """What has got embeddings."""

    embedded: Annotated[int, Description("chunks that have got one")]
    left: Annotated[int, Description("chunks that still have none")]


class FusedRow(Row):
    """An item of at least one list."""

    id: str
    score: float
    ranks: Annotated[dict[str, int], Description("its rank in each list that has it, from 1")]


class PathStep(Row):
    """A function on the way from one to another."""

    step: Annotated[int, Description("its place on the way, from 0")]
    entity_id: str
    name: str
    qualified_name: str
    file_path: FilePath
    line: Annotated[int, Description("where it calls the next; where it begins for the last")]
    resolution: Annotated[str | None, Description("how that call was resolved; null for the last")]


class Affected(Row):
    """What a change can reach."""

    depth: Annotated[int, Description("relationships from the change; 0 for what has changed")]
    entity_id: str
    name: str
    qualified_name: str
    type: str
    file_path: FilePath
    start_line: int
    is_test: bool
    why: Annotated[str, Description("the relationship by which it is reached")]


class Mention(Row):
    """An entity that a text names."""

    entity_id: str
    name: str
    qualified_name: str
    type: str
    file_path: FilePath
    start_line: int
    mention: Annotated[str, Description("the words of the text that name it")]
    confidence: Confidence


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

    kind: Annotated[
        str,
        Description("type, relationship, tier, traced, language, community, unresolved, failed"),
    ]
    key: str
    count: int


class CommunityRow(Row):
    """A group of entities."""

    community_id: Annotated[int, Description("its number in the repository")]
    level: Annotated[int, Description("0; higher ones are reserved")]
    algorithm: str
    size: Annotated[int, Description("how many entities belong to it")]
    label: Annotated[str, Description("what many names of its entities begin with")]
    members: Annotated[list[str], Description("the entities that are used most")]


class Picture(Row):
    """A picture."""

    svg: Annotated[str, Description("an SVG document, for light and dark pages")]


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
