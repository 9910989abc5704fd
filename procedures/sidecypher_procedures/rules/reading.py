"""Reading rules out of the graph."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.rules.detector import IDENTITY, Reading
from sidecypher_procedures.rules.errors import UnknownRule
from sidecypher_procedures.rules.model import (
    Assertion,
    Confirmation,
    Contradiction,
    Contradictions,
    Rule,
    Scope,
)

_RULE: Final = """
    {
        ruleId: r.ruleId, user: r.user, scope: r.scope, scopeId: r.scopeId, text: r.text,
        slot: r.slot, object: r.object, operator: r.operator, value: r.value,
        polarity: r.polarity, condition: r.condition,
        assertions: [(:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NOT NULL | properties(p)],
        confirmations: [(e:Extraction)-[c:CONFIRMED]->(r) | {
            at: c.at, recordedAt: c.recordedAt, extractionId: e.extractionId
        }],
        contradictions: [(r)-[c:CONTRADICTS]-(:StyleRule) | c {
            .*, ruleId: startNode(c).ruleId, otherId: endNode(c).ruleId
        }]
    } AS rule
"""
_OF_SCOPES: Final = f"""
    UNWIND $scopes AS seen
    MATCH (r:StyleRule {{user: $user, scope: seen.scope, scopeId: seen.scopeId}})
    RETURN {_RULE}
"""
# The index on (user, scope, scopeId, slot, value) needs something to be said of each of the five.
_OF_SLOT: Final = f"""
    UNWIND $scopes AS seen
    MATCH (r:StyleRule {{user: $user, scope: seen.scope, scopeId: seen.scopeId, slot: $slot}})
    WHERE r.value IS NOT NULL
    RETURN {_RULE}
"""
_OF_VALUE: Final = f"""
    UNWIND $scopes AS seen
    MATCH (r:StyleRule {{
        user: $user, scope: seen.scope, scopeId: seen.scopeId, slot: $slot, value: $value
    }})
    RETURN {_RULE}
"""
_CONTRADICTIONS: Final = """
    MATCH (r:StyleRule {user: $user, scope: $scope, scopeId: $scopeId})
    MATCH (r)-[c:CONTRADICTS]->(o:StyleRule)
    WHERE $known IS NULL OR c.createdAt <= $known
    RETURN c {.*, ruleId: r.ruleId, otherId: o.ruleId} AS found
    ORDER BY c.createdAt, c.key
"""
_BY_ID: Final = f"MATCH (r:StyleRule {{ruleId: $ruleId}}) RETURN {_RULE}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Some rules and the contradictions recorded among them.

    Attributes:
        rules: The rules.
        recorded: Every contradiction of one of them; between two of them it is there twice.
    """

    rules: tuple[Rule, ...]
    recorded: tuple[Contradiction, ...]

    def contradictions(self, known: datetime | None) -> Contradictions:
        """Return those that were recorded by `known`, for asking about pairs."""
        return Contradictions(self.recorded, known)


def rules_of(ctx: Context, scopes: Sequence[Scope]) -> Shelf:
    """Read every rule of some scopes, all of one user."""
    return _shelf(ctx.run(_OF_SCOPES, **_where(scopes)))


def rules_like(ctx: Context, scopes: Sequence[Scope], reading: Reading) -> Shelf:
    """Read the rules of some scopes, all of one user, that could contradict or be the same.

    These are the ones of its slot. Where the slot is unknown no detector can tell, so that these
    are the ones that say the same.
    """
    if reading.slot:
        return _shelf(ctx.run(_OF_SLOT, **_where(scopes), slot=reading.slot))
    return _shelf(ctx.run(_OF_VALUE, **_where(scopes), slot="", value=reading.value))


def rules_around(ctx: Context, scopes: Sequence[Scope], reading: Reading) -> Shelf:
    """Read the rules of some scopes that may have a say in what becomes of one.

    These are the ones that are like it; and all of them, if a contradiction leads further.
    """
    shelf = rules_like(ctx, scopes, reading)
    here = {rule.rule_id for rule in shelf.rules}
    ends = {end for each in shelf.recorded for end in (each.rule_id, each.other_id)}
    return shelf if ends <= here else rules_of(ctx, scopes)


def rule_named(ctx: Context, rule_id: str) -> Rule:
    """Read one rule by its id.

    Raises:
        UnknownRule: No rule has this id.
    """
    found = _shelf(ctx.run(_BY_ID, ruleId=rule_id)).rules
    if not found:
        raise UnknownRule(f"There is no rule `{shown_id(rule_id)}`")
    return found[0]


def recorded_in(ctx: Context, scope: Scope, known: datetime | None) -> Iterator[Contradiction]:
    """Yield the contradictions of a scope that were recorded by `known`, the earliest first."""
    where = {"user": scope.user, "scope": scope.kind, "scopeId": scope.id}
    for record in ctx.run(_CONTRADICTIONS, **where, known=known):
        yield _contradiction(record["found"])


def stored_reading(rule: dict[str, Any]) -> Reading:
    """Return the reading that a checked rule keeps in its properties."""
    return Reading(text=rule["text"], **{name: rule[name] for name in IDENTITY})


def transaction_time(ctx: Context) -> datetime:
    """Return the time of the caller's transaction, the default `now` of everything."""
    now: datetime = ctx.run("RETURN datetime.transaction() AS now").single()["now"]
    return now


def _where(scopes: Sequence[Scope]) -> dict[str, Any]:
    return {
        "user": scopes[0].user,
        "scopes": [{"scope": each.kind, "scopeId": each.id} for each in scopes],
    }


def _shelf(records: Iterable[dict[str, Any]]) -> Shelf:
    found = [record["rule"] for record in records]
    # What was never stated, such as a node whose PREFERS was just deleted, is no rule yet.
    return Shelf(
        rules=tuple(_rule(each) for each in found if each["assertions"]),
        recorded=tuple(_contradiction(edge) for each in found for edge in each["contradictions"]),
    )


def _rule(stored: dict[str, Any]) -> Rule:
    return Rule(
        rule_id=stored["ruleId"],
        scope=Scope(stored["user"], stored["scope"], stored["scopeId"]),
        reading=stored_reading(stored),
        text=stored["text"],
        assertions=tuple(map(_assertion, stored["assertions"])),
        confirmations=tuple(
            Confirmation(each["at"], each["recordedAt"], each["extractionId"])
            for each in stored["confirmations"]
        ),
    )


def _assertion(stored: dict[str, Any]) -> Assertion:
    return Assertion(
        since=stored["since"],
        expires_at=stored.get("expiresAt"),
        marker=stored["temporalMarker"],
        confidence=stored.get("confidence"),
        confirmed=stored.get("confirmed", False),
        strict=stored.get("strict", False),
        recorded_at=stored["recordedAt"],
        retracted_at=stored.get("retractedAt"),
        extraction_id=stored["extractionId"],
    )


def _contradiction(stored: dict[str, Any]) -> Contradiction:
    return Contradiction(
        rule_id=stored["ruleId"],
        other_id=stored["otherId"],
        reason=stored["reason"],
        created_at=stored["createdAt"],
        extraction_id=stored["extractionId"],
        detector=stored["detector"],
        detector_version=stored["detectorVersion"],
        verdict=stored["verdict"],
        layer=stored["layer"],
        strategy=stored["strategy"],
    )
