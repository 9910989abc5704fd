"""Decide and record which rules of a scope contradict each other, and what a model suspects."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.detector.comparison import (
    DETECTOR,
    VERSION,
    Reading,
    Verdict,
    compare,
)
from sidecypher_procedures.rules.errors import InvalidInput, ScopeChanged, UnknownRule
from sidecypher_procedures.rules.model import Evidence, Lock, Rule, Strategy
from sidecypher_procedures.rules.options import JudgementInput
from sidecypher_procedures.rules.store import rules_like, rules_of

_CONTRADICTS: Final = """
    UNWIND $found AS each
    MATCH (later:StyleRule {ruleId: each.later}), (earlier:StyleRule {ruleId: each.earlier})
    MERGE (later)-[c:CONTRADICTS {key: each.key}]-(earlier)
    ON CREATE SET c += each.evidence, c.createdAt = $recordedAt, c.strategy = $strategy
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found about two rules of one scope.

    Attributes:
        rule: The rule that was looked at.
        other: The other one.
        detector: What found it.
        version: Which version of that.
        verdict: ``conflict``, or ``suspected`` by a model.
        layer: The layer of the detector.
        reason: Why, in words.
        score: How sure a model is, 0 to 1.
    """

    rule: Rule
    other: Rule
    detector: str
    version: str
    verdict: Evidence
    layer: str
    reason: str
    score: float | None = None

    @property
    def key(self) -> str:
        """What the unordered pair and the detector's version have in common with no others."""
        pair = sorted((self.rule.rule_id, self.other.rule_id))
        return json.dumps([self.detector, self.version, *pair], ensure_ascii=False)

    def edge(self) -> dict[str, Any]:
        """Return what is written: from the rule that was recorded later to the earlier one."""
        earlier, later = sorted(
            (self.rule, self.other), key=lambda each: (each.first_recorded, each.rule_id)
        )
        return {
            "later": later.rule_id,
            "earlier": earlier.rule_id,
            "key": self.key,
            "evidence": {
                "reason": self.reason,
                "extractionId": self.rule.latest_extraction,
                "detector": self.detector,
                "detectorVersion": self.version,
                "verdict": self.verdict,
                "layer": self.layer,
                "score": self.score,
            },
        }


def write(ctx: Context, found: Iterable[Found], held: Lock, strategy: Strategy) -> None:
    """Write one relationship per pair and version of a detector; twice changes nothing.

    Args:
        ctx: The call.
        found: What was found.
        held: The lock of the rules' scope.
        strategy: The strategy in force, for the record.
    """
    edges = [each.edge() for each in found]
    if edges:
        ctx.run(_CONTRADICTS, found=edges, recordedAt=held.recorded_at, strategy=strategy)


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


_JUDGE: Final = "judge"
_REV: Final = "MATCH (s:RuleScope {key: $key}) RETURN s.rev AS rev"


def unknown_to(ctx: Context, rule: Rule) -> Iterator[Rule]:
    """Yield the rules of the same scope of which the detector cannot tell, by their ids."""
    shelf = rules_of(ctx, [rule.scope])
    recorded = shelf.contradictions(None)
    others = sorted(shelf.rules, key=lambda each: each.rule_id)
    return (
        each
        for each in others
        if each.rule_id != rule.rule_id
        and rule.contends_with(each)
        and recorded.between(rule.rule_id, each.rule_id) is None
        and verdict_on(rule, each).kind == "unknown"
    )


def revision_of(ctx: Context, rule: Rule) -> int:
    """Return how often the rule's scope was written; 0 if never by a procedure."""
    return next((each["rev"] for each in ctx.run(_REV, key=rule.scope.key)), 0)


def check_unchanged(rule: Rule, rev: int, held: Lock) -> None:
    """Refuse a judgement about a scope that is not as it was.

    Args:
        rule: The rule that the model was asked about.
        rev: The revision of its scope at that time.
        held: The lock of the scope.

    Raises:
        ScopeChanged: Somebody has written a rule of the scope in the meantime.
    """
    if held.rev != rev + 1:
        raise ScopeChanged(
            f"The scope of the rule `{shown_id(rule.rule_id)}` was written in the meantime"
        )


def suspect(
    ctx: Context, rule: Rule, judgements: Sequence[JudgementInput], held: Lock, strategy: Strategy
) -> None:
    """Record what a model suspects.

    Args:
        ctx: The call.
        rule: The rule it was asked about.
        judgements: What it suspects.
        held: The lock of the rule's scope.
        strategy: The strategy in force, for the record.

    Raises:
        UnknownRule: Another rule is not in the scope.
        InvalidInput: The detector knows the answer about a pair.
    """
    others = {each.rule_id: each for each in rules_of(ctx, [rule.scope]).rules}
    found = [_found(rule, others.get(each.other_id), each) for each in judgements]
    write(ctx, found, held, strategy)


def _found(rule: Rule, other: Rule | None, judgement: JudgementInput) -> Found:
    if other is None:
        raise UnknownRule(
            f"There is no rule `{shown_id(judgement.other_id)}` in the scope of the other one"
        )
    if verdict_on(rule, other).kind != "unknown":
        raise InvalidInput(
            "A judgement is about a pair that the detector knows the answer about",
            hint="Give only the pairs of `rules.unknown`.",
        )
    return Found(
        rule,
        other,
        detector=_JUDGE,
        version=judgement.model,
        verdict="suspected",
        layer=_JUDGE,
        reason=judgement.reason,
        score=judgement.score,
    )
