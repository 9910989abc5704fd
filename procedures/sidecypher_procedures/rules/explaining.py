"""Why a rule is active or not, for people and for programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sidecypher_procedures.rules.ranking import Contender, Decision, Moment


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an explanation.

    Attributes:
        text: What was found, in words.
        facts: The same for programs.
    """

    text: str
    facts: dict[str, Any]


def explanation(decision: Decision, moment: Moment) -> dict[str, Any]:
    """Return the facts that decided: strategy, flags, marker, scope, dates and rank."""
    contender, assertion = decision.contender, decision.contender.assertion
    rule = contender.rule
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
        "shadowedBy": _id_of(decision) if decision.status == "shadowed" else None,
        "extractionIds": [each.extraction_id for each in rule.recorded_by(moment.known)],
    }


def explain(decision: Decision, moment: Moment) -> Iterator[Step]:
    """Yield the steps of the decision about a rule, in the order in which they were taken."""
    contender = decision.contender
    yield _scope(contender)
    yield _time(contender, moment)
    if decision.rank is not None:
        yield _rank(decision, moment)
    yield _outcome(decision)


def _scope(contender: Contender) -> Step:
    scope = contender.rule.scope
    where = "everything" if scope.kind == "global" else f"the {scope.kind} `{scope.id}`"
    return Step(
        f"The rule holds for {where} of the user `{scope.user}`.",
        {"user": scope.user, "scope": scope.kind, "scopeId": scope.id},
    )


def _time(contender: Contender, moment: Moment) -> Step:
    assertion = contender.assertion
    words = {
        "eligible": "It holds at that time.",
        "weak": "It holds, but with less confidence than the setting asks for.",
        "past": "It was so in the past, and is not any more.",
        "scheduled": "It has not begun.",
        "expired": "It has ended, or was taken back.",
    }
    facts = {
        "now": moment.now,
        "known": moment.known,
        "since": assertion.since,
        "expiresAt": assertion.expires_at,
        "temporalMarker": assertion.marker,
        "confidence": assertion.confidence,
        "confidenceFloor": moment.confidence_floor,
    }
    return Step(words[contender.phase], facts)


def _rank(decision: Decision, moment: Moment) -> Step:
    contender = decision.contender
    if contender.confirmed_at is not None:
        why = "the user confirmed it"
    elif contender.strict:
        why = "it is strict"
    else:
        why = f"of the strategy {moment.strategy}"
    facts = {
        "rank": decision.rank,
        "strategy": moment.strategy,
        "strict": contender.strict,
        "confirmedAt": contender.confirmed_at,
        "polarity": contender.rule.reading.polarity,
    }
    return Step(f"It has rank {decision.rank} in its scope, because {why}.", facts)


def _outcome(decision: Decision) -> Step:
    by = _id_of(decision)
    text = f"It is {decision.status} ({decision.reason})"
    if by is not None:
        text += f", decided by the rule `{by}`"
    return Step(f"{text}.", {"status": decision.status, "reason": decision.reason, "by": by})


def _id_of(decision: Decision) -> str | None:
    return None if decision.by is None else decision.by.rule_id
