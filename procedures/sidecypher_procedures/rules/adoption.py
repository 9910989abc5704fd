"""Checking and completing rules written by plain Cypher, for the trigger `rules-guard`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Final, Self
from uuid import uuid4

from pydantic import Field, model_validator

from sidecypher import CallError, Context, Node, Options
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.changes import record_contradictions
from sidecypher_procedures.rules.detector.comparison import IDENTITY, Reading
from sidecypher_procedures.rules.errors import InvalidRule, RuleTaken
from sidecypher_procedures.rules.model import (
    Lock,
    Marker,
    Scope,
    StatedRule,
    Strategy,
    ends_early,
    lock,
    lock_all,
)
from sidecypher_procedures.rules.options import RuleInput, scope_argument
from sidecypher_procedures.rules.rows import Rechecked, Recorded
from sidecypher_procedures.rules.store import rules_like, stored_reading

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
# The trigger that writes the outbox does not see what another trigger creates.
_TELL: Final = """
    UNWIND $checked AS rule
    MATCH (:StyleRule {ruleId: rule.id})-[c:CONTRADICTS {createdAt: rule.recordedAt}]-()
    MATCH (counter:OutboxCounter {id: 'changes'}) WHERE 'CONTRADICTS' IN counter.types
    SET counter.lock = true
    WITH counter, coalesce(counter.seq, 0) AS last, collect(DISTINCT c.key) AS keys
    SET counter.seq = last + size(keys)
    WITH last, keys
    UNWIND range(1, size(keys)) AS number
    CREATE (:Outbox {
        seq: last + number, kind: 'created', label: 'CONTRADICTS', id: keys[number - 1],
        at: datetime.realtime()
    })
"""
# Properties of a StyleRule whose argument of `rules.add` has another name.
_RENAMED: Final = {"user": "userId", "ruleId": "id"}
_RULE_KEYS: Final = (
    *("user", "text", "slot", "value", "object", "operator", "polarity", "condition"),
    *("scope", "scopeId", "temporalMarker", "since", "expiresAt"),
    *("strict", "confirmed", "confidence", "ruleId"),
)
_ASSERTION_KEYS: Final = (
    *("since", "expiresAt", "scope", "temporalMarker", "confidence", "extractionId"),
    *("recordedAt", "retractedAt", "confirmed", "strict"),
)


class _Assertion(Options):
    """Properties of a `PREFERS` relationship."""

    since: datetime
    scope: Any
    temporal_marker: Marker
    extraction_id: Any
    expires_at: datetime | None = None
    confidence: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    recorded_at: datetime | None = None
    retracted_at: datetime | None = None
    confirmed: bool = False
    strict: bool = False

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if ends_early(self.since, self.expires_at):
            raise ValueError("it expires before it begins; set a later `expiresAt`, or none")
        return self


@dataclass(frozen=True, slots=True)
class _UncheckedRule:
    """A rule in the graph that was not checked since its last write."""

    node: Node
    rule_id: str
    scope: Scope
    reading: Reading
    text: str
    strict: bool
    confirmed: bool


def record_nodes(ctx: Context, nodes: Iterable[Node], strategy: Strategy) -> list[Recorded]:
    """Check rules that were written by plain Cypher, and complete their properties.

    Each rule gets its canonical parts, a new id if it has none, and the time of its record. Its
    contradictions are recorded as in `rules.add`, and are written to the outbox if it is watched.

    Raises:
        InvalidRule: A property is missing or has an invalid value.
        RuleTaken: The same rule exists already.
    """
    rules = [_read(*each) for each in _found(ctx, nodes)]
    held = lock_all(ctx, [pending.scope for pending in rules])
    recorded = []
    for pending in rules:
        contradicts = _adopt(ctx, pending, held[pending.scope], strategy)
        recorded.append(Recorded(id=pending.rule_id, contradicts=contradicts))
    checked = [
        {"id": pending.rule_id, "recordedAt": held[pending.scope].recorded_at}
        for pending, row in zip(rules, recorded, strict=True)
        if row.contradicts
    ]
    if checked:
        ctx.run(_TELL, checked=checked)
    return recorded


def recheck(ctx: Context, limit: int, strategy: Strategy) -> list[Rechecked]:
    """Check rules that were written while no sidecar was running.

    Invalid rules do not block others: they are returned last, up to the limit. Scopes are locked in
    the order of all writers.
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
        pending = _read(node, rule, assertions)
        contradicts = _adopt(ctx, pending, lock(ctx, pending.scope), strategy)
    except (InvalidRule, RuleTaken) as error:
        problem = f"[{error.code}] {error.message}"
        return Rechecked(id=rule.get("ruleId"), contradicts=[], problem=problem)
    return Rechecked(id=pending.rule_id, contradicts=contradicts, problem=None)


def _found(
    ctx: Context, nodes: Iterable[Node]
) -> list[tuple[Node, dict[str, Any], list[dict[str, Any]]]]:
    records = ctx.run(_FOUND, nodes=list(nodes))
    return [(each["node"], each["rule"], each["assertions"]) for each in records]


def _adopt(ctx: Context, pending: _UncheckedRule, held: Lock, strategy: Strategy) -> list[str]:
    for other in rules_like(ctx, [held.scope], pending.reading).rules:
        if other.rule_id != pending.rule_id and other.reading.identity == pending.reading.identity:
            raise RuleTaken(
                f"The rule is there already as `{shown_id(other.rule_id)}`",
                hint="Add a PREFERS and an Extraction to that one instead.",
            )
    ctx.run(_ADOPT, node=pending.node, rule=_properties(pending, held), recordedAt=held.recorded_at)
    alike = {each.rule_id: each for each in rules_like(ctx, [held.scope], pending.reading).rules}
    rule = alike.pop(pending.rule_id)
    return record_contradictions(ctx, rule, alike.values(), held, strategy)


def _properties(pending: _UncheckedRule, held: Lock) -> dict[str, Any]:
    return {
        "ruleId": pending.rule_id,
        "scope": held.scope.kind,
        "scopeId": held.scope.id,
        **pending.reading.identity,
        "topics": pending.reading.topics,
        "text": pending.text,
        "strict": pending.strict,
        "confirmed": pending.confirmed,
        "checkedRev": held.rev,
    }


def _read(node: Node, rule: dict[str, Any], assertions: list[dict[str, Any]]) -> _UncheckedRule:
    if not assertions:
        raise InvalidRule(
            "A StyleRule has no PREFERS",
            hint="Create (:User)-[:PREFERS {since, scope, temporalMarker, extractionId}]->(rule).",
        )
    for each in assertions:
        _check_assertion(each, rule)
    left = [each for each in assertions if "retractedAt" not in each]
    strict = any(each.get("strict") for each in left)
    confirmed = rule.get("confirmed") is True or any(each.get("confirmed") for each in left)
    rule_id = rule.get("ruleId") or uuid4().hex
    if "checkedRev" in rule and all(name in rule for name in IDENTITY):
        # The stored parts are canonical already: parsing them again could change them.
        for name in ("user", "scope", "scopeId", "text"):
            if not isinstance(rule.get(name), str):
                raise InvalidRule(
                    f"A StyleRule lacks `{name}`",
                    hint=f"Give back the `{name}` it was stated with.",
                )
        with _property_errors():
            scope = scope_argument(rule["user"], rule["scope"], rule["scopeId"])
        reading = stored_reading(rule)
        return _UncheckedRule(node, rule_id, scope, reading, rule["text"], strict, confirmed)
    given = _parse(rule, assertions)
    strict = strict or given.strict
    return _UncheckedRule(node, rule_id, given.scope, given.reading, given.text, strict, confirmed)


def _parse(rule: dict[str, Any], assertions: list[dict[str, Any]]) -> StatedRule:
    """Parse a rule like `rules.add`; its assertions must have the same polarity."""
    stated = {_RENAMED.get(name, name): rule[name] for name in _RULE_KEYS if name in rule}
    markers = {each["temporalMarker"] for each in assertions}
    since = assertions[0]["since"]
    with _property_errors():
        readings = [
            RuleInput.from_map(
                {**stated, "since": since, "temporalMarker": marker}, "StyleRule"
            ).stated
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
    """Raise InvalidRule if a `PREFERS` is incomplete or does not match its rule and user."""
    # Other properties are not checked.
    stated = {name: value for name, value in assertion.items() if name in _ASSERTION_KEYS}
    with _property_errors():
        _Assertion.from_map(stated, "PREFERS")
    if assertion["scope"] != rule.get("scope", "global"):
        raise InvalidRule(
            "The PREFERS has another `scope` than its rule", hint="Give both the same."
        )
    if assertion["user"] != rule.get("user"):
        raise InvalidRule(
            "The PREFERS comes from another user than its rule names",
            hint="Set the rule's `user` to that User's id.",
        )


@contextmanager
def _property_errors() -> Iterator[None]:
    """Turn the error of an argument into the error of a property in the graph."""
    try:
        yield
    except CallError as error:
        said = error.message.replace("The argument", "The property", 1)
        raise InvalidRule(
            _with_property_names(said), hint=_with_property_names(error.hint)
        ) from None


def _with_property_names(text: str) -> str:
    """Return a text about fields of `rules.add` with the names of the properties."""
    for name, field in _RENAMED.items():
        for before in "`.":
            text = text.replace(f"{before}{field}`", f"{before}{name}`")
    return text
