"""The concepts that a request is about."""

from dataclasses import dataclass
from itertools import chain
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.concepts import Concept
from sidecypher_procedures.rules.retrieval.bounds import Bounds, Reach
from sidecypher_procedures.rules.retrieval.fusion import Fused, fuse
from sidecypher_procedures.rules.retrieval.naming import names_of
from sidecypher_procedures.rules.retrieval.phrases import Phrases, find_phrases
from sidecypher_procedures.rules.retrieval.request import ContextRequest

# What a chunk asserts may be anything; of what is no concept or fact all keys are null.
_CHUNKS: Final = """
    UNWIND range(0, size($chunkIds) - 1) AS place
    WITH place, $chunkIds[place] AS chunkId
    CALL (chunkId) {
        MATCH (e:Extraction {extractionId: chunkId})-[:ASSERTED|CREATED]->(x)
        RETURN x LIMIT $neighbours
        UNION ALL
        MATCH (a:Artifact {id: chunkId})-[:MENTIONS]->(x)
        RETURN x LIMIT $neighbours
    }
    WITH place, x WHERE x.user = $user
    UNWIND [x.key, x.fromKey, x.toKey] AS key
    WITH DISTINCT place, key WHERE key IS NOT NULL
    ORDER BY place, key
    WITH place, collect(key) AS keys
    RETURN place, keys[..$most] AS keys, size(keys) > $most AS cut
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
    names = names_of(ctx, chain.from_iterable(lists.values()), reach)
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
