"""MAP arguments of the `code` procedures."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from sidecypher import Description, Options
from sidecypher_procedures.code.model import (
    ENTITY_TYPES,
    LANGUAGES,
    RELATIONSHIP_TYPES,
    Algorithm,
    EntityType,
    Language,
    RelationshipType,
    Resolution,
)
from sidecypher_procedures.fusion import Method, Normalization

SURE: tuple[Resolution, ...] = ("exact", "typed", "flow")
"""The ways of resolution that are nearly always right."""

MOST_INDEXES = 100
"""The most SCIP indexes of a repository."""

Tiers: TypeAlias = Annotated[
    list[Resolution], Description("the ways of resolution that count"), Field(min_length=1)
]


class IndexOptions(Options):
    """How a folder is indexed."""

    languages: Annotated[
        list[Language], Description("the languages to read"), Field(min_length=1)
    ] = list(LANGUAGES)
    resolve: Annotated[
        bool,
        Description(
            "whether pyrefly resolves calls of Python, and scip-typescript those of JavaScript "
            "and TypeScript"
        ),
    ] = True
    scip: Annotated[
        list[str],
        Description("SCIP indexes that say what calls reach, by their paths from the root"),
        Field(max_length=MOST_INDEXES),
    ] = []
    communities: Annotated[
        Algorithm, Description("how communities are found, or that they are not")
    ] = "louvain"
    entity_types: Annotated[
        list[EntityType], Description("the types of entities that are kept"), Field(min_length=1)
    ] = list(ENTITY_TYPES)
    rel_types: Annotated[
        list[RelationshipType], Description("the types of relationships that are kept")
    ] = list(RELATIONSHIP_TYPES)


class CommunitiesOptions(Options):
    """Which communities are listed."""

    limit: Annotated[int, Description("the most rows"), Field(ge=1, le=10_000)] = 100
    members: Annotated[
        int, Description("the most members that are named"), Field(ge=0, le=1000)
    ] = 5


class MapOptions(Options):
    """What a map shows."""

    limit: Annotated[
        int, Description("the most communities, the largest first"), Field(ge=1, le=50)
    ] = 24


class CallsOptions(Options):
    """Which calls are followed."""

    hops: Annotated[int, Description("how many calls away"), Field(ge=1, le=5)] = 1
    limit: Annotated[int, Description("the most rows"), Field(ge=1, le=10_000)] = 100
    tiers: Tiers = list(SURE)


class GraphOptions(Options):
    """How far and along what a search goes."""

    hops: Annotated[int, Description("how many relationships away"), Field(ge=0, le=5)] = 2
    limit: Annotated[int, Description("the most rows"), Field(ge=1, le=1000)] = 30
    direction: Annotated[
        Literal["both", "out", "in"],
        Description("whether relationships are followed from their source, their target, or both"),
    ] = "both"
    rel_types: Annotated[
        list[RelationshipType],
        Description("the types of relationships that are followed"),
        Field(min_length=1),
    ] = list(RELATIONSHIP_TYPES)
    entity_types: Annotated[
        list[EntityType],
        Description("the types of entities that are found"),
        Field(min_length=1),
    ] = ["function", "class", "module", "variable"]
    tiers: Tiers = list(SURE)


class SearchOptions(GraphOptions):
    """How a repository is searched."""

    legs: Annotated[
        list[Literal["graph", "sparse", "dense"]],
        Description("how chunks are found: names and relationships, words, meaning"),
        Field(min_length=1),
    ] = ["sparse"]
    community_boost: Annotated[
        float,
        Description("how much is added for a community that a match is in, 0.5 for half"),
        Field(ge=0, le=10),
    ] = 0.0
    fusion: Annotated[
        Method, Description("how the legs are joined: by ranks, or by weighted scores")
    ] = "rrf"
    weights: Annotated[dict[str, float], Description("how much each leg counts; 1 by default")] = {}
    normalization: Annotated[
        Normalization, Description("what makes scores comparable in a weighted fusion")
    ] = "max"
    vector: Annotated[
        list[float] | None, Description("the query's embedding for the leg dense")
    ] = None


class EmbedOptions(Options):
    """How many chunks get embeddings."""

    limit: Annotated[
        int, Description("the most chunks; call again for the rest"), Field(ge=1, le=100_000)
    ] = 2_000


class Ranked(Options):
    """An item of a ranked list."""

    id: Annotated[str, Description("what it is")]
    score: Annotated[float, Description("how well it fits; only the order counts for ranks")] = 0.0


class RankedList(Options):
    """What one search has found, the best first."""

    name: Annotated[str, Description("the name that the column `ranks` has for it")]
    items: Annotated[list[Ranked], Description("what it found, each once")]
    weight: Annotated[float, Description("how much it counts")] = 1.0


class FuseOptions(Options):
    """How ranked lists are joined."""

    fusion: Annotated[
        Method, Description("how the lists are joined: by ranks, or by weighted scores")
    ] = "rrf"
    normalization: Annotated[
        Normalization, Description("what makes scores comparable in a weighted fusion")
    ] = "max"
    limit: Annotated[int, Description("the most rows"), Field(ge=1, le=10_000)] = 100


class PathOptions(Options):
    """Which calls a path may have."""

    hops: Annotated[int, Description("the most calls"), Field(ge=1, le=20)] = 10
    tiers: Tiers = list(SURE)


class Change(Options):
    """What has changed; all of it together."""

    entities: Annotated[list[str], Description("names or ids of entities")] = []
    files: Annotated[list[str], Description("files below the root")] = []
    diff: Annotated[
        str, Description("a unified diff against what is indexed"), Field(max_length=10_000_000)
    ] = ""


class ImpactOptions(Options):
    """How far the effects of a change are followed."""

    hops: Annotated[int, Description("how many relationships away"), Field(ge=1, le=10)] = 3
    limit: Annotated[
        int, Description("the most rows, not counting those with depth 0"), Field(ge=1, le=10_000)
    ] = 200
    rel_types: Annotated[
        list[RelationshipType],
        Description("the types of relationships that an effect follows"),
        Field(min_length=1),
    ] = ["calls", "inherits", "references"]
    tiers: Tiers = list(SURE)


class EdgesOptions(Options):
    """Which relationships are listed."""

    types: Annotated[
        list[RelationshipType] | None, Description("only relationships of these types")
    ] = None
    tiers: Annotated[list[Resolution] | None, Description("only these ways of resolution")] = None
