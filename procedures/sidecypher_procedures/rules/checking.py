"""Checking a rule against the others of its scope, and recording what contradicts it."""

from sidecypher import Context
from sidecypher_procedures.rules.detector import DETECTOR, VERSION, Reading, Verdict, compare
from sidecypher_procedures.rules.evidence import Found, write
from sidecypher_procedures.rules.locking import Lock
from sidecypher_procedures.rules.model import Rule, Strategy
from sidecypher_procedures.rules.reading import rules_like


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
    found = [
        Found(rule, other, DETECTOR, VERSION, "conflict", each.layer, each.reason)
        for other, each in verdicts
        if each.kind == "conflict"
    ]
    write(ctx, found, held, strategy)
    return tuple(sorted(each.other.rule_id for each in found))


def verdict_on(rule: Rule, other: Rule) -> Verdict:
    """Tell whether two rules contradict each other at some instant at which both hold."""
    verdict = compare(rule.reading, other.reading)
    if verdict.kind == "conflict" and not rule.contends_with(other):
        return Verdict("compatible", verdict.layer, "they never hold at the same time")
    return verdict
