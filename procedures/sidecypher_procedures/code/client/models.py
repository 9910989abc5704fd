"""What the Python API takes and returns, validated by pydantic."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sidecypher_procedures.code.model import (
    ENTITY_TYPES,
    RELATIONSHIP_TYPES,
    EntityType,
    Language,
    RelationshipType,
    Resolution,
)
from sidecypher_procedures.names import LONGEST_NAME, Id

Hops: TypeAlias = Annotated[int, Field(ge=1, le=5)]
TopK: TypeAlias = Annotated[int, Field(ge=1, le=1000)]
Line: TypeAlias = Annotated[int, Field(ge=0)]

# Spaces separate the ids of both ends where relationships are compared.
EntityId: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=r"^\S+$")
]


class _Model(BaseModel):
    """Refuses unknown fields by name, and never shows values in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class GraphSearchConfig(_Model):
    """How far a search goes, and how much it returns.

    Example:
        >>> GraphSearchConfig(max_hops=1)
        GraphSearchConfig(max_hops=1, top_k=30)
    """

    max_hops: Hops = Field(default=2, description="Maximum traversal depth")
    top_k: TopK = Field(default=30, description="Number of results")


class GraphStorageConfig(_Model):
    """Configuration for Neo4j graph storage and traversal.

    Example:
        >>> GraphStorageConfig(neo4j_password="secret", max_hops=3).max_hops
        3
    """

    neo4j_uri: str = Field(
        default="bolt://localhost:7687", min_length=1, description="Neo4j connection URI"
    )
    neo4j_user: str = Field(default="neo4j", min_length=1, description="Neo4j username")
    neo4j_password: str = Field(default="", repr=False, description="Neo4j password")
    neo4j_database: str = Field(
        default="neo4j", min_length=1, description="Neo4j database that all statements run in"
    )
    max_hops: Hops = Field(default=2, description="Maximum traversal depth for graph search")
    include_communities: bool = Field(
        default=True, description="Include community detection in graph analysis"
    )
    community_algorithm: Literal["louvain", "label_propagation"] = Field(
        default="louvain", description="Community detection algorithm"
    )
    entity_types: list[EntityType] = Field(
        default=[*ENTITY_TYPES],
        min_length=1,
        description="Entity types to extract and store in graph",
    )
    relationship_types: list[RelationshipType] = Field(
        default=[*RELATIONSHIP_TYPES], description="Relationship types to extract"
    )
    graph_search_top_k: TopK = Field(
        default=30, description="Number of results to return from graph traversal"
    )

    @property
    def search(self) -> GraphSearchConfig:
        """What searches of `GraphRetriever` take: `max_hops` and `graph_search_top_k`.

        Example:
            >>> GraphStorageConfig(graph_search_top_k=5).search
            GraphSearchConfig(max_hops=2, top_k=5)
        """
        return GraphSearchConfig(max_hops=self.max_hops, top_k=self.graph_search_top_k)


class Entity(_Model):
    """A symbol or a file.

    Attributes:
        id: Its id: without spaces, and of one repository only.
        file_path: The file, below the root.
        chunk_id: The part of a file that searches return for it; without one they do not find it.
        qualified_name: Such as ``shop.cart.Cart.add``; the name if it is empty.
        start_line: Its first line, from 1; 0 if it is not known.

    Example:
        >>> Entity(id="shop:add", name="add", type="function", file_path="cart.py").chunk_id
    """

    id: EntityId
    name: str = Field(min_length=1, max_length=10_000)
    type: EntityType
    file_path: str
    chunk_id: Id | None = None
    qualified_name: str = ""
    start_line: Line = 0
    end_line: Line = 0
    language: Language | Literal[""] = ""
    signature: str = ""
    docstring: str = ""


class Relationship(_Model):
    """A relationship between two entities of one repository, with the place that shows it.

    Attributes:
        source: The id of the entity that calls, imports, inherits, contains or refers.
        target: The id of the other entity.
        resolution: How the target was found.
        confidence: How sure it is, from 0 to 1.

    Example:
        >>> Relationship(source="shop:add", target="shop:price", type="calls", line=7).resolution
        'exact'
    """

    source: EntityId
    target: EntityId
    type: RelationshipType
    resolution: Resolution = "exact"
    confidence: float = Field(default=1.0, ge=0, le=1)
    file_path: str = ""
    line: Line = 0
    column: Line = 0


class Community(_Model):
    """A group of entities.

    Attributes:
        community_id: Its number in the repository.
        size: How many entities belong to it.
        label: What many names of its members begin with.
        members: The qualified names of the members that are used most.
    """

    repo_id: str
    level: int
    community_id: int
    algorithm: str
    size: int
    label: str
    members: list[str]


class GraphStats(_Model):
    """How large the graph of a repository is.

    Attributes:
        entity_types: How many entities of each type there are.
        relationship_types: How many relationships of each type there are.
        unresolved: How many calls have no target in the repository.
    """

    repo_id: str
    entities: int
    relationships: int
    communities: int
    entity_types: dict[str, int]
    relationship_types: dict[str, int]
    unresolved: int


class ChunkMatch(_Model):
    """A part of a file that a search has found.

    Attributes:
        chunk_id: Its id, by which lists of several searches are joined.
        content: Its text; "" if only its id was given.
        entity_id: The entity for which it was found.
        name: That entity's name.
        score: How well it fits; comparable within one answer only.
        hops: Relationships from a match of the query.
        support: How many ways lead to it.
        why: How it was found, one sentence a step.
        notices: What the whole answer lacks, such as that the time was over.
    """

    chunk_id: str
    file_path: str
    start_line: int
    end_line: int
    content: str
    entity_id: str | None
    name: str | None
    score: float
    hops: int | None
    support: int | None
    why: list[str]
    notices: list[str]
    source: Literal["graph"] = "graph"
