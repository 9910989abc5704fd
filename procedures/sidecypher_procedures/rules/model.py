"""Stored rules, and the lock of a scope, which every writer of a rule acquires first."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, get_args
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.rules.detector.comparison import Reading
from sidecypher_procedures.rules.errors import InvalidRule

SNIPPET_CHARACTERS: Final = 1000
"""The most characters of text that an extraction keeps."""

ScopeKind = Literal["global", "agent", "project", "session"]
Marker = Literal["current", "past", "future", "negated"]
# The names of seed 004, hence not in camelCase.
Strategy = Literal["most-recent-wins", "user-confirmation", "negated-overrides"]
Method = Literal["rule", "llm", "hybrid"]
Evidence = Literal["conflict", "suspected"]

SCOPE_KINDS: Final[tuple[ScopeKind, ...]] = get_args(ScopeKind)
"""From the broadest to the narrowest."""


def json_key(*parts: str) -> str:
    """Return a unique key of some texts, as a JSON array without spaces."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Scope of a rule: everything of a user, or what one agent, project or session does.

    Attributes:
        user: The user, or a team, which is a user of its own.
        id: The agent's, project's or session's id; ``""`` for the global scope.

    Example:
        >>> Scope("ann", "project", "p1").key
        '["ann","project","p1"]'
    """

    user: str
    kind: ScopeKind
    id: str = ""

    @property
    def key(self) -> str:
        """The key of the scope's lock; never null, and unique."""
        return json_key(self.user, self.kind, self.id)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One time that a rule was stated: a `PREFERS` relationship.

    Attributes:
        since: When it begins to hold (inclusive).
        expires_at: When it ends (exclusive).
        confidence: 0 to 1, or None.
        strict: Whether only a confirmed rule may override it.
        recorded_at: When it was written.
        retracted_at: When it was retracted.
    """

    since: datetime
    expires_at: datetime | None
    marker: Marker
    confidence: float | None
    confirmed: bool
    strict: bool
    recorded_at: datetime
    retracted_at: datetime | None
    extraction_id: str

    def holds(self, now: datetime) -> bool:
        """Return whether `now` is in the half-open interval from `since` to `expires_at`."""
        return self.since <= now and (self.expires_at is None or now < self.expires_at)

    def overlaps(self, other: "Assertion") -> bool:
        """Return whether there is an instant at which both hold."""
        return (self.expires_at is None or other.since < self.expires_at) and (
            other.expires_at is None or self.since < other.expires_at
        )


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One time that the user confirmed a rule.

    Attributes:
        at: Its time in the ranking.
        recorded_at: When it was written.
    """

    at: datetime
    recorded_at: datetime
    extraction_id: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Recorded evidence that two rules of one scope contradict each other.

    Attributes:
        rule_id: The rule that was recorded later.
        extraction_id: The extraction of the assertion that revealed it.
        verdict: ``conflict``, or ``suspected`` by a model.
        strategy: The strategy when it was found.
    """

    rule_id: str
    other_id: str
    reason: str
    created_at: datetime
    extraction_id: str
    detector: str
    detector_version: str
    verdict: Evidence
    layer: str
    strategy: str


@dataclass(frozen=True, slots=True)
class StatedRule:
    """A rule as a caller states it.

    Attributes:
        since: When it begins; None for the time of the transaction.
        rule_id: Its id; None for a new one.
    """

    scope: Scope
    reading: Reading
    text: str
    marker: Marker
    since: datetime | None = None
    expires_at: datetime | None = None
    strict: bool = False
    confirmed: bool = False
    confidence: float | None = None
    rule_id: str | None = None

    def asserted(self, now: datetime, recorded_at: datetime, extraction_id: str) -> Assertion:
        """Return the assertion of this rule; it holds from `now` on unless it has a `since`.

        Raises:
            InvalidRule: It expires before it begins.
        """
        since = self.since or now
        if ends_early(since, self.expires_at):
            raise InvalidRule(
                "The rule expires before it begins", hint="Give `since`, or a later `expiresAt`."
            )
        return Assertion(
            since=since,
            expires_at=self.expires_at,
            marker=self.marker,
            confidence=self.confidence,
            confirmed=self.confirmed,
            strict=self.strict,
            recorded_at=recorded_at,
            retracted_at=None,
            extraction_id=extraction_id,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rule, concept or fact.

    Attributes:
        raw_snippet: The text it was found in, at most `SNIPPET_CHARACTERS`, or None.
        source_span: Start and end in that text, or None.
        extraction_id: Its id, generated here.
    """

    method: Method
    model: str | None = None
    raw_snippet: str | None = None
    source_span: list[int] | None = None
    session_id: str | None = None
    artifact_id: str | None = None
    extraction_id: str = field(default_factory=lambda: uuid4().hex)


def ends_early(since: datetime, expires_at: datetime | None) -> bool:
    """Return whether something ends before it begins."""
    return expires_at is not None and expires_at <= since


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with all of its assertions and confirmations.

    Attributes:
        text: Its text, from its first assertion.
        confirmations: One for each call of `rules.confirm`.
    """

    rule_id: str
    scope: Scope
    reading: Reading
    text: str
    assertions: tuple[Assertion, ...]
    confirmations: tuple[Confirmation, ...] = ()

    def known_at(self, known: datetime | None) -> tuple[Assertion, ...]:
        """Return the assertions that were recorded by `known` and not retracted by then."""
        return tuple(
            each
            for each in self.assertions
            if _is_known(known, each.recorded_at)
            and not (each.retracted_at is not None and _is_known(known, each.retracted_at))
        )

    def recorded_by(self, known: datetime | None) -> tuple[Assertion, ...]:
        """Return the assertions that were recorded by `known`, including retracted ones."""
        return tuple(each for each in self.assertions if _is_known(known, each.recorded_at))

    def confirmations_at(self, known: datetime | None) -> tuple[Confirmation, ...]:
        """Return the confirmations that count at `known`: a retraction ends the earlier ones."""
        retractions = [
            each.retracted_at
            for each in self.assertions
            if each.retracted_at is not None and _is_known(known, each.retracted_at)
        ]
        last = max(retractions, default=None)
        return tuple(
            each
            for each in self.confirmations
            if _is_known(known, each.recorded_at) and (last is None or each.recorded_at > last)
        )

    def contends_with(self, other: "Rule") -> bool:
        """Return whether both may hold at one instant; assertions about the past never do."""
        return any(
            mine.overlaps(theirs)
            for mine in self.known_at(None)
            for theirs in other.known_at(None)
            if mine.marker != "past" != theirs.marker
        )

    @property
    def first_recorded(self) -> datetime:
        """Time of its first assertion's record."""
        return min(each.recorded_at for each in self.assertions)

    @property
    def latest_extraction(self) -> str:
        """Id of the extraction of its latest assertion."""
        return max(self.assertions, key=lambda each: each.recorded_at).extraction_id


class Contradictions:
    """Index of contradictions by pair of rules.

    Only those recorded by `known` are included; None for all.
    """

    def __init__(self, found: Iterable[Contradiction], known: datetime | None = None) -> None:
        self._by_rule: dict[str, dict[str, list[Contradiction]]] = {}
        for each in found:
            if _is_known(known, each.created_at) and each.rule_id != each.other_id:
                for one, other in ((each.rule_id, each.other_id), (each.other_id, each.rule_id)):
                    self._by_rule.setdefault(one, {}).setdefault(other, []).append(each)

    def rivals(self, rule_id: str) -> Iterable[str]:
        """Return the ids of the rules that contradict a rule."""
        return self._by_rule.get(rule_id, {})

    def between(self, one: str, other: str) -> Contradiction | None:
        """Return the contradiction of a pair; a detected conflict precedes a suspected one."""
        found = self._by_rule.get(one, {}).get(other, [])
        return min(found, key=lambda each: each.verdict, default=None)


def _is_known(known: datetime | None, recorded: datetime) -> bool:
    return known is None or recorded <= known


# One SET for both: a second one that reads the node could deadlock writers.
_LOCK: Final = """
    MERGE (s:RuleScope {key: $key})
    ON CREATE SET s.user = $user, s.scope = $scope, s.scopeId = $scopeId
    WITH s, datetime.realtime() AS clock
    SET s.rev = coalesce(s.rev, 0) + 1,
        s.recordedAt = CASE
            WHEN s.recordedAt >= clock THEN s.recordedAt + duration({milliseconds: 1})
            ELSE clock
        END
    RETURN s.rev AS rev, datetime.transaction() AS now, s.recordedAt AS recordedAt
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """A scope that is locked by this transaction.

    Attributes:
        rev: How often the scope was locked; rules keep the revision of their last check.
        now: The time of the transaction, the default time of an assertion.
        recorded_at: The time of the lock. A writer that had to wait has a later one, even if the
            server's clock was set back.
    """

    scope: Scope
    rev: int
    now: datetime
    recorded_at: datetime


def lock(ctx: Context, scope: Scope) -> Lock:
    """Lock a scope until the transaction ends."""
    parameters = {"key": scope.key, "user": scope.user, "scope": scope.kind, "scopeId": scope.id}
    # Who waited while `rules.forget` deleted the node has changed nothing, and makes a new one.
    while (found := ctx.run(_LOCK, **parameters).single())["rev"] is None:
        pass
    return Lock(scope, found["rev"], found["now"], found["recordedAt"])


def lock_all(ctx: Context, scopes: Iterable[Scope]) -> dict[Scope, Lock]:
    """Lock several scopes in a fixed order, so that no two writers deadlock."""
    return {scope: lock(ctx, scope) for scope in sorted(set(scopes))}
