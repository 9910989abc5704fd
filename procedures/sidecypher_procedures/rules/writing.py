"""Writing rules: every one with its provenance, checked against the others of its scope."""

from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.rules.checking import record
from sidecypher_procedures.rules.errors import RuleTaken
from sidecypher_procedures.rules.inputs import ExtractionInput, RuleInput
from sidecypher_procedures.rules.locking import Lock
from sidecypher_procedures.rules.model import Assertion, Rule
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.reading import rules_like

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
    SET p = $assertion, r.strict = r.strict OR $strict, r.checkedRev = $rev
"""
_CONFIRM: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId}), (e:Extraction {extractionId: $extractionId})
    CREATE (e)-[:CONFIRMED {at: $now, recordedAt: $recordedAt}]->(r)
    SET r.checkedRev = $rev
"""
_RETRACT: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId}), (e:Extraction {extractionId: $extractionId})
    CREATE (e)-[:RETRACTED {at: $now, recordedAt: $recordedAt}]->(r)
    SET r.checkedRev = $rev, r.strict = false
    WITH r
    MATCH (:User)-[p:PREFERS]->(r) WHERE p.retractedAt IS NULL
    SET p.retractedAt = $recordedAt
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A rule that was stated.

    Attributes:
        rule_id: Its id.
        created: Whether it is new.
        contradicts: The ids of the rules of its scope that it contradicts.
    """

    rule_id: str
    created: bool
    contradicts: tuple[str, ...]


def state_rule(
    ctx: Context, rule: RuleInput, extraction: ExtractionInput, held: Lock, moment: Moment
) -> Written:
    """Write one assertion of a rule, and the rule itself if nobody has stated it before.

    Args:
        ctx: The call.
        rule: What is stated.
        extraction: Where it comes from; it is written already.
        held: The lock of the rule's scope.
        moment: From when it holds if it does not say so itself, and the strategy in force.

    Raises:
        InvalidRule: It has expired before it begins.
        RuleTaken: The id it asks for is another rule's, or it is there under another id.
    """
    assertion = rule.asserted(moment.now, held.recorded_at, extraction.extraction_id)
    properties = _properties(assertion, held)
    alike = rules_like(ctx, [held.scope], rule.reading).rules
    same = next((each for each in alike if each.reading.identity == rule.reading.identity), None)
    if same is None:
        rule_id = _create(ctx, rule, held, properties)
    else:
        rule_id = same.rule_id
        _assert_again(ctx, rule, held, properties, rule_id)
    contradicts = record(ctx, rule_id, rule.reading, held, moment.strategy)
    return Written(rule_id, created=same is None, contradicts=contradicts)


def confirm_rule(ctx: Context, rule: Rule, extraction: ExtractionInput, held: Lock) -> None:
    """Write that the user confirms a rule."""
    _write_about(ctx, _CONFIRM, rule, extraction, held)


def retract_rule(ctx: Context, rule: Rule, extraction: ExtractionInput, held: Lock) -> None:
    """Write that the user takes a rule back: its assertions end, and nothing is deleted."""
    _write_about(ctx, _RETRACT, rule, extraction, held)


def _write_about(
    ctx: Context, statement: LiteralString, rule: Rule, extraction: ExtractionInput, held: Lock
) -> None:
    ctx.run(
        statement,
        ruleId=rule.rule_id,
        extractionId=extraction.extraction_id,
        now=held.now,
        recordedAt=held.recorded_at,
        rev=held.rev,
    )


def _create(ctx: Context, rule: RuleInput, held: Lock, assertion: dict[str, Any]) -> str:
    rule_id = rule.rule_id or uuid4().hex
    if rule.rule_id is not None and len(ctx.run(_HAS_ID, ruleId=rule_id)):
        raise RuleTaken(
            f"The id `{shown_id(rule_id)}` belongs to another rule",
            hint="Give another `ruleId`, or leave it out.",
        )
    properties = {
        "ruleId": rule_id,
        "user": held.scope.user,
        "scope": held.scope.kind,
        "scopeId": held.scope.id,
        **rule.reading.identity,
        "text": rule.text,
        "strict": rule.strict,
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
    ctx: Context, rule: RuleInput, held: Lock, assertion: dict[str, Any], rule_id: str
) -> None:
    if rule.rule_id not in {None, rule_id}:
        raise RuleTaken(
            f"The rule is there already as `{shown_id(rule_id)}`",
            hint="Leave `ruleId` out, or give this one.",
        )
    ctx.run(
        _ASSERT_AGAIN,
        user=held.scope.user,
        extractionId=assertion["extractionId"],
        ruleId=rule_id,
        assertion=assertion,
        strict=rule.strict,
        rev=held.rev,
    )


def _properties(assertion: Assertion, held: Lock) -> dict[str, Any]:
    """Return the properties of a `PREFERS`."""
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
