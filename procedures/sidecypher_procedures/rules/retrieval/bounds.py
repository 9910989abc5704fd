"""How much of a graph one context may read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sidecypher import Deadline


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is read at most; docs/rules.md lists each.

    Attributes:
        text_characters: Characters of a prompt, and of an artifact, in which names are looked for.
        phrases: Phrases of each of the two that are looked up.
        phrase_words: Words of a phrase.
        phrase_characters: Characters of a phrase in a script that puts no spaces between words.
        ids: Ids in `chunkIds`, and in `entityIds`.
        chunk_concepts: Concepts that one chunk proposes.
        seeds: Concepts from which relations are followed first.
        hops: Relations in a row that are followed.
        frontier: Concepts whose relations are read in a later hop.
        node_relations: Relations of one concept that are followed.
        entities: Concepts in a context.
        relations: Relations in a context.
        rules: Rules in a context.
        evidence: Extractions that are told for one rule or relation.
        citations: Extractions that are told in full.
        neighbours: Relationships of one node that are read to find the latest of its extractions,
            or the concepts of a chunk.
    """

    text_characters: int = 20_000
    phrases: int = 2_000
    phrase_words: int = 4
    phrase_characters: int = 12
    ids: int = 100
    chunk_concepts: int = 10
    seeds: int = 20
    hops: int = 2
    frontier: int = 10
    node_relations: int = 25
    entities: int = 100
    relations: int = 200
    rules: int = 500
    evidence: int = 5
    citations: int = 200
    neighbours: int = 1_000


BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one context may look.

    Attributes:
        user: Whose concepts and facts are read; nobody else's are.
        known: Only what was recorded by then counts; None is everything.
        deadline: When to stop.
        bounds: How much is read.
    """

    user: str
    known: datetime | None
    deadline: Deadline
    bounds: Bounds = BOUNDS
