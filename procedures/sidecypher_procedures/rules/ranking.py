"""Ranking of the rules of one scope, which is independent of the order of their arrival."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, Literal

from sidecypher_procedures.rules.model import Assertion, Contradictions, Rule, Strategy
from sidecypher_procedures.rules.rows import Explained

Status = Literal["active", "contested", "shadowed", "inactive"]
Reason = Literal[
    "recency",
    "confirmed",
    "negated",
    "pendingConfirmation",
    "suspected",
    "narrowerScope",
    "past",
    "scheduled",
    "expired",
    "outOfScope",
]
Phase = Literal["eligible", "weak", "past", "scheduled", "expired"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Time and strategy of a selection.

    Attributes:
        now: The instant at which rules must hold.
        known: Only data recorded by then is used; None for all.
        confidence_floor: Assertions with less confidence are only suspected.
    """

    now: datetime
    known: datetime | None = None
    strategy: Strategy = "most-recent-wins"
    confidence_floor: float = 0.0

    def is_below_floor(self, assertion: Assertion) -> bool:
        """Return whether an assertion has less confidence than the floor."""
        return assertion.confidence is not None and assertion.confidence < self.confidence_floor


@dataclass(frozen=True, slots=True)
class Contender:
    """The state of a rule at a moment.

    Attributes:
        phase: Whether it is ranked, and if not, why.
        assertion: The deciding assertion: the latest that holds, else the latest of all.
        first_since: The earliest `since` of the assertions that hold; of all if none holds.
        first_recorded: When the first of these was recorded.
        confirmed_at: Time of its last confirmation, by one of these or by a call, or None.
        strict: Whether one of these is strict.
    """

    rule: Rule
    phase: Phase
    assertion: Assertion
    first_since: datetime
    first_recorded: datetime
    confirmed_at: datetime | None
    strict: bool

    @classmethod
    def at(cls, rule: Rule, moment: Moment) -> "Contender":
        """Return the state of a rule at a moment."""
        live = rule.known_at(moment.known)
        # A retracted rule is still reported, with its last assertion.
        stated = live or rule.recorded_by(moment.known)
        holding = [each for each in live if each.holds(moment.now)]
        # A later assertion with less confidence does not weaken an earlier one.
        sure = [each for each in holding if not moment.is_below_floor(each)]
        assertion = max(sure or holding or stated, key=_latest)
        # Assertions that have ended, have not begun or are past do not strengthen those that hold.
        counted = [each for each in holding if each.marker != "past"] or live
        confirmed = [each.since for each in counted if each.confirmed]
        confirmed += [each.at for each in rule.confirmations_at(moment.known)]
        phase = _phase(assertion, moment, is_confirmed=bool(confirmed)) if live else "expired"
        return cls(
            rule=rule,
            phase=phase,
            assertion=assertion,
            first_since=min(each.since for each in counted or stated),
            first_recorded=min(each.recorded_at for each in counted or stated),
            confirmed_at=max(confirmed, default=None) if live else None,
            strict=any(each.strict for each in counted),
        )

    @property
    def negative(self) -> bool:
        """Whether the rule forbids something."""
        return self.rule.reading.polarity == "negative"


@dataclass(frozen=True, slots=True)
class Decision:
    """The status of a rule, and its reason.

    Attributes:
        by: The rule that decided, or None.
        rank: Its place among the eligible rules of its scope, from 1; None if it is not eligible.
    """

    contender: Contender
    status: Status
    reason: Reason
    by: Rule | None = None
    rank: int | None = None

    @property
    def decided_by(self) -> str | None:
        """The id of the rule that decided, or None."""
        return None if self.by is None else self.by.rule_id


def decide(
    contenders: Iterable[Contender], contradictions: Contradictions, moment: Moment
) -> list[Decision]:
    """Decide the status of the rules of one scope.

    Eligible rules are ranked. Each of them becomes active unless it contradicts an active rule with
    a higher rank. Decisions are sorted by rank, with ineligible rules last.
    """
    everyone = list(contenders)
    decided: list[Decision] = []
    active: dict[str, tuple[int, Contender]] = {}
    for rank, each in enumerate(ranked(everyone, moment.strategy), start=1):
        lost = _winner_over(each, active, contradictions, moment.strategy)
        if lost is None:
            active[each.rule.rule_id] = rank, each
            decided.append(
                Decision(each, "active", _active_reason(each, moment.strategy), rank=rank)
            )
        else:
            winner, reason = lost
            decided.append(Decision(each, "contested", reason, by=winner.rule, rank=rank))
    return decided + [_ineligible(each) for each in everyone if each.phase != "eligible"]


def ranked(contenders: Iterable[Contender], strategy: Strategy) -> list[Contender]:
    """Return the eligible rules, the strongest first.

    Confirmed rules come first, the latest confirmation at the top. Strict ones follow, the earliest
    first, then the others by the strategy. In a tie negated rules come first, then later recorded
    ones; earlier recorded ones if the earliest comes first.
    """
    # Sorting is stable, even in reverse: ties keep this order.
    eligible = _tie_order(
        (each for each in contenders if each.phase == "eligible"), latest_first=True
    )
    confirmed = [(each.confirmed_at, each) for each in eligible if each.confirmed_at is not None]
    confirmed.sort(key=lambda pair: pair[0], reverse=True)
    unconfirmed = [each for each in eligible if each.confirmed_at is None]
    strict = _earliest_first(each for each in unconfirmed if each.strict)
    others = [each for each in unconfirmed if not each.strict]
    return [each for _, each in confirmed] + strict + _by_strategy(others, strategy)


def _by_strategy(contenders: list[Contender], strategy: Strategy) -> list[Contender]:
    if strategy == "user-confirmation":
        return _earliest_first(contenders)
    recent = sorted(contenders, key=lambda each: each.assertion.since, reverse=True)
    if strategy == "negated-overrides":
        recent.sort(key=lambda each: not each.negative)
    return recent


def _earliest_first(contenders: Iterable[Contender]) -> list[Contender]:
    return sorted(_tie_order(contenders, latest_first=False), key=lambda each: each.first_since)


def _tie_order(contenders: Iterable[Contender], *, latest_first: bool) -> list[Contender]:
    """Sort contenders by the order of a tie, such as that of rules from one transaction."""
    ordered = sorted(contenders, key=lambda each: each.rule.rule_id)
    if latest_first:
        ordered.sort(key=lambda each: each.assertion.recorded_at, reverse=True)
    else:
        ordered.sort(key=lambda each: each.first_recorded)
    ordered.sort(key=lambda each: not each.negative)
    return ordered


def _latest(assertion: Assertion) -> tuple[object, ...]:
    # After the times any fixed order will do: one extraction may state a rule twice.
    return (
        assertion.since,
        assertion.recorded_at,
        assertion.marker != "past",
        assertion.marker,
        assertion.confidence is None,
        assertion.confidence or 0.0,
        str(assertion.expires_at),
        str(assertion.retracted_at),
        assertion.strict,
        assertion.confirmed,
        assertion.extraction_id,
    )


def _phase(assertion: Assertion, moment: Moment, *, is_confirmed: bool) -> Phase:
    if assertion.marker == "past":
        return "past"
    if moment.now < assertion.since:
        return "scheduled"
    if not assertion.holds(moment.now):
        return "expired"
    if moment.is_below_floor(assertion) and not is_confirmed:
        return "weak"
    return "eligible"


def _ineligible(contender: Contender) -> Decision:
    match contender.phase:
        case "past" | "scheduled" | "expired" as reason:
            return Decision(contender, "inactive", reason)
        case _:
            return Decision(contender, "contested", "suspected")


def _active_reason(contender: Contender, strategy: Strategy) -> Reason:
    if contender.confirmed_at is not None:
        return "confirmed"
    if strategy == "negated-overrides" and contender.negative:
        return "negated"
    return "recency"


def _winner_over(
    contender: Contender,
    active: Mapping[str, tuple[int, Contender]],
    contradictions: Contradictions,
    strategy: Strategy,
) -> tuple[Contender, Reason] | None:
    """Return the strongest active rule that contradicts this one, and why it wins.

    `active` has the ranks of the active rules and the rules, by id.
    """
    suspected = None
    rule_id = contender.rule.rule_id
    rivals = (active[each] for each in contradictions.rivals(rule_id) if each in active)
    for _, each in sorted(rivals, key=itemgetter(0)):
        found = contradictions.between(rule_id, each.rule.rule_id)
        if found is None:
            continue
        if found.verdict == "conflict":
            return each, _win_reason(each, contender, strategy)
        suspected = suspected or each
    return None if suspected is None else (suspected, "suspected")


def _win_reason(winner: Contender, loser: Contender, strategy: Strategy) -> Reason:
    if winner.confirmed_at is not None:
        return "recency" if loser.confirmed_at is not None else "confirmed"
    if winner.strict or strategy == "user-confirmation":
        return "pendingConfirmation"
    if strategy == "negated-overrides" and winner.negative and not loser.negative:
        return "negated"
    if winner.assertion.since == loser.assertion.since and winner.negative != loser.negative:
        return "negated"
    return "recency"


MOST_EXTRACTIONS: Final = 100
"""The most extractions in an explanation: a rule may be stated without end."""


def explanation(decision: Decision, moment: Moment) -> dict[str, Any]:
    """Return the facts that decided: strategy, flags, marker, scope, dates and rank."""
    contender, assertion = decision.contender, decision.contender.assertion
    rule = contender.rule
    recorded = sorted(
        rule.recorded_by(moment.known), key=lambda each: each.recorded_at, reverse=True
    )
    return {
        "strategy": moment.strategy,
        "scope": rule.scope.kind,
        "scopeId": rule.scope.id,
        "temporalMarker": assertion.marker,
        "since": assertion.since,
        "expiresAt": assertion.expires_at,
        "confidence": assertion.confidence,
        "strict": contender.strict,
        "confirmed": contender.confirmed_at is not None,
        "confirmedAt": contender.confirmed_at,
        "polarity": rule.reading.polarity,
        "rank": decision.rank,
        "shadowedBy": decision.decided_by if decision.status == "shadowed" else None,
        "extractionIds": [each.extraction_id for each in recorded[:MOST_EXTRACTIONS]],
    }


_Step = tuple[str, dict[str, Any]]

_PHASES: Final[dict[Phase, str]] = {
    "eligible": "It holds at that time.",
    "weak": "It holds, but with less confidence than the setting asks for.",
    "past": "It was so in the past, and is not any more.",
    "scheduled": "It has not begun.",
    "expired": "It has ended, or was taken back.",
}


def explain(decision: Decision, moment: Moment) -> Iterator[Explained]:
    """Yield the steps of the decision about a rule, in the order in which they were taken."""
    steps = [_scope(decision.contender), _time(decision.contender, moment)]
    if decision.rank is not None:
        steps.append(_rank(decision, moment))
    for number, (text, facts) in enumerate([*steps, _outcome(decision)], start=1):
        yield Explained(step=number, text=text, facts=facts)


def _scope(contender: Contender) -> _Step:
    scope = contender.rule.scope
    where = "everything" if scope.kind == "global" else f"the {scope.kind} `{scope.id}`"
    facts = {"userId": scope.user, "scope": scope.kind, "scopeId": scope.id}
    return f"The rule holds for {where} of the user `{scope.user}`.", facts


def _time(contender: Contender, moment: Moment) -> _Step:
    assertion = contender.assertion
    return _PHASES[contender.phase], {
        "now": moment.now,
        "known": moment.known,
        "since": assertion.since,
        "expiresAt": assertion.expires_at,
        "temporalMarker": assertion.marker,
        "confidence": assertion.confidence,
        "confidenceFloor": moment.confidence_floor,
    }


def _rank(decision: Decision, moment: Moment) -> _Step:
    contender = decision.contender
    if contender.confirmed_at is not None:
        why = "the user confirmed it"
    elif contender.strict:
        why = "it is strict"
    else:
        why = f"of the strategy {moment.strategy}"
    return f"It has rank {decision.rank} in its scope, because {why}.", {
        "rank": decision.rank,
        "strategy": moment.strategy,
        "strict": contender.strict,
        "confirmedAt": contender.confirmed_at,
        "polarity": contender.rule.reading.polarity,
    }


def _outcome(decision: Decision) -> _Step:
    by = decision.decided_by
    text = f"It is {decision.status} ({decision.reason})"
    if by is not None:
        text += f", decided by the rule `{by}`"
    facts = {"status": decision.status, "reason": decision.reason, "decidedBy": by}
    return f"{text}.", facts
