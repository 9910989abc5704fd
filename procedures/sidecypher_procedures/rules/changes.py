"""Write rules, each with its provenance and checked against its scope, and show their history."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.conflicts import record
from sidecypher_procedures.rules.errors import RuleTaken
from sidecypher_procedures.rules.model import Assertion, Lock, Rule, Source, StatedRule
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.store import rules_like

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
    ctx: Context, rule: StatedRule, extraction: Source, held: Lock, moment: Moment
) -> Written:
    """Write one assertion of a rule, and the rule itself if it was not stated before.

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


def confirm_rule(ctx: Context, rule: Rule, extraction: Source, held: Lock) -> None:
    """Write that the user confirms a rule."""
    _write_about(ctx, _CONFIRM, rule, extraction, held)


def retract_rule(ctx: Context, rule: Rule, extraction: Source, held: Lock) -> None:
    """Write that the user takes a rule back: its assertions end, and nothing is deleted."""
    _write_about(ctx, _RETRACT, rule, extraction, held)


def _write_about(
    ctx: Context, statement: LiteralString, rule: Rule, extraction: Source, held: Lock
) -> None:
    ctx.run(
        statement,
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
    ctx: Context, rule: StatedRule, held: Lock, assertion: dict[str, Any], rule_id: str
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


_HISTORY: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId})
    CALL (r) {
        MATCH (:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NOT NULL
        RETURN p.recordedAt AS at, 'asserted' AS kind, p.extractionId AS extractionId,
            p {.since, .expiresAt, .temporalMarker, .confidence, .confirmed, .strict} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:CONFIRMED]->(r)
        RETURN c.recordedAt AS at, 'confirmed' AS kind, e.extractionId AS extractionId,
            c {.at} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:RETRACTED]->(r)
        RETURN c.recordedAt AS at, 'retracted' AS kind, e.extractionId AS extractionId,
            c {.at} AS facts
        UNION ALL
        MATCH (r)-[c:CONTRADICTS]-(o:StyleRule)
        RETURN c.createdAt AS at, 'contradicted' AS kind, c.extractionId AS extractionId,
            c {.reason, .verdict, .detector, .detectorVersion, .layer, .strategy,
               otherId: o.ruleId} AS facts
    }
    RETURN at, kind, extractionId, facts
    ORDER BY at, kind, extractionId
"""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a rule.

    Attributes:
        at: When it was recorded.
        kind: ``asserted``, ``confirmed``, ``retracted`` or ``contradicted``.
        extraction_id: Where it comes from.
        facts: What it said.
    """

    at: datetime
    kind: str
    extraction_id: str
    facts: dict[str, Any]


def history_of(ctx: Context, rule_id: str) -> Iterator[Event]:
    """Yield what happened to a rule, the earliest first."""
    for each in ctx.run(_HISTORY, ruleId=rule_id):
        yield Event(each["at"], each["kind"], each["extractionId"], each["facts"])
