"""Taking over rules that somebody wrote by plain Cypher: the trigger `rules-guard` asks for it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from sidecypher import Context, Node
from sidecypher_procedures.rules.checking import record
from sidecypher_procedures.rules.detector import Reading
from sidecypher_procedures.rules.errors import InvalidRule, RuleTaken
from sidecypher_procedures.rules.fields import Fields
from sidecypher_procedures.rules.inputs import RULE_KEYS, RuleInput
from sidecypher_procedures.rules.locking import Lock, lock_all
from sidecypher_procedures.rules.model import Marker, Strategy
from sidecypher_procedures.rules.reading import rules_like, shown_id
from sidecypher_procedures.rules.writing import Written, says_the_same

_FOUND: Final = """
    UNWIND $nodes AS r
    RETURN r AS node, properties(r) AS rule,
        [(u:User)-[p:PREFERS]->(r) | p {.*, user: u.id}] AS assertions
"""
_UNCHECKED: Final = """
    MATCH (r:StyleRule)
    WHERE EXISTS { (:User)-[p:PREFERS]->(r) WHERE r.checkedRev IS NULL OR p.recordedAt IS NULL }
    RETURN r AS node ORDER BY r.ruleId LIMIT $limit
"""
_ADOPT: Final = """
    UNWIND [$node] AS r
    SET r += $rule
    WITH r
    MATCH (:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NULL
    SET p.recordedAt = $recordedAt, p.scope = r.scope,
        p.confirmed = coalesce(p.confirmed, false), p.strict = coalesce(p.strict, r.strict)
"""
_ASSERTION_KEYS: Final = (
    *("since", "expiresAt", "scope", "temporalMarker", "confidence", "extractionId"),
)
_IDENTITY: Final = ("slot", "object", "operator", "value", "polarity", "condition")


@dataclass(frozen=True, slots=True)
class _Stray:
    """A rule in the graph that nothing has checked since it was last written."""

    node: Node
    rule: RuleInput
    rule_id: str
    strict: bool


def record_nodes(ctx: Context, nodes: Iterable[Node], strategy: Strategy) -> list[Written]:
    """Check rules that were written by plain Cypher, and complete their properties.

    Each gets its canonical parts, an id when it has none, and the time of its record; the
    contradictions are recorded as for a rule of `rules.add`.

    Args:
        ctx: The call.
        nodes: `StyleRule` nodes, each with at least one `PREFERS`.
        strategy: The strategy in force, for the record.

    Raises:
        InvalidRule: One lacks something, or has a value that no rule can have.
        RuleTaken: The same rule is there already.
    """
    found = ctx.run(_FOUND, nodes=list(nodes))
    strays = [_read(each["node"], each["rule"], each["assertions"]) for each in found]
    held = lock_all(ctx, [stray.rule.scope for stray in strays])
    return [_adopt(ctx, stray, held[stray.rule.scope], strategy) for stray in strays]


def unchecked_nodes(ctx: Context, limit: int) -> list[Node]:
    """Return rules that were written while no sidecar could check them, at most `limit`."""
    return [each["node"] for each in ctx.run(_UNCHECKED, limit=limit)]


def _adopt(ctx: Context, stray: _Stray, held: Lock, strategy: Strategy) -> Written:
    reading = stray.rule.reading
    for other in rules_like(ctx, [held.scope], reading).rules:
        if other.rule_id != stray.rule_id and says_the_same(other, stray.rule):
            raise RuleTaken(
                f"The rule is there already as `{shown_id(other.rule_id)}`",
                hint="Add a PREFERS and an Extraction to that one instead.",
            )
    ctx.run(_ADOPT, node=stray.node, rule=_properties(stray, held), recordedAt=held.recorded_at)
    contradicts = record(ctx, stray.rule_id, reading, held, strategy)
    return Written(stray.rule_id, created=False, contradicts=contradicts)


def _properties(stray: _Stray, held: Lock) -> dict[str, Any]:
    reading = stray.rule.reading
    return {
        "ruleId": stray.rule_id,
        "scope": held.scope.kind,
        "scopeId": held.scope.id,
        "slot": reading.slot,
        "object": reading.object,
        "operator": reading.operator,
        "value": reading.value,
        "polarity": reading.polarity,
        "condition": reading.condition,
        "text": stray.rule.text,
        "strict": stray.strict,
        "checkedRev": held.rev,
    }


def _read(node: Node, rule: dict[str, Any], assertions: list[dict[str, Any]]) -> _Stray:
    if not assertions:
        raise InvalidRule(
            "A StyleRule has no PREFERS",
            hint="Create (:User)-[:PREFERS {since, scope, temporalMarker, extractionId}]->(rule).",
        )
    for each in assertions:
        _check_assertion(each, rule)
    latest = max(assertions, key=lambda each: each["since"])
    stated = {name: value for name, value in rule.items() if name in RULE_KEYS}
    given = RuleInput.parse(
        {**stated, "since": latest["since"], "temporalMarker": latest["temporalMarker"]}
    )
    if "checkedRev" in rule and all(name in rule for name in _IDENTITY):
        # It is stored in canonical form: to read it anew could change what it is.
        given = replace(given, reading=_stored(rule))
    return _Stray(node, given, rule.get("ruleId") or uuid4().hex, bool(rule.get("strict")))


def _stored(rule: dict[str, Any]) -> Reading:
    return Reading(text=rule["text"], **{name: rule[name] for name in _IDENTITY})


def _check_assertion(assertion: dict[str, Any], rule: dict[str, Any]) -> None:
    """Refuse a `PREFERS` that does not say since when, where and what it says about time."""
    # Other properties are their author's own.
    stated = {name: value for name, value in assertion.items() if name in _ASSERTION_KEYS}
    fields = Fields(stated, "PREFERS", _ASSERTION_KEYS, InvalidRule)
    for name in ("since", "scope", "temporalMarker", "extractionId"):
        if name not in fields:
            raise fields.refuse(f"lacks `{name}`", f"Set `{name}` on the relationship.")
    since, expires_at = fields.instant("since"), fields.instant("expiresAt")
    fields.choice("temporalMarker", Marker, "current")
    fields.fraction("confidence")
    if expires_at is not None and since is not None and expires_at <= since:
        raise fields.refuse("expires before it begins", "Set a later `expiresAt`, or none.")
    if assertion["scope"] != rule.get("scope", "global"):
        raise fields.refuse("has another `scope` than its rule", "Give both the same.")
    if assertion["user"] != rule.get("user"):
        raise fields.refuse(
            "comes from another user than its rule names",
            "Set the rule's `user` to that User's id.",
        )
