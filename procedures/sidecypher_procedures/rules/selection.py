"""Selection of the rules that a reader gets from all visible scopes, and the limits of a read."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, get_args

from sidecypher import Context, Deadline
from sidecypher_procedures.rules.detector.comparison import Reading, compare
from sidecypher_procedures.rules.errors import InvalidArgument
from sidecypher_procedures.rules.model import SCOPE_KINDS, Contradictions, Rule, Scope, ScopeKind
from sidecypher_procedures.rules.options import PlaceOptions, scope_argument
from sidecypher_procedures.rules.ranking import Contender, Decision, Moment, Status, decide
from sidecypher_procedures.rules.store import RuleSet, get_rule, rules_around, rules_of

_STATUSES: Final = get_args(Status)
_LAST: Final = sys.maxsize


@dataclass(frozen=True, slots=True)
class Reader:
    """A user who reads rules, and where: in a session, a project, by an agent, for a team, or not.

    Example:
        >>> [scope.kind for scope in Reader("ann", session_id="s1").scopes]
        ['global', 'session']
    """

    user: str
    project_id: str = ""
    session_id: str = ""
    agent_id: str = ""
    team_id: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The visible scopes, from the broadest to the narrowest."""
        ids = {"agent": self.agent_id, "project": self.project_id, "session": self.session_id}
        team = [Scope(self.team_id, "global")] if self.team_id not in {"", self.user} else []
        narrower = [Scope(self.user, kind, ids[kind]) for kind in SCOPE_KINDS if ids.get(kind)]
        return (*team, Scope(self.user, "global"), *narrower)

    @classmethod
    def parse(cls, user: str, kind: ScopeKind, identifier: str, place: PlaceOptions) -> "Reader":
        """Return the reader of a scope, who may also be in broader ones.

        Raises:
            InvalidArgument: The scope lacks an id or must not have one, or a `projectId` or
                `agentId` is not broader than the scope.
        """
        reader = cls.of(scope_argument(user, kind, identifier))
        if place.project_id and kind != "session":
            raise InvalidArgument(
                "The option `projectId` is for the scope session", hint="Leave it out."
            )
        if place.agent_id and kind not in {"session", "project"}:
            raise InvalidArgument(
                "The option `agentId` is for the scopes session and project", hint="Leave it out."
            )
        return replace(
            reader,
            project_id=place.project_id or reader.project_id,
            agent_id=place.agent_id or reader.agent_id,
            team_id=place.team_id,
        )

    @classmethod
    def of(cls, scope: Scope) -> "Reader":
        """Return the reader in a scope."""
        return cls(
            scope.user,
            project_id=scope.id if scope.kind == "project" else "",
            session_id=scope.id if scope.kind == "session" else "",
            agent_id=scope.id if scope.kind == "agent" else "",
        )


def select(
    rules: Iterable[Rule], contradictions: Contradictions, moment: Moment, reader: Reader
) -> list[Decision]:
    """Decide the status of every rule that was recorded by `moment.known`.

    Scopes are decided one after the other, from the broadest to the narrowest. Active rules shadow
    contradicting rules of broader scopes. A strict rule of a broader scope excludes contradicting,
    unconfirmed ones.

    The result has active, contested, shadowed and inactive rules in this order; in each group the
    narrowest scope comes first, then the rank.
    """
    recorded = [rule for rule in rules if rule.recorded_by(moment.known)]
    contenders = [Contender.at(rule, moment) for rule in recorded]
    settled: list[Decision] = []
    for scope in reader.scopes:
        here = [each for each in contenders if each.rule.scope == scope]
        blocked = list(_blocked(here, settled))
        held = {decision.contender.rule.rule_id for decision in blocked}
        free = [each for each in here if each.rule.rule_id not in held]
        inside = decide(free, contradictions, moment)
        narrower = _by_key(each.contender for each in inside if each.status == "active")
        settled = [_shadowed(each, narrower) for each in settled] + inside + blocked
    settled += [
        Decision(each, "inactive", "outOfScope")
        for each in contenders
        if each.rule.scope not in reader.scopes
    ]
    narrowness = {scope: number for number, scope in enumerate(reader.scopes)}
    return sorted(settled, key=lambda each: _order(each, narrowness))


def _blocked(contenders: Iterable[Contender], broader: Iterable[Decision]) -> Iterator[Decision]:
    """Yield a decision for each contender that a strict rule of a broader scope blocks."""
    strict = _by_key(
        each.contender for each in broader if each.status == "active" and each.contender.strict
    )
    for each in contenders:
        if each.phase == "eligible" and each.confirmed_at is None:
            winner = _conflicting(each, strict)
            if winner is not None:
                yield Decision(each, "contested", "pendingConfirmation", by=winner.rule)


def _shadowed(decision: Decision, narrower: "_ByKey") -> Decision:
    """Return the decision, shadowed if an active rule of a narrower scope contradicts it."""
    winner = _conflicting(decision.contender, narrower) if decision.status == "active" else None
    if winner is None:
        return decision
    return replace(decision, status="shadowed", reason="narrowerScope", by=winner.rule)


_Key = tuple[str, ...]
_ByKey = Mapping[_Key, list[tuple[int, Contender]]]


def _by_key(contenders: Iterable[Contender]) -> _ByKey:
    """Return the contenders, with their positions, by what they may be found under."""
    found: dict[_Key, list[tuple[int, Contender]]] = defaultdict(list)
    for number, each in enumerate(contenders):
        reading = each.rule.reading
        own = _own_key(reading)
        kind = "with slot" if reading.slot else "without"
        for key in [own, *((kind, topic) for topic in reading.topics)]:
            found[key].append((number, each))
    return found


def _own_key(reading: Reading) -> _Key:
    """Return what rules of one slot, or of one text, must have in common to conflict."""
    if not reading.slot:
        return ("text", reading.value)
    return ("slot", reading.slot, reading.object, reading.condition)


def _searched(reading: Reading) -> Iterator[_Key]:
    """Yield the keys of rules that may conflict with one: of two slots it is not their own."""
    yield _own_key(reading)
    for topic in reading.topics:
        yield ("without", topic)
        if topic != reading.slot:
            yield ("with slot", topic)


def _conflicting(contender: Contender, others: _ByKey) -> Contender | None:
    """Return the first of the others that the contender conflicts with.

    Contradictions are recorded within one scope only, so the detector compares across scopes.
    """
    keys = _searched(contender.rule.reading)
    found = dict(each for key in keys for each in others.get(key, ()))
    return next((found[each] for each in sorted(found) if _conflict(contender, found[each])), None)


def _conflict(one: Contender, other: Contender) -> bool:
    return compare(one.rule.reading, other.rule.reading).kind == "conflict"


def _order(decision: Decision, narrowness: Mapping[Scope, int]) -> tuple[int, int, int, str]:
    rule = decision.contender.rule
    return (
        _STATUSES.index(decision.status),
        -narrowness.get(rule.scope, -1),
        decision.rank or _LAST,
        rule.rule_id,
    )


def decide_about(ctx: Context, rule: Rule, reader: Reader, moment: Moment) -> Decision | None:
    """Decide a rule among all that a reader sees; None if it was not recorded by `known`."""
    return next(_decisions_on(rule, reader, moment, rules_of(ctx, reader.scopes)), None)


def outcome_for(
    ctx: Context, rule_id: str, reader: Reader, reading: Reading, moment: Moment
) -> Decision:
    """Decide a rule among the rules that can affect it, which is faster than among all.

    Status and reason equal those of `decide_about`; the rank may differ, since it counts all rules.

    Raises:
        UnknownRule: No rule has this id.
    """
    rule_set = rules_around(ctx, reader.scopes, reading)
    rule = next((each for each in rule_set.rules if each.rule_id == rule_id), None)
    return next(_decisions_on(rule or get_rule(ctx, rule_id), reader, moment, rule_set))


def _decisions_on(
    rule: Rule, reader: Reader, moment: Moment, rule_set: RuleSet
) -> Iterator[Decision]:
    """Yield the decision about a rule, unless it was not recorded by `known`."""
    rules = rule_set.rules
    if all(each.rule_id != rule.rule_id for each in rules):
        rules = (*rules, rule)
    for each in select(rules, rule_set.contradictions(moment.known), moment, reader):
        if each.contender.rule.rule_id == rule.rule_id:
            yield each


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a read; docs/rules.md describes each of them."""

    text_characters: int = 20_000
    phrases: int = 2_000
    phrase_words: int = 4
    phrase_characters: int = 12
    ids: int = 100
    chunk_concepts: int = 10
    seeds: int = 20
    hops: int = 2
    frontier: int = 10
    node_relations: int = 25
    entities: int = 100
    relations: int = 200
    rules: int = 500
    evidence: int = 5
    citations: int = 200
    neighbours: int = 1_000


BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of one search for context: user, time of knowledge, deadline and bounds.

    Attributes:
        user: The user whose concepts and facts are read.
        known: Only data recorded by then is read; None for all.
    """

    user: str
    known: datetime | None
    deadline: Deadline
    bounds: Bounds = BOUNDS
