"""What becomes of one rule, read from the graph."""

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.rules.detector import Reading
from sidecypher_procedures.rules.errors import UnknownRule
from sidecypher_procedures.rules.ranking import Decision, Moment
from sidecypher_procedures.rules.reading import (
    Shelf,
    rule_named,
    rules_around,
    rules_of,
)
from sidecypher_procedures.rules.selection import Reader, select


def decide_about(ctx: Context, rule_id: str, reader: Reader, moment: Moment) -> Decision:
    """Decide about one rule among all that a reader sees.

    Args:
        ctx: The call.
        rule_id: The rule.
        reader: Who sees it, or not.
        moment: When, and by which strategy.

    Raises:
        UnknownRule: It was not recorded by `known`.
    """
    return _decide(ctx, rule_id, reader, moment, rules_of(ctx, reader.scopes))


def outcome_for(
    ctx: Context, rule_id: str, reader: Reader, reading: Reading, moment: Moment
) -> Decision:
    """Decide about one rule among those alone that may have a say, which is quicker.

    Status and reason are those of `decide_about`; the rank is not, since it counts the others too.

    Args:
        ctx: The call.
        rule_id: The rule.
        reader: Who sees it, or not.
        reading: What it says.
        moment: When, and by which strategy.
    """
    return _decide(ctx, rule_id, reader, moment, rules_around(ctx, reader.scopes, reading))


def _decide(ctx: Context, rule_id: str, reader: Reader, moment: Moment, shelf: Shelf) -> Decision:
    rules = list(shelf.rules)
    if not any(each.rule_id == rule_id for each in rules):
        rules.append(rule_named(ctx, rule_id))
    decisions = select(rules, shelf.contradictions(moment.known), moment, reader)
    found = next((each for each in decisions if each.contender.rule.rule_id == rule_id), None)
    if found is None:
        raise UnknownRule(f"The rule `{shown_id(rule_id)}` was not recorded by `known`")
    return found
