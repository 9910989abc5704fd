"""Taking over rules that somebody wrote by plain Cypher: the trigger `rules-guard` asks for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import uuid4

from sidecypher import Context, Node
from sidecypher_procedures.fields import Fields, shown_id
from sidecypher_procedures.rules.checking import record
from sidecypher_procedures.rules.detector import IDENTITY, Reading
from sidecypher_procedures.rules.errors import InvalidRule, RuleTaken
from sidecypher_procedures.rules.inputs import RULE_KEYS, RuleInput, parse_scope
from sidecypher_procedures.rules.locking import Lock, lock, lock_all
from sidecypher_procedures.rules.model import Marker, Scope, Strategy
from sidecypher_procedures.rules.reading import rules_like, stored_reading
from sidecypher_procedures.rules.writing import Written

_FOUND: Final = """
    UNWIND $nodes AS r
    RETURN r AS node, properties(r) AS rule,
        [(u:User)-[p:PREFERS]->(r) | p {.*, user: u.id}] AS assertions
"""
_UNCHECKED: Final = """
    MATCH (r:StyleRule)
    WHERE EXISTS { (:User)-[p:PREFERS]->(r) WHERE r.checkedRev IS NULL OR p.recordedAt IS NULL }
    RETURN r AS node
    ORDER BY r.user, coalesce(r.scope, 'global'), coalesce(r.scopeId, ''), r.ruleId
"""
_ADOPT: Final = """
    UNWIND [$node] AS r
    SET r += $rule
    WITH r
    MATCH (:User)-[p:PREFERS]->(r)
    SET p.recordedAt = coalesce(p.recordedAt, $recordedAt),
        p.confirmed = coalesce(p.confirmed, false), p.strict = coalesce(p.strict, r.strict)
"""
_ASSERTION_KEYS: Final = (
    *("since", "expiresAt", "scope", "temporalMarker", "confidence", "extractionId"),
    *("recordedAt", "retractedAt", "confirmed", "strict"),
)


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What became of a rule that was checked late.

    Attributes:
        rule_id: Its id, or None.
        contradicts: The ids of the rules of its scope that it contradicts.
        problem: Why it cannot be checked, or None.
    """

    rule_id: str | None
    contradicts: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Stray:
    """A rule in the graph that nothing has checked since it was last written."""

    node: Node
    rule_id: str
    scope: Scope
    reading: Reading
    text: str
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
    strays = [_read(*each) for each in _found(ctx, nodes)]
    held = lock_all(ctx, [stray.scope for stray in strays])
    return [_adopt(ctx, stray, held[stray.scope], strategy) for stray in strays]


def recheck(ctx: Context, limit: int, strategy: Strategy) -> list[Rechecked]:
    """Check rules that were written while no sidecar could check them.

    Those that cannot be checked keep no other one waiting: they are told after the others, as far
    as there is room. Scopes are locked in the order that every writer keeps.

    Args:
        ctx: The call.
        limit: Rules at most.
        strategy: The strategy in force, for the record.
    """
    checked: list[Rechecked] = []
    problems: list[Rechecked] = []
    nodes = (each["node"] for each in ctx.run(_UNCHECKED))
    while len(checked) < limit and (some := list(islice(nodes, limit - len(checked)))):
        for node, rule, assertions in _found(ctx, some):
            outcome = _recheck(ctx, node, rule, assertions, strategy)
            (checked if outcome.problem is None else problems).append(outcome)
    return [*checked, *problems][:limit]


def _recheck(
    ctx: Context,
    node: Node,
    rule: dict[str, Any],
    assertions: list[dict[str, Any]],
    strategy: Strategy,
) -> Rechecked:
    try:
        stray = _read(node, rule, assertions)
        written = _adopt(ctx, stray, lock(ctx, stray.scope), strategy)
    except (InvalidRule, RuleTaken) as error:
        return Rechecked(rule.get("ruleId"), problem=f"[{error.code}] {error.message}")
    return Rechecked(written.rule_id, written.contradicts)


def _found(
    ctx: Context, nodes: Iterable[Node]
) -> list[tuple[Node, dict[str, Any], list[dict[str, Any]]]]:
    records = ctx.run(_FOUND, nodes=list(nodes))
    return [(each["node"], each["rule"], each["assertions"]) for each in records]


def _adopt(ctx: Context, stray: _Stray, held: Lock, strategy: Strategy) -> Written:
    for other in rules_like(ctx, [held.scope], stray.reading).rules:
        if other.rule_id != stray.rule_id and other.reading.identity == stray.reading.identity:
            raise RuleTaken(
                f"The rule is there already as `{shown_id(other.rule_id)}`",
                hint="Add a PREFERS and an Extraction to that one instead.",
            )
    ctx.run(_ADOPT, node=stray.node, rule=_properties(stray, held), recordedAt=held.recorded_at)
    contradicts = record(ctx, stray.rule_id, stray.reading, held, strategy)
    return Written(stray.rule_id, created=False, contradicts=contradicts)


def _properties(stray: _Stray, held: Lock) -> dict[str, Any]:
    return {
        "ruleId": stray.rule_id,
        "scope": held.scope.kind,
        "scopeId": held.scope.id,
        **stray.reading.identity,
        "text": stray.text,
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
    strict = any(each.get("strict") and "retractedAt" not in each for each in assertions)
    rule_id = rule.get("ruleId") or uuid4().hex
    if "checkedRev" in rule and all(name in rule for name in IDENTITY):
        # It is stored in canonical form: to read it anew could change what it is.
        for name in ("user", "scope", "scopeId", "text"):
            if not isinstance(rule.get(name), str):
                raise InvalidRule(
                    f"A StyleRule lacks `{name}`",
                    hint=f"Give back the `{name}` it was stated with.",
                )
        scope = parse_scope(rule["user"], rule["scope"], rule["scopeId"])
        return _Stray(node, rule_id, scope, stored_reading(rule), rule["text"], strict)
    given = _parse(rule, assertions)
    return _Stray(node, rule_id, given.scope, given.reading, given.text, strict or given.strict)


def _parse(rule: dict[str, Any], assertions: list[dict[str, Any]]) -> RuleInput:
    """Read a rule as `rules.add` reads one; what its assertions say about time must agree."""
    stated = {name: value for name, value in rule.items() if name in RULE_KEYS}
    markers = {each["temporalMarker"] for each in assertions}
    readings = [
        RuleInput.parse({**stated, "since": assertions[0]["since"], "temporalMarker": marker})
        for marker in sorted(markers)
    ]
    if len({each.reading.polarity for each in readings}) > 1:
        raise InvalidRule(
            "A StyleRule is wanted by one PREFERS and negated by another",
            hint="Create a StyleRule for each of the two.",
        )
    if readings[0].scope.user != rule["user"]:
        raise InvalidRule("A StyleRule has a `user` with space around it", hint="Take it away.")
    return readings[0]


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
    for name in ("recordedAt", "retractedAt"):
        fields.instant(name)
    for name in ("confirmed", "strict"):
        fields.flag(name)
    if expires_at is not None and since is not None and expires_at <= since:
        raise fields.refuse("expires before it begins", "Set a later `expiresAt`, or none.")
    if assertion["scope"] != rule.get("scope", "global"):
        raise fields.refuse("has another `scope` than its rule", "Give both the same.")
    if assertion["user"] != rule.get("user"):
        raise fields.refuse(
            "comes from another user than its rule names",
            "Set the rule's `user` to that User's id.",
        )
