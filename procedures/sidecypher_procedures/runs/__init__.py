"""The `runs` namespace: workflow runs as an event graph that cannot fork, lose or reorder."""

from sidecypher_procedures.runs.plans import (
    approve_plan,
    comment_on_plan,
    create_plan,
    implement_plan,
    plan_history,
    reject_plan,
    review_plan,
    revise_plan,
)
from sidecypher_procedures.runs.procedures import (
    append,
    append_many,
    create,
    delete_event,
    events,
    fork,
    get,
    state,
    verify,
)

__all__ = [
    "append",
    "append_many",
    "approve_plan",
    "comment_on_plan",
    "create",
    "create_plan",
    "delete_event",
    "events",
    "fork",
    "get",
    "implement_plan",
    "plan_history",
    "reject_plan",
    "review_plan",
    "revise_plan",
    "state",
    "verify",
]
