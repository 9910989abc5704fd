"""Comments on plans: events of the plan's run."""

from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.appending import append
from sidecypher_procedures.runs.errors import EventTaken
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.plans.holding import hold
from sidecypher_procedures.runs.plans.rows import CommentRow

_COMMENT: Final = """
    MATCH (c:Event {id: $id}), (p:Plan {id: $planId})
    CREATE (c)-[:COMMENTS_ON]->(p)
"""
# What was deleted says no more what it was about.
_COMMENTED: Final = """
    MATCH (c:Event {id: $id})
    WHERE c.deletedAt IS NOT NULL OR EXISTS { (c)-[:COMMENTS_ON]->(:Plan {id: $planId}) }
    RETURN c.id AS id
"""


def append_comment(ctx: Context, plan_id: str, event: EventInput) -> CommentRow:
    """Append a comment on a plan to the plan's run; one that is there is left as it is.

    Raises:
        UnknownPlan: No plan of a run has this id.
        EventTaken: The id belongs to another event.
        UnknownParent: A parent is not an event of the plan's run.
        UnknownReference: What it refers to is not there.
    """
    plan = hold(ctx, plan_id)
    [done] = append(ctx, plan.run_id, [event])
    if not done.duplicate:
        ctx.run(_COMMENT, id=event.id, planId=plan_id)
    elif not len(ctx.run(_COMMENTED, id=event.id, planId=plan_id)):
        raise EventTaken(
            f"The id `{shown_id(event.id)}` belongs to an event that does not comment on this plan"
        )
    return CommentRow(
        comment_id=event.id,
        plan_id=plan_id,
        status=plan.status,
        version=plan.version,
        run_id=plan.run_id,
    )
