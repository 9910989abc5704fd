"""Writing what a text is about: concepts, and facts that relate them."""

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sidecypher import Context

# Concepts come in the order of their keys, which every writer keeps: so no two wait for each other.
_CONCEPTS: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    UNWIND $concepts AS each
    MERGE (c:Concept {key: each.key})
    ON CREATE SET c.user = $user, c.name = each.name, c.extractionId = $extractionId
    CREATE (e)-[:ASSERTED]->(c)
    FOREACH (_ IN CASE c.extractionId WHEN $extractionId THEN [1] ELSE [] END |
        CREATE (e)-[:CREATED]->(c))
"""
_MENTIONS: Final = """
    MATCH (a:Artifact {id: $artifactId})
    UNWIND $keys AS key
    MATCH (c:Concept {key: key})
    MERGE (a)-[:MENTIONS]->(c)
"""
_FACTS: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    UNWIND $facts AS each
    MATCH (from:Concept {key: each.fromKey}), (to:Concept {key: each.toKey})
    MERGE (f:Fact {factId: each.factId})
    ON CREATE SET f.user = $user, f.type = each.type, f.fromKey = each.fromKey,
        f.toKey = each.toKey, f.extractionId = $extractionId
    CREATE (e)-[:ASSERTED]->(f)
    FOREACH (_ IN CASE f.extractionId WHEN $extractionId THEN [1] ELSE [] END |
        CREATE (from)-[:RELATED_TO {factId: each.factId, type: each.type}]->(to))
"""


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that a user's texts are about.

    Attributes:
        user: The user's id; no two users share a concept.
        name: What the user calls it.

    Example:
        >>> Concept("ann", "Project  Apollo").key
        '["ann","project apollo"]'
    """

    user: str
    name: str

    @property
    def key(self) -> str:
        """What all spellings of it have in common, and nothing else does."""
        return _json([self.user, normal_name(self.name)])


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation between two concepts of one user.

    Attributes:
        source: Where the relation begins.
        type: What it is, such as ``DEPENDS_ON``.
        target: Where it ends.
    """

    source: Concept
    type: str
    target: Concept

    @property
    def fact_id(self) -> str:
        """Its id, the same whoever asserts it and however often."""
        parts = _json([self.source.key, self.type, self.target.key])
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def normal_name(name: str) -> str:
    """Return what all spellings of a name have in common: NFKC, case and spaces do not count.

    It never changes, unlike the normal form of a rule's text: concepts are known by it.

    Example:
        >>> normal_name(" Node.JS\u00a0server ")
        'node.js server'
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def write_concepts(
    ctx: Context,
    user: str,
    concepts: Iterable[Concept],
    extraction_id: str,
    artifact_id: str | None,
) -> list[str]:
    """Write concepts and that an extraction asserts them; return their keys.

    Args:
        ctx: The call.
        user: The user's id.
        concepts: Whatever was found, also twice.
        extraction_id: The extraction, which is written already.
        artifact_id: The artifact that mentions them, or None.
    """
    found = {each.key: each.name for each in reversed(list(concepts))}
    keys = sorted(found)
    if keys:
        ctx.run(
            _CONCEPTS,
            user=user,
            extractionId=extraction_id,
            concepts=[{"key": key, "name": found[key]} for key in keys],
        )
        if artifact_id is not None:
            ctx.run(_MENTIONS, artifactId=artifact_id, keys=keys)
    return keys


def write_facts(ctx: Context, user: str, facts: Iterable[Fact], extraction_id: str) -> list[str]:
    """Write facts between concepts that are there, asserted by an extraction; return their ids."""
    found = {each.fact_id: each for each in facts}
    ids = sorted(found)
    if ids:
        ctx.run(
            _FACTS,
            user=user,
            extractionId=extraction_id,
            facts=[
                {
                    "factId": each,
                    "type": found[each].type,
                    "fromKey": found[each].source.key,
                    "toKey": found[each].target.key,
                }
                for each in ids
            ],
        )
    return ids


def _json(parts: list[str]) -> str:
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
