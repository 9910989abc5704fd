"""The concepts that a request is about."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.concepts import Concept
from sidecypher_procedures.rules.retrieval.bounds import Bounds, Reach
from sidecypher_procedures.rules.retrieval.fusion import Fused, fuse
from sidecypher_procedures.rules.retrieval.phrases import Phrases, find_phrases
from sidecypher_procedures.rules.retrieval.request import ContextRequest

_CONCEPTS: Final = """
    UNWIND $keys AS key
    MATCH (c:Concept {key: key})
    WHERE c.user = $user AND EXISTS {
        MATCH (e:Extraction)-[:ASSERTED]->(c) WHERE $known IS NULL OR e.createdAt <= $known
    }
    RETURN c.key AS key, c.name AS name
"""
# A chunk may be of another user; which of its concepts are this one's is asked afterwards.
_CHUNKS: Final = """
    UNWIND range(0, size($chunkIds) - 1) AS place
    WITH place, $chunkIds[place] AS chunkId
    CALL (chunkId) {
        MATCH (e:Extraction {extractionId: chunkId})-[:ASSERTED]->(c:Concept)
        WHERE c.user = $user
        RETURN c.key AS key LIMIT $neighbours
        UNION
        MATCH (e:Extraction {extractionId: chunkId})-[:ASSERTED]->(f:Fact)
        WHERE f.user = $user
        WITH f LIMIT $neighbours
        UNWIND [f.fromKey, f.toKey] AS key
        RETURN key
        UNION
        MATCH (a:Artifact {id: chunkId})-[:MENTIONS]->(c:Concept)
        WHERE c.user = $user
        RETURN c.key AS key LIMIT $neighbours
    }
    WITH place, key ORDER BY place, key
    RETURN place, collect(key)[..$most] AS keys, count(key) > $most AS cut
    ORDER BY place
"""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Concepts that a request is about.

    Attributes:
        found: The best first.
        names: Their names by key.
        cut: Whether there are more, or not all of the text was looked at.
    """

    found: tuple[Fused, ...]
    names: dict[str, str]
    cut: bool


def find_seeds(ctx: Context, request: ContextRequest, reach: Reach) -> Seeds:
    """Find the concepts of a request, merged from all that it says."""
    bounds = reach.bounds
    proposed, chunks_cut = _of_chunks(ctx, request, bounds)
    prompt = find_phrases(request.prompt, bounds)
    artifact = find_phrases(request.artifact_text, bounds)
    lists = {
        "entities": list(request.entity_ids),
        "prompt": _keys(request.user, prompt),
        "artifact": _keys(request.user, artifact),
        "chunks": proposed,
    }
    names = _names(ctx, lists.values(), reach)
    fused = fuse({name: [key for key in keys if key in names] for name, keys in lists.items()})
    most = min(bounds.seeds, bounds.entities)
    cut = chunks_cut or prompt.cut or artifact.cut or len(fused) > most
    return Seeds(tuple(fused[:most]), names, cut)


def _keys(user: str, phrases: Phrases) -> list[str]:
    """Return the keys of phrases; the longest first, since they say most, then the earliest."""
    names = sorted(phrases.names, key=lambda name: -len(name))
    return list(dict.fromkeys(Concept(user, name).key for name in names))


def _of_chunks(ctx: Context, request: ContextRequest, bounds: Bounds) -> tuple[list[str], bool]:
    """Return the concepts of the chunks, in the order of the chunks, and whether there are more."""
    if not request.chunk_ids:
        return [], False
    found = ctx.run(
        _CHUNKS,
        chunkIds=list(request.chunk_ids),
        user=request.user,
        neighbours=bounds.neighbours,
        most=bounds.chunk_concepts,
    )
    chunks = list(found)
    keys = dict.fromkeys(key for chunk in chunks for key in chunk["keys"])
    return list(keys), any(chunk["cut"] for chunk in chunks)


def _names(ctx: Context, lists: Iterable[list[str]], reach: Reach) -> dict[str, str]:
    """Return the names of those concepts that are there, by key."""
    keys = list(dict.fromkeys(key for each in lists for key in each))
    if not keys:
        return {}
    found = ctx.run(_CONCEPTS, keys=keys, user=reach.user, known=reach.known)
    return {each["key"]: each["name"] for each in found}
