"""Writing rules with their provenance, and recording contradictions within their scope."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, LiteralString
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.detector.comparison import DETECTOR, Verdict, compare, version
from sidecypher_procedures.rules.errors import InvalidInput, RuleTaken, ScopeChanged, UnknownRule
from sidecypher_procedures.rules.model import (
    Assertion,
    Evidence,
    Lock,
    Rule,
    Source,
    StatedRule,
    Strategy,
)
from sidecypher_procedures.rules.options import JudgementInput
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.store import rules_like, rules_of

_HAS_ID: Final = "MATCH (r:StyleRule {ruleId: $ruleId}) RETURN r.ruleId AS ruleId"
_CREATE: Final = """
    MATCH (u:User {id: $user}), (e:Extraction {extractionId: $extractionId})
    CREATE (r:StyleRule), (e)-[:CREATED]->(r), (e)-[:ASSERTED]->(r), (u)-[p:PREFERS]->(r)
    SET r = $rule, p = $assertion
"""
_ASSERT_AGAIN: Final = """
    MATCH (u:User {id: $user}), (e:Extraction {extractionId: $extractionId})
    MATCH (r:StyleRule {ruleId: $ruleId})
    CREATE (e)-[:ASSERTED]->(r), (u)-[p:PREFERS]->(r)
    SET p = $assertion, r.strict = r.strict OR p.strict, r.checkedRev = $rev,
        r.confirmed = coalesce(r.confirmed, false) OR p.confirmed
"""
_CONFIRM: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId}), (e:Extraction {extractionId: $extractionId})
    CREATE (e)-[:CONFIRMED {at: $now, recordedAt: $recordedAt}]->(r)
    SET r.checkedRev = $rev, r.confirmed = true
"""
_RETRACT: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId}), (e:Extraction {extractionId: $extractionId})
    CREATE (e)-[:RETRACTED {at: $now, recordedAt: $recordedAt}]->(r)
    SET r.checkedRev = $rev, r.strict = false, r.confirmed = false
    WITH r
    MATCH (:User)-[p:PREFERS]->(r) WHERE p.retractedAt IS NULL
    SET p.retractedAt = $recordedAt
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A stated rule, and the ids of the rules of its scope that it contradicts."""

    rule_id: str
    created: bool
    contradicts: list[str]


def state_rule(
    ctx: Context, rule: StatedRule, extraction: Source, held: Lock, moment: Moment
) -> Written:
    """Write one assertion of a rule, and the rule itself if it is new.

    The extraction must exist. The rule holds from `moment.now` on unless it has a `since`.

    Raises:
        InvalidRule: It expires before it begins.
        RuleTaken: Its id belongs to another rule, or the rule exists with another id.
    """
    assertion = rule.asserted(moment.now, held.recorded_at, extraction.extraction_id)
    properties = _properties(assertion, held)
    alike = rules_like(ctx, [held.scope], rule.reading).rules
    same = next((each for each in alike if each.reading.identity == rule.reading.identity), None)
    if same is None:
        rule_id = _create(ctx, rule, held, properties)
        stored = Rule(rule_id, held.scope, rule.reading, rule.text, (assertion,))
    else:
        _assert_again(ctx, rule, held, properties, same.rule_id)
        stored = replace(same, assertions=(*same.assertions, assertion))
    others = [each for each in alike if each is not same]
    contradicts = record_contradictions(ctx, stored, others, held, moment.strategy)
    return Written(stored.rule_id, created=same is None, contradicts=contradicts)


Feedback = Literal["confirmed", "retracted"]

_FEEDBACK: Final[dict[Feedback, LiteralString]] = {"confirmed": _CONFIRM, "retracted": _RETRACT}


def write_feedback(
    ctx: Context, feedback: Feedback, rule: Rule, extraction: Source, held: Lock
) -> None:
    """Write a confirmation, or a retraction, which ends the assertions but does not delete them."""
    ctx.run(
        _FEEDBACK[feedback],
        ruleId=rule.rule_id,
        extractionId=extraction.extraction_id,
        now=held.now,
        recordedAt=held.recorded_at,
        rev=held.rev,
    )


def _create(ctx: Context, rule: StatedRule, held: Lock, assertion: dict[str, Any]) -> str:
    rule_id = rule.rule_id or uuid4().hex
    if rule.rule_id is not None and len(ctx.run(_HAS_ID, ruleId=rule_id)):
        raise RuleTaken(
            f"The id `{shown_id(rule_id)}` belongs to another rule",
            hint="Give another `id`, or leave it out.",
        )
    properties = {
        "ruleId": rule_id,
        "user": held.scope.user,
        "scope": held.scope.kind,
        "scopeId": held.scope.id,
        **rule.reading.identity,
        "topics": rule.reading.topics,
        "text": rule.text,
        "strict": rule.strict,
        "confirmed": rule.confirmed,
        "checkedRev": held.rev,
    }
    ctx.run(
        _CREATE,
        user=held.scope.user,
        extractionId=assertion["extractionId"],
        rule=properties,
        assertion=assertion,
    )
    return rule_id


def _assert_again(
    ctx: Context, rule: StatedRule, held: Lock, assertion: dict[str, Any], rule_id: str
) -> None:
    if rule.rule_id not in {None, rule_id}:
        raise RuleTaken(
            f"The rule is there already as `{shown_id(rule_id)}`",
            hint="Leave `id` out, or give this one.",
        )
    ctx.run(
        _ASSERT_AGAIN,
        user=held.scope.user,
        extractionId=assertion["extractionId"],
        ruleId=rule_id,
        assertion=assertion,
        rev=held.rev,
    )


def _properties(assertion: Assertion, held: Lock) -> dict[str, Any]:
    """Return the properties of a `PREFERS` relationship."""
    return {
        "since": assertion.since,
        "expiresAt": assertion.expires_at,
        "scope": held.scope.kind,
        "temporalMarker": assertion.marker,
        "confidence": assertion.confidence,
        "confirmed": assertion.confirmed,
        "strict": assertion.strict,
        "recordedAt": assertion.recorded_at,
        "extractionId": assertion.extraction_id,
    }


_CONTRADICTS: Final = """
    UNWIND $found AS each
    MATCH (later:StyleRule {ruleId: each.later}), (earlier:StyleRule {ruleId: each.earlier})
    MERGE (later)-[c:CONTRADICTS {key: each.key}]-(earlier)
    ON CREATE SET c += each.evidence, c.createdAt = $recordedAt, c.strategy = $strategy
"""


@dataclass(frozen=True, slots=True)
class FoundContradiction:
    """Evidence that two rules of one scope contradict each other.

    Attributes:
        verdict: ``conflict``, or ``suspected`` by a model.
        score: Confidence of the model, 0 to 1; None for the detector.
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
        """Unique key of the unordered pair and the version of the detector."""
        pair = sorted((self.rule.rule_id, self.other.rule_id))
        return json.dumps([self.detector, self.version, *pair], ensure_ascii=False)

    def edge(self) -> dict[str, Any]:
        """Return the relationship to write, from the later recorded rule to the earlier one."""
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


def write_contradictions(
    ctx: Context, found: Iterable[FoundContradiction], held: Lock, strategy: Strategy
) -> None:
    """Write one relationship per pair and version of a detector, unless it exists."""
    edges = [each.edge() for each in found]
    if edges:
        ctx.run(_CONTRADICTS, found=edges, recordedAt=held.recorded_at, strategy=strategy)


def record_contradictions(
    ctx: Context, rule: Rule, others: Iterable[Rule], held: Lock, strategy: Strategy
) -> list[str]:
    """Record which others of its scope contradict a stored rule, and return their ids.

    One relationship per pair and version of the detector, starting at the later recorded rule.
    """
    verdicts = ((other, verdict_on(rule, other)) for other in others)
    found = [
        FoundContradiction(rule, other, DETECTOR, version(), "conflict", each.layer, each.reason)
        for other, each in verdicts
        if each.kind == "conflict"
    ]
    write_contradictions(ctx, found, held, strategy)
    return sorted(each.other.rule_id for each in found)


def verdict_on(rule: Rule, other: Rule) -> Verdict:
    """Return the verdict on two rules; rules that never hold at the same time are compatible."""
    verdict = compare(rule.reading, other.reading)
    if verdict.kind == "conflict" and not rule.contends_with(other):
        return Verdict("compatible", verdict.layer, "they never hold at the same time")
    return verdict


_JUDGE: Final = "judge"
_REV: Final = "MATCH (s:RuleScope {key: $key}) RETURN s.rev AS rev"


def unknown_to(ctx: Context, rule: Rule) -> Iterator[Rule]:
    """Return the rules of the same scope that the detector cannot compare, sorted by id."""
    rule_set = rules_of(ctx, [rule.scope])
    recorded = rule_set.contradictions(None)
    others = sorted(rule_set.rules, key=lambda each: each.rule_id)
    return (
        each
        for each in others
        if each.rule_id != rule.rule_id
        and rule.contends_with(each)
        and recorded.between(rule.rule_id, each.rule_id) is None
        and verdict_on(rule, each).kind == "unknown"
    )


def revision_of(ctx: Context, rule: Rule) -> int:
    """Return the revision of the rule's scope; 0 if no procedure has written it."""
    return next((each["rev"] for each in ctx.run(_REV, key=rule.scope.key)), 0)


def check_unchanged(rule: Rule, rev: int, held: Lock) -> None:
    """Raise ScopeChanged if a rule of the scope was written since the revision `rev`."""
    if held.rev != rev + 1:
        raise ScopeChanged(
            f"The scope of the rule `{shown_id(rule.rule_id)}` was written in the meantime"
        )


def suspect(
    ctx: Context, rule: Rule, judgements: Sequence[JudgementInput], held: Lock, strategy: Strategy
) -> None:
    """Record the contradictions of a rule that a model suspects.

    Raises:
        UnknownRule: Another rule is not in the scope.
        InvalidInput: The detector can decide one of the pairs itself.
    """
    others = {each.rule_id: each for each in rules_of(ctx, [rule.scope]).rules}
    found = [_judged(rule, others.get(each.other_id), each) for each in judgements]
    write_contradictions(ctx, found, held, strategy)


def _judged(rule: Rule, other: Rule | None, judgement: JudgementInput) -> FoundContradiction:
    if other is None:
        raise UnknownRule(
            f"There is no rule `{shown_id(judgement.other_id)}` in the scope of the other one"
        )
    if verdict_on(rule, other).kind != "unknown":
        raise InvalidInput(
            "A judgement is about a pair that the detector knows the answer about",
            hint="Give only the pairs of `rules.unknown`.",
        )
    return FoundContradiction(
        rule,
        other,
        detector=_JUDGE,
        version=judgement.model,
        verdict="suspected",
        layer=_JUDGE,
        reason=judgement.reason,
        score=judgement.score,
    )
