"""`runs.plan.*` as Cypher sees it."""

from collections.abc import Iterator
from typing import Any, Final

from sidecypher import Context, procedure
from sidecypher_procedures.runs.plans.commenting import append_comment
from sidecypher_procedures.runs.plans.deciding import decide, implement
from sidecypher_procedures.runs.plans.history import history_of
from sidecypher_procedures.runs.plans.inputs import (
    PlanInput,
    RevisionInput,
    read_comment,
    read_message,
    read_pull_request,
    read_user,
)
from sidecypher_procedures.runs.plans.rows import ActionRow, CommentRow, PlanRow
from sidecypher_procedures.runs.plans.versions import create, revise

NO_OPTIONS: Final[dict[str, Any]] = {}


@procedure("runs.plan.create", mode="WRITE")
def create_plan(ctx: Context, run_id: str, plan: dict[str, Any]) -> PlanRow:
    """Append a plan to a run; given again with the same id and content, it changes nothing."""
    return create(ctx, run_id, PlanInput.parse(plan))


@procedure("runs.plan.revise", mode="WRITE")
def revise_plan(ctx: Context, plan_id: str, user: str, revision: dict[str, Any]) -> PlanRow:
    """Append a new version of the latest version of a plan, edited by a user."""
    return revise(ctx, plan_id, read_user(user), RevisionInput.parse(revision))


@procedure("runs.plan.review", mode="WRITE")
def review_plan(
    ctx: Context, plan_id: str, user: str, options: dict[str, Any] = NO_OPTIONS
) -> PlanRow:
    """Tell that a user reviews a plan, which then waits for a decision."""
    return decide(ctx, "review", plan_id, read_user(user), read_message(options))


@procedure("runs.plan.approve", mode="WRITE")
def approve_plan(
    ctx: Context, plan_id: str, user: str, options: dict[str, Any] = NO_OPTIONS
) -> PlanRow:
    """Tell that a user approves a plan that waits for a decision."""
    return decide(ctx, "approve", plan_id, read_user(user), read_message(options))


@procedure("runs.plan.reject", mode="WRITE")
def reject_plan(
    ctx: Context, plan_id: str, user: str, options: dict[str, Any] = NO_OPTIONS
) -> PlanRow:
    """Tell that a user rejects a plan that waits for a decision."""
    return decide(ctx, "reject", plan_id, read_user(user), read_message(options))


@procedure("runs.plan.comment", mode="WRITE")
def comment_on_plan(ctx: Context, plan_id: str, user: str, comment: dict[str, Any]) -> CommentRow:
    """Append a user's comment on a plan to the plan's run."""
    return append_comment(ctx, plan_id, read_comment(plan_id, read_user(user), comment))


@procedure("runs.plan.implement", mode="WRITE")
def implement_plan(ctx: Context, plan_id: str, options: dict[str, Any] = NO_OPTIONS) -> PlanRow:
    """Tell that an approved plan was implemented, and by which pull request."""
    return implement(ctx, plan_id, read_pull_request(options))


@procedure("runs.plan.history")
def plan_history(ctx: Context, plan_id: str) -> Iterator[ActionRow]:
    """List what users did with any version of a plan, in order of time."""
    yield from history_of(ctx, plan_id)
