"""Where rules and relations come from."""

from collections.abc import Iterable
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.rules.retrieval.bounds import Reach

_LIVE: Final = """
    UNWIND $extractionIds AS extractionId
    MATCH (e:Extraction {extractionId: extractionId})
    RETURN e.extractionId AS extractionId
"""
_OF_FACTS: Final = """
    UNWIND $factIds AS factId
    MATCH (f:Fact {factId: factId})
    CALL (f) {
        MATCH (e:Extraction)-[:ASSERTED|CREATED]->(f)
        WHERE $known IS NULL OR e.createdAt <= $known
        WITH DISTINCT e LIMIT $neighbours
        RETURN e ORDER BY e.createdAt DESC, e.extractionId LIMIT $most
    }
    RETURN factId, collect(e.extractionId) AS extractionIds
"""
_CITATIONS: Final = """
    UNWIND $extractionIds AS extractionId
    MATCH (e:Extraction {extractionId: extractionId})
    RETURN extractionId, e.rawSnippet AS snippet, e.createdAt AS createdAt,
        head(COLLECT {
            MATCH (e)-[:EXTRACTED_FROM]->(s:Session) RETURN s.id ORDER BY s.id
        }) AS sessionId,
        head(COLLECT {
            MATCH (e)-[:EXTRACTED_FROM_ARTIFACT]->(a:Artifact) RETURN a.id ORDER BY a.id
        }) AS artifactId
    ORDER BY createdAt DESC, extractionId
"""


def live_extractions(ctx: Context, extraction_ids: Iterable[str]) -> set[str]:
    """Return those of some extractions that are there."""
    wanted = sorted(set(extraction_ids))
    if not wanted:
        return set()
    return {each["extractionId"] for each in ctx.run(_LIVE, extractionIds=wanted)}


def extractions_of(ctx: Context, fact_ids: list[str], reach: Reach) -> dict[str, list[str]]:
    """Return the extractions that assert each of some facts, the latest first."""
    if not fact_ids:
        return {}
    bounds = reach.bounds
    found = ctx.run(
        _OF_FACTS,
        factIds=fact_ids,
        known=reach.known,
        most=bounds.evidence,
        neighbours=bounds.neighbours,
    )
    return {each["factId"]: each["extractionIds"] for each in found}


def citations_of(ctx: Context, extraction_ids: list[str]) -> list[dict[str, Any]]:
    """Return what is told of some extractions, the latest first."""
    if not extraction_ids:
        return []
    return [
        {
            "extractionId": each["extractionId"],
            "sessionId": each["sessionId"],
            "artifactId": each["artifactId"],
            "snippet": each["snippet"],
            "createdAt": each["createdAt"],
        }
        for each in ctx.run(_CITATIONS, extractionIds=extraction_ids)
    ]
