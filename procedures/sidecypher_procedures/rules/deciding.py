"""What becomes of one rule, read from the graph."""

from sidecypher import Context
from sidecypher_procedures.rules.detector import Reading
from sidecypher_procedures.rules.errors import UnknownRule
from sidecypher_procedures.rules.model import Scope
from sidecypher_procedures.rules.ranking import Decision, Moment
from sidecypher_procedures.rules.reading import rules_around, shown_id
from sidecypher_procedures.rules.selection import Reader, select


def decide_about(
    ctx: Context, rule_id: str, scope: Scope, reading: Reading, moment: Moment
) -> Decision:
    """Decide about one rule, as a reader in its own scope sees it.

    Args:
        ctx: The call.
        rule_id: The rule.
        scope: Where it holds.
        reading: What it says.
        moment: When, and by which strategy.

    Raises:
        UnknownRule: It was not recorded by `known`.
    """
    reader = Reader.of(scope)
    shelf = rules_around(ctx, reader.scopes, reading)
    decisions = select(shelf.rules, shelf.contradictions(moment.known), moment, reader)
    found = next((each for each in decisions if each.contender.rule.rule_id == rule_id), None)
    if found is None:
        raise UnknownRule(f"The rule `{shown_id(rule_id)}` was not recorded by `known`")
    return found
