"""`rules.remember`: one call, one extraction, and all that hangs on it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.concepts import write_concepts, write_facts
from sidecypher_procedures.rules.findings import Findings
from sidecypher_procedures.rules.locking import Lock, lock_all
from sidecypher_procedures.rules.model import Scope
from sidecypher_procedures.rules.provenance import write_extraction
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.writing import Written, state_rule

Choose = Callable[[datetime], Moment]
_STEP: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was written.

    Attributes:
        concepts: Keys of the concepts.
        facts: Ids of the facts.
        rules: What became of each rule, in the order of the input.
        held: The locks of the rules' scopes.
    """

    concepts: list[str]
    facts: list[str]
    rules: list[Written]
    held: dict[Scope, Lock]


def remember(ctx: Context, findings: Findings, choose: Choose) -> Remembered:
    """Write an extraction with its concepts, facts and rules.

    Every writer takes its locks in one order: scopes, then concepts, each by their keys.

    Args:
        ctx: The call.
        findings: What to write.
        choose: Gives the moment for the time of the transaction.

    Raises:
        RuleTaken: A rule asks for an id that is another rule's.
    """
    held = lock_all(ctx, [rule.scope for rule in findings.rules])
    extraction = findings.extraction
    write_extraction(ctx, findings.user, extraction)
    concepts = write_concepts(
        ctx,
        findings.user,
        findings.all_concepts,
        extraction.extraction_id,
        extraction.artifact_id,
    )
    facts = write_facts(ctx, findings.user, findings.facts, extraction.extraction_id)
    rules = _state_rules(ctx, findings, held, choose)
    return Remembered(concepts, facts, rules, held)


def _state_rules(
    ctx: Context, findings: Findings, held: dict[Scope, Lock], choose: Choose
) -> list[Written]:
    """State the rules one after the other: what a text says last is the most recent."""
    written = []
    for place, rule in enumerate(findings.rules):
        lock = held[rule.scope]
        moment = choose(lock.now)
        since = rule.since or moment.now - _STEP * (len(findings.rules) - 1 - place)
        written.append(
            state_rule(
                ctx,
                replace(rule, since=since),
                findings.extraction,
                replace(lock, recorded_at=lock.recorded_at + _STEP * place),
                moment,
            )
        )
    return written
