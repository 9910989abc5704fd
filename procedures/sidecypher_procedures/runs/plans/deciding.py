"""What users decide about a plan, and what came of it."""

from typing import Final, Literal

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import UnknownReference
from sidecypher_procedures.runs.plans.holding import hold
from sidecypher_procedures.runs.plans.rows import PlanRow
from sidecypher_procedures.runs.plans.statuses import after

Decision = Literal["review", "approve", "reject"]

_RELATIONSHIP: Final[dict[Decision, str]] = {
    "review": "REVIEWS",
    "approve": "APPROVES",
    "reject": "REJECTS",
}
_DECIDE: Final = """
    MATCH (p:Plan {id: $planId})
    MERGE (u:User {id: $user})
    CREATE (u)-[:$($relationship) {timestamp: $now, message: $message, version: $version}]->(p)
    SET p.status = $status, p.updatedAt = $now
    WITH p MATCH (r:WorkflowRun {id: p.runId}) SET r.touchedAt = $now
"""
_IMPLEMENTED: Final = """
    MATCH (p:Plan {id: $planId})
    SET p.status = $status, p.updatedAt = $now
    WITH p MATCH (r:WorkflowRun {id: p.runId}) SET r.touchedAt = $now
"""
_RESULT: Final = """
    MATCH (p:Plan {id: $planId}), (pr:PullRequest {id: $pullRequest})
    MERGE (p)-[:RESULTS_IN]->(pr)
    RETURN pr.id AS id
"""


def decide(ctx: Context, decision: Decision, plan_id: str, user: str, message: str) -> PlanRow:
    """Write what a user decides about a plan; the same by the same user again changes nothing.

    With another message it is not the same: it is written as well, or refused.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: This cannot be decided about a plan of its status.
    """
    plan = hold(ctx, plan_id)
    relationship = _RELATIONSHIP[decision]
    if plan.has(relationship, user, message):
        return plan.row()
    plan.check_latest()
    status = after(decision, plan.status)
    ctx.run(
        _DECIDE,
        planId=plan_id,
        user=user,
        relationship=relationship,
        now=plan.now,
        message=message or None,
        version=plan.version,
        status=status,
    )
    return plan.row(status)


def implement(ctx: Context, plan_id: str, pull_request: str | None) -> PlanRow:
    """Write that a plan was implemented, and by which pull request if one is given.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: It is not approved.
        UnknownReference: The pull request is not there.
    """
    plan = hold(ctx, plan_id)
    plan.check_latest()
    status = after("implement", plan.status)
    if status != plan.status:
        ctx.run(_IMPLEMENTED, planId=plan_id, status=status, now=plan.now)
    if pull_request is not None and not len(
        ctx.run(_RESULT, planId=plan_id, pullRequest=pull_request)
    ):
        raise UnknownReference(
            f"There is no pull request `{shown_id(pull_request)}`",
            hint="Write it first, as `github.mergePullRequest` does, or leave it out.",
        )
    return plan.row(status)
