"""MAP arguments of the `code` procedures."""

from typing import Annotated

from pydantic import Field

from sidecypher import Description, Options
from sidecypher_procedures.code.model import LANGUAGES, Language, RelationshipType, Resolution

SURE: tuple[Resolution, ...] = ("exact", "typed", "flow")
"""The ways of resolution that are nearly always right."""


class IndexOptions(Options):
    """How a folder is indexed."""

    languages: Annotated[
        list[Language], Description("the languages to read"), Field(min_length=1)
    ] = list(LANGUAGES)
    resolve: Annotated[
        bool, Description("whether the type checker pyrefly resolves calls of Python, too")
    ] = True


class CallsOptions(Options):
    """Which calls are followed."""

    hops: Annotated[int, Description("how many calls away"), Field(ge=1, le=5)] = 1
    limit: Annotated[int, Description("the most rows"), Field(ge=1, le=10_000)] = 100
    tiers: Annotated[
        list[Resolution],
        Description("the ways of resolution that count"),
        Field(min_length=1),
    ] = list(SURE)


class EdgesOptions(Options):
    """Which relationships are listed."""

    types: Annotated[
        list[RelationshipType] | None, Description("only relationships of these types")
    ] = None
    tiers: Annotated[list[Resolution] | None, Description("only these ways of resolution")] = None
