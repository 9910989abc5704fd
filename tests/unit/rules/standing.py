"""Rules made by hand, with instants in seconds after an origin."""

from datetime import UTC, datetime, timedelta

from sidecypher_procedures.rules.detector.comparison import Reading
from sidecypher_procedures.rules.model import (
    Assertion,
    Confirmation,
    Contradiction,
    Contradictions,
    Rule,
    Scope,
)
from sidecypher_procedures.rules.ranking import Moment

ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
GLOBAL = Scope("ann", "global")


def at(seconds):
    return None if seconds is None else ORIGIN + timedelta(seconds=seconds)


def moment(now=9, known=None, **more):
    return Moment(now=at(now), known=at(known), **more)


def asserted(since, expires=None, *, marker="current", recorded=None, retracted=None, **more):
    return Assertion(
        since=at(since),
        expires_at=at(expires),
        marker=marker,
        confidence=more.get("confidence"),
        confirmed=more.get("confirmed", False),
        strict=more.get("strict", False),
        recorded_at=at(since if recorded is None else recorded),
        retracted_at=at(retracted),
        extraction_id=f"x{since}",
    )


def rule(name, *assertions, scope=GLOBAL, polarity="positive", value=None, confirmed=()):
    reading = Reading("tone", "", "", value or name, polarity, "", name)
    confirmations = tuple(Confirmation(at(each), at(each), f"c{each}") for each in confirmed)
    return Rule(name, scope, reading, name, assertions, confirmations)


def contradictions(*pairs, verdict="conflict", created=0, of=Contradictions):
    return of(
        Contradiction(one, other, "", at(created), "x", "slots", "1", verdict, "typed", "")
        for one, other in pairs
    )
