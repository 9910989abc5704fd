"""`rules.remember`: one call, one extraction, and all that hangs on it."""

from dataclasses import dataclass

from sidecypher import Context
from sidecypher_procedures.rules.concepts import write_concepts, write_facts
from sidecypher_procedures.rules.findings import Findings
from sidecypher_procedures.rules.locking import Lock, lock_all
from sidecypher_procedures.rules.model import Scope, Strategy
from sidecypher_procedures.rules.provenance import write_extraction
from sidecypher_procedures.rules.writing import Written, state_rule


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


def remember(ctx: Context, findings: Findings, strategy: Strategy) -> Remembered:
    """Write an extraction with its concepts, facts and rules.

    Every writer takes its locks in one order: scopes, then concepts, each by their keys.

    Args:
        ctx: The call.
        findings: What to write.
        strategy: The strategy in force, for the record of a contradiction.

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
    rules = [
        state_rule(ctx, rule, extraction, held[rule.scope], strategy) for rule in findings.rules
    ]
    return Remembered(concepts, facts, rules, held)
