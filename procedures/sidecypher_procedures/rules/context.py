"""Context of a task for an agent, read within a deadline."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.fusion import Fused, reciprocal
from sidecypher_procedures.rules.concept_search import Neighbourhood, Seeds, expand, find_seeds
from sidecypher_procedures.rules.options import ContextInput
from sidecypher_procedures.rules.ranking import Decision, Moment
from sidecypher_procedures.rules.selection import Reader, SearchLimits, select
from sidecypher_procedures.rules.store import rules_of

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
    """Return the ids of the extractions that exist."""
    wanted = sorted(set(extraction_ids))
    if not wanted:
        return set()
    return {each["extractionId"] for each in ctx.run(_LIVE, extractionIds=wanted)}


def extractions_of(ctx: Context, fact_ids: list[str], limits: SearchLimits) -> dict[str, list[str]]:
    """Return the extractions that assert each of some facts, the latest first."""
    if not fact_ids:
        return {}
    bounds = limits.bounds
    found = ctx.run(
        _OF_FACTS,
        factIds=fact_ids,
        known=limits.known,
        most=bounds.evidence,
        neighbours=bounds.neighbours,
    )
    return {each["factId"]: each["extractionIds"] for each in found}


def citations_of(ctx: Context, extraction_ids: list[str]) -> list[dict[str, Any]]:
    """Return the citations of some extractions, the latest first."""
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


def graph_context(
    ctx: Context, request: ContextInput, moment: Moment, limits: SearchLimits
) -> dict[str, Any]:
    """Return the `graphContext` of docs/rules.md.

    Rules are read first, at least a thousand of them even after the deadline. Each further step
    runs only if time is left; if not, the result has what was read so far.
    """
    rules, rules_cut = _rules(ctx, request, moment, limits)
    seeds, around = Seeds((), {}, cut=False), Neighbourhood()
    evidence: dict[str, list[str]] = {}
    citations: list[dict[str, Any]] = []
    if not limits.deadline.expired():
        seeds = find_seeds(ctx, request, limits)
        around = expand(ctx, seeds, limits)
    if not limits.deadline.expired():
        evidence = extractions_of(ctx, list(around.relations), limits)
    cited = _cited_extractions(rules, evidence)
    if not limits.deadline.expired():
        citations = citations_of(ctx, cited[: limits.bounds.citations])
    return {
        "entities": _entities(seeds.found, around),
        "relations": _relations(around, evidence),
        "styleRules": rules,
        "citations": citations,
        "truncated": rules_cut or seeds.cut or around.cut or len(cited) > limits.bounds.citations,
        "timedOut": limits.deadline.expired(),
    }


def _rules(
    ctx: Context, request: ContextInput, moment: Moment, limits: SearchLimits
) -> tuple[list[dict[str, Any]], bool]:
    """Return the active rules that still have an extraction, and whether there are more."""
    reader = Reader(
        request.user_id,
        request.project_id,
        request.session_id,
        request.agent_id,
        request.team_id,
    )
    bounds = limits.bounds
    rule_set = rules_of(ctx, reader.scopes, limits.deadline)
    decisions = select(rule_set.rules, rule_set.contradictions(moment.known), moment, reader)
    active = [each for each in decisions if each.status == "active"]
    # Prohibitions come first, so that the limit does not cut them off.
    active.sort(key=lambda each: not each.contender.negative)
    kept = active[: bounds.rules]
    stated = [_stated_by(each, moment) for each in kept]
    live = live_extractions(ctx, chain.from_iterable(stated))
    found = [
        _rule(each, [one for one in ids if one in live][: bounds.evidence])
        for each, ids in zip(kept, stated, strict=True)
    ]
    is_cut = rule_set.cut or len(active) > len(kept)
    return [each for each in found if each["extractionIds"]], is_cut


def _rule(decision: Decision, extraction_ids: list[str]) -> dict[str, Any]:
    rule = decision.contender.rule
    return {
        "id": rule.rule_id,
        "text": rule.text,
        "scope": rule.scope.kind,
        "temporalMarker": decision.contender.assertion.marker,
        "status": decision.status,
        "extractionIds": extraction_ids,
    }


def _stated_by(decision: Decision, moment: Moment) -> list[str]:
    """Return the extractions of a rule's assertions, the latest first."""
    known = decision.contender.rule.known_at(moment.known)
    latest = sorted(known, key=lambda each: each.recorded_at, reverse=True)
    return list(dict.fromkeys(each.extraction_id for each in latest))


def _cited_extractions(
    rules: Iterable[dict[str, Any]], evidence: dict[str, list[str]]
) -> list[str]:
    """Return the distinct extractions of the rules, then those of the relations."""
    lists = (*(rule["extractionIds"] for rule in rules), *evidence.values())
    return list(dict.fromkeys(chain.from_iterable(lists)))


def _entities(seeds: Iterable[Fused], around: Neighbourhood) -> list[dict[str, Any]]:
    """Return the concepts, the best first.

    Concepts reached by relations are ranked after the seeds, in the order in which they were
    found, so none of them precedes a seed.
    """
    fused = {each.id: each for each in seeds}
    found = [
        fused.get(key) or Fused(key, reciprocal(place), {"graph": place})
        for place, key in enumerate(around.names, start=1)
    ]
    found.sort(key=lambda each: (-each.score, each.id))
    return [
        {"id": each.id, "name": around.names[each.id], "score": each.score, "sources": each.ranks}
        for each in found
    ]


def _relations(around: Neighbourhood, evidence: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {
            "from": each.source,
            "type": each.type,
            "to": each.target,
            "factId": each.fact_id,
            "extractionIds": evidence.get(each.fact_id, []),
        }
        for each in around.relations.values()
    ]
