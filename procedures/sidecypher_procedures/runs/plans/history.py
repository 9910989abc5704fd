"""Who did what with a plan, over all of its versions."""

from collections.abc import Iterator
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import UnknownPlan
from sidecypher_procedures.runs.plans.rows import ActionRow

# Versions are one chain. Without DISTINCT each step along it would look at all before it.
_HISTORY: Final = """
    MATCH (p:Plan {id: $planId})
    RETURN COLLECT {
        MATCH (p)-[:PREVIOUS_VERSION*0..]-(v:Plan)
        WITH DISTINCT v
        MATCH (u:User)-[a:REVIEWS|APPROVES|REJECTS|EDITS]->(v)
        WITH type(a) AS action, u.id AS user, a.timestamp AS at, a.message AS message,
            coalesce(v.version, 1) AS version
        ORDER BY at, version, action, user
        RETURN {action: action, user: user, at: at, version: version, message: message}
    } AS actions
"""


def history_of(ctx: Context, plan_id: str) -> Iterator[ActionRow]:
    """Give what users did with any version of a plan, in order of time.

    Raises:
        UnknownPlan: No plan has this id.
    """
    found = ctx.run(_HISTORY, planId=plan_id)
    if not len(found):
        raise UnknownPlan(f"There is no plan `{shown_id(plan_id)}`")
    for action in found.single()["actions"]:
        yield ActionRow(**action)
