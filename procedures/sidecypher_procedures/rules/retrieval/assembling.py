"""Putting a context together, step by step, within its time."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from sidecypher import Context
from sidecypher_procedures.rules.ranking import Decision, Moment
from sidecypher_procedures.rules.reading import rules_of
from sidecypher_procedures.rules.retrieval.bounds import Bounds, Reach
from sidecypher_procedures.rules.retrieval.citing import (
    citations_of,
    extractions_of,
    live_extractions,
)
from sidecypher_procedures.rules.retrieval.expanding import Neighbourhood, expand
from sidecypher_procedures.rules.retrieval.fusion import Fused
from sidecypher_procedures.rules.retrieval.request import ContextRequest
from sidecypher_procedures.rules.retrieval.seeding import Seeds, find_seeds
from sidecypher_procedures.rules.selection import select


def graph_context(
    ctx: Context, request: ContextRequest, moment: Moment, reach: Reach
) -> dict[str, Any]:
    """Return what an agent should know before it writes.

    Rules come first and whatever the deadline; after that each step is taken only while there is
    time, so that what was read so far is the answer.

    Args:
        ctx: The call.
        request: What is asked for.
        moment: When and how rules are selected.
        reach: How far to look.

    Returns:
        The MAP `graphContext` of docs/rules.md.
    """
    rules, rules_cut = _rules(ctx, request, moment, reach.bounds)
    seeds, around = Seeds((), {}, cut=False), Neighbourhood()
    evidence: dict[str, list[str]] = {}
    citations: list[dict[str, Any]] = []
    if not reach.deadline.expired():
        seeds = find_seeds(ctx, request, reach)
        around = expand(ctx, seeds, reach)
    if not reach.deadline.expired():
        evidence = extractions_of(ctx, list(around.relations), reach)
    cited = _cited(rules, evidence)
    if not reach.deadline.expired():
        citations = citations_of(ctx, cited[: reach.bounds.citations])
    return {
        "entities": _entities(seeds.found, around),
        "relations": _relations(around, evidence),
        "styleRules": rules,
        "citations": citations,
        "truncated": rules_cut or seeds.cut or around.cut or len(cited) > reach.bounds.citations,
        "timedOut": reach.deadline.expired(),
    }


def _rules(
    ctx: Context, request: ContextRequest, moment: Moment, bounds: Bounds
) -> tuple[list[dict[str, Any]], bool]:
    """Return the active rules that still have an extraction, and whether there are more."""
    reader = request.reader
    shelf = rules_of(ctx, reader.scopes)
    decisions = select(shelf.rules, shelf.contradictions(moment.known), moment, reader)
    active = [each for each in decisions if each.status == "active"]
    # Where not all can be told, it is prohibitions that must not be missed.
    active.sort(key=lambda each: not each.contender.negative)
    told = active[: bounds.rules]
    stated = [_stated_by(each, moment) for each in told]
    live = live_extractions(ctx, chain.from_iterable(stated))
    found = [
        _rule(each, [one for one in ids if one in live][: bounds.evidence])
        for each, ids in zip(told, stated, strict=True)
    ]
    return [each for each in found if each["extractionIds"]], len(active) > len(told)


def _rule(decision: Decision, extraction_ids: list[str]) -> dict[str, Any]:
    rule = decision.contender.rule
    return {
        "ruleId": rule.rule_id,
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


def _cited(rules: Iterable[dict[str, Any]], evidence: dict[str, list[str]]) -> list[str]:
    """Return the extractions of the rules, then those of the relations, each once."""
    lists = (*(rule["extractionIds"] for rule in rules), *evidence.values())
    return list(dict.fromkeys(chain.from_iterable(lists)))


def _entities(seeds: Iterable[Fused], around: Neighbourhood) -> list[dict[str, Any]]:
    """Return the concepts, the best first.

    Those reached by relations go on where the list of seeds ends, in the order in which they were
    found: so none of them is before a seed.
    """
    fused = {each.key: each for each in seeds}
    found = [
        fused.get(key) or Fused(key, {"graph": place})
        for place, key in enumerate(around.names, start=1)
    ]
    found.sort(key=lambda each: (-each.score, each.key))
    return [
        {"id": each.key, "name": around.names[each.key], "score": each.score, "sources": each.ranks}
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
