"""What becomes of one rule, read from the graph."""

from sidecypher import Context
from sidecypher_procedures.rules.detector import Reading
from sidecypher_procedures.rules.errors import UnknownRule
from sidecypher_procedures.rules.ranking import Decision, Moment
from sidecypher_procedures.rules.reading import rule_named, rules_around, shown_id
from sidecypher_procedures.rules.selection import Reader, select


def decide_about(
    ctx: Context, rule_id: str, reader: Reader, reading: Reading, moment: Moment
) -> Decision:
    """Decide about one rule, as a reader sees it.

    Args:
        ctx: The call.
        rule_id: The rule.
        reader: Who sees it, or not.
        reading: What it says.
        moment: When, and by which strategy.

    Raises:
        UnknownRule: It was not recorded by `known`.
    """
    shelf = rules_around(ctx, reader.scopes, reading)
    rules = list(shelf.rules)
    if not any(each.rule_id == rule_id for each in rules):
        rules.append(rule_named(ctx, rule_id))
    decisions = select(rules, shelf.contradictions(moment.known), moment, reader)
    found = next((each for each in decisions if each.contender.rule.rule_id == rule_id), None)
    if found is None:
        raise UnknownRule(f"The rule `{shown_id(rule_id)}` was not recorded by `known`")
    return found
