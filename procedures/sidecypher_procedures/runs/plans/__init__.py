"""`runs.plan.*`: plans with versions, who reviewed and decided, and what came of them."""

from sidecypher_procedures.runs.plans.procedures import (
    approve_plan,
    comment_on_plan,
    create_plan,
    implement_plan,
    plan_history,
    reject_plan,
    review_plan,
    revise_plan,
)

__all__ = [
    "approve_plan",
    "comment_on_plan",
    "create_plan",
    "implement_plan",
    "plan_history",
    "reject_plan",
    "review_plan",
    "revise_plan",
]
