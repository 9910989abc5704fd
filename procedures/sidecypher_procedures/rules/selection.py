"""Which rules a reader gets, out of all scopes that it can see."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, get_args

from sidecypher_procedures.rules.detector import compare
from sidecypher_procedures.rules.errors import InvalidOption
from sidecypher_procedures.rules.inputs import parse_scope
from sidecypher_procedures.rules.model import SCOPE_KINDS, Contradictions, Rule, Scope
from sidecypher_procedures.rules.ranking import Contender, Decision, Moment, Status, decide

_STATUSES: Final = get_args(Status)
_LAST: Final = sys.maxsize


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: a user, in a session, a project, both or neither.

    Example:
        >>> [scope.kind for scope in Reader("ann", session_id="s1").scopes]
        ['global', 'session']
    """

    user: str
    project_id: str = ""
    session_id: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes it can see, from the broadest to the narrowest."""
        found = [Scope(self.user, "global")]
        if self.project_id:
            found.append(Scope(self.user, "project", self.project_id))
        if self.session_id:
            found.append(Scope(self.user, "session", self.session_id))
        return tuple(found)

    @classmethod
    def parse(cls, user: str, kind: str, identifier: str, project_id: str) -> "Reader":
        """Return the reader of a scope; one in a session may also stand in a project.

        Raises:
            InvalidRule: The scope is unknown, or lacks an id or has one too many.
            InvalidOption: Only a session has a project.
        """
        scope = parse_scope(user, kind, identifier)
        if project_id and scope.kind != "session":
            raise InvalidOption(
                "The option `projectId` is for the scope session", hint="Leave it out."
            )
        return replace(cls.of(scope), project_id=project_id or cls.of(scope).project_id)

    @classmethod
    def of(cls, scope: Scope) -> "Reader":
        """Return the reader who stands in a scope."""
        return cls(
            scope.user,
            project_id=scope.id if scope.kind == "project" else "",
            session_id=scope.id if scope.kind == "session" else "",
        )


def select(
    rules: Iterable[Rule], contradictions: Contradictions, moment: Moment, reader: Reader
) -> list[Decision]:
    """Decide about every rule that was recorded by then.

    From the broadest scope to the narrowest: the rules of each scope are decided among themselves;
    those that become active shadow the contradicting ones of broader scopes. A strict rule of a
    broader scope keeps contradicting, unconfirmed ones from taking part.

    Returns:
        A decision for each rule: first the active ones, then contested, shadowed and inactive
        ones; in each of these groups the narrowest scope first, then by rank.
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
        settled = [_shadowed(each, inside) for each in settled] + inside + blocked
    settled += [
        Decision(each, "inactive", "out-of-scope")
        for each in contenders
        if each.rule.scope not in reader.scopes
    ]
    return sorted(settled, key=_order)


def _blocked(contenders: Iterable[Contender], broader: Iterable[Decision]) -> Iterator[Decision]:
    """Yield a decision for each contender that a strict rule of a broader scope blocks."""
    strict = [
        each.contender for each in broader if each.status == "active" and each.contender.strict
    ]
    for each in contenders:
        if each.phase == "eligible" and each.confirmed_at is None:
            winner = next((other for other in strict if _conflict(each, other)), None)
            if winner is not None:
                yield Decision(each, "contested", "pending-confirmation", by=winner.rule)


def _shadowed(decision: Decision, narrower: Iterable[Decision]) -> Decision:
    """Take an active rule's activity away if an active one of a narrower scope contradicts it."""
    if decision.status != "active":
        return decision
    for each in narrower:
        if each.status == "active" and _conflict(each.contender, decision.contender):
            return replace(
                decision, status="shadowed", reason="narrower-scope", by=each.contender.rule
            )
    return decision


def _conflict(one: Contender, other: Contender) -> bool:
    # Nothing is recorded between scopes, so the detector is asked; across slots it knows none.
    if one.rule.reading.slot != other.rule.reading.slot:
        return False
    return compare(one.rule.reading, other.rule.reading).kind == "conflict"


def _order(decision: Decision) -> tuple[int, int, int, str]:
    rule = decision.contender.rule
    narrowness = SCOPE_KINDS.index(rule.scope.kind)
    return (
        _STATUSES.index(decision.status),
        -narrowness,
        decision.rank or _LAST,
        rule.rule_id,
    )
