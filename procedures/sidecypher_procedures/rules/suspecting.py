"""What a model suspects: asked outside of transactions, recorded as no more than a suspicion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

from sidecypher import Context
from sidecypher_procedures.fields import Fields, shown_id
from sidecypher_procedures.rules.checking import verdict_on
from sidecypher_procedures.rules.errors import InvalidInput, ScopeChanged, UnknownRule
from sidecypher_procedures.rules.evidence import Found, write
from sidecypher_procedures.rules.locking import Lock
from sidecypher_procedures.rules.model import Rule, Strategy
from sidecypher_procedures.rules.reading import rules_of

JUDGEMENT_KEYS: Final = ("otherId", "score", "model", "reason")
_LONGEST_REASON: Final = 500
_JUDGE: Final = "judge"
_REV: Final = "MATCH (s:RuleScope {key: $key}) RETURN s.rev AS rev"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model suspects about two rules.

    Attributes:
        other_id: The other rule.
        score: How sure it is, 0 to 1.
        model: Which model it is.
        reason: Why, in words.
    """

    other_id: str
    score: float
    model: str
    reason: str

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check one MAP of `judgements`.

        Raises:
            InvalidInput: It lacks something, or has a key or value that it cannot have.
        """
        fields = Fields(values, "judgement", JUDGEMENT_KEYS, InvalidInput)
        score = fields.fraction("score")
        if score is None:
            raise fields.refuse("lacks `score`", "Give `score`, a number from 0 to 1.")
        return cls(
            other_id=fields.required_text("otherId"),
            score=score,
            model=fields.required_text("model"),
            reason=fields.text("reason", longest=_LONGEST_REASON),
        )


def unknown_to(ctx: Context, rule: Rule, limit: int) -> Iterator[Rule]:
    """Yield the rules of the same scope of which the detector cannot tell, at most `limit`."""
    shelf = rules_of(ctx, [rule.scope])
    recorded = shelf.contradictions(None)
    others = sorted(shelf.rules, key=lambda each: each.rule_id)
    unknown = (
        each
        for each in others
        if each.rule_id != rule.rule_id
        and rule.contends_with(each)
        and recorded.between(rule.rule_id, each.rule_id) is None
        and verdict_on(rule, each).kind == "unknown"
    )
    return islice(unknown, limit)


def revision_of(ctx: Context, rule: Rule) -> int:
    """Return how often the rule's scope was written; 0 if never by a procedure."""
    return next((each["rev"] for each in ctx.run(_REV, key=rule.scope.key)), 0)


def check_unchanged(rule: Rule, rev: int, held: Lock) -> None:
    """Refuse a judgement about a scope that is not as it was.

    Args:
        rule: The rule that the model was asked about.
        rev: The revision of its scope at that time.
        held: The lock of the scope.

    Raises:
        ScopeChanged: Somebody has written a rule of the scope in the meantime.
    """
    if held.rev != rev + 1:
        raise ScopeChanged(
            f"The scope of the rule `{shown_id(rule.rule_id)}` was written in the meantime"
        )


def suspect(
    ctx: Context, rule: Rule, judgements: Sequence[Judgement], held: Lock, strategy: Strategy
) -> None:
    """Record what a model suspects.

    Args:
        ctx: The call.
        rule: The rule it was asked about.
        judgements: What it suspects.
        held: The lock of the rule's scope.
        strategy: The strategy in force, for the record.

    Raises:
        UnknownRule: Another rule is not in the scope.
        InvalidInput: The detector knows the answer about a pair.
    """
    others = {each.rule_id: each for each in rules_of(ctx, [rule.scope]).rules}
    found = [_found(rule, others.get(each.other_id), each) for each in judgements]
    write(ctx, found, held, strategy)


def _found(rule: Rule, other: Rule | None, judgement: Judgement) -> Found:
    if other is None:
        raise UnknownRule(
            f"There is no rule `{shown_id(judgement.other_id)}` in the scope of the other one"
        )
    if verdict_on(rule, other).kind != "unknown":
        raise InvalidInput(
            "A judgement is about a pair that the detector knows the answer about",
            hint="Give only the pairs of `rules.unknown`.",
        )
    return Found(
        rule,
        other,
        detector=_JUDGE,
        version=judgement.model,
        verdict="suspected",
        layer=_JUDGE,
        reason=judgement.reason,
        score=judgement.score,
    )
