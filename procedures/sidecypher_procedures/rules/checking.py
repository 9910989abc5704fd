"""Checking a rule against the others of its scope, and recording what contradicts it."""

import json
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.rules.detector import DETECTOR, VERSION, Reading, Verdict, compare
from sidecypher_procedures.rules.locking import Lock
from sidecypher_procedures.rules.model import Rule, Strategy
from sidecypher_procedures.rules.reading import rules_like

_CONTRADICTS: Final = """
    UNWIND $found AS each
    MATCH (later:StyleRule {ruleId: each.later}), (earlier:StyleRule {ruleId: each.earlier})
    MERGE (later)-[c:CONTRADICTS {key: each.key}]-(earlier)
    ON CREATE SET
        c.reason = each.reason, c.createdAt = $recordedAt, c.extractionId = each.extractionId,
        c.detector = $detector, c.detectorVersion = $version, c.verdict = each.verdict,
        c.layer = each.layer, c.strategy = $strategy
"""


def record(
    ctx: Context, rule_id: str, reading: Reading, held: Lock, strategy: Strategy
) -> tuple[str, ...]:
    """Record every contradiction between a stored rule and the others of its scope.

    One relationship per pair and version of the detector, from the rule that was recorded later.
    Recording twice changes nothing.

    Args:
        ctx: The call.
        rule_id: The rule.
        reading: What it says.
        held: The lock of its scope.
        strategy: The strategy in force, for the record.

    Returns:
        The ids of the rules that it contradicts.
    """
    alike = {each.rule_id: each for each in rules_like(ctx, [held.scope], reading).rules}
    rule = alike.pop(rule_id)
    verdicts = ((other, verdict_on(rule, other)) for other in alike.values())
    found = [_edge(rule, other, each) for other, each in verdicts if each.kind == "conflict"]
    if found:
        ctx.run(
            _CONTRADICTS,
            found=found,
            recordedAt=held.recorded_at,
            detector=DETECTOR,
            version=VERSION,
            strategy=strategy,
        )
    ends = {each[end] for each in found for end in ("later", "earlier")}
    return tuple(sorted(ends - {rule_id}))


def verdict_on(rule: Rule, other: Rule) -> Verdict:
    """Tell whether two rules contradict each other at some instant at which both hold."""
    verdict = compare(rule.reading, other.reading)
    if verdict.kind == "conflict" and not rule.contends_with(other):
        return Verdict("compatible", verdict.layer, "they never hold at the same time")
    return verdict


def in_order(rule: Rule, other: Rule) -> tuple[Rule, Rule]:
    """Return the rule that was recorded first, and the later one."""
    earlier, later = sorted((rule, other), key=lambda each: (each.first_recorded, each.rule_id))
    return earlier, later


def pair_key(one: str, other: str) -> str:
    """Return what an unordered pair and the detector's version have in common with no others.

    Example:
        >>> pair_key("r2", "r1") == pair_key("r1", "r2")
        True
    """
    return json.dumps([DETECTOR, VERSION, *sorted((one, other))], ensure_ascii=False)


def _edge(rule: Rule, other: Rule, verdict: Verdict) -> dict[str, Any]:
    earlier, later = in_order(rule, other)
    return {
        "later": later.rule_id,
        "earlier": earlier.rule_id,
        "key": pair_key(rule.rule_id, other.rule_id),
        "reason": verdict.reason,
        "verdict": "conflict",
        "layer": verdict.layer,
        "extractionId": rule.latest_extraction,
    }
