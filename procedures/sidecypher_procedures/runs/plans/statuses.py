"""The status of a plan: one table of what may be done with it, and what it then is."""

from typing import Final, Literal

from sidecypher_procedures.runs.errors import IllegalStatus

Status = Literal["draft", "pending_review", "approved", "rejected", "implemented"]
Beginning = Literal["draft", "pending_review"]
Action = Literal["review", "approve", "reject", "revise", "implement"]

STEPS: Final[dict[Action, dict[Status, Status]]] = {
    "review": {"draft": "pending_review", "pending_review": "pending_review"},
    "approve": {"pending_review": "approved"},
    "reject": {"pending_review": "rejected"},
    # A new version of what somebody has looked at has to be looked at again.
    "revise": {
        "draft": "draft",
        "pending_review": "pending_review",
        "approved": "pending_review",
        "rejected": "pending_review",
    },
    # A plan may result in several pull requests.
    "implement": {"approved": "implemented", "implemented": "implemented"},
}


def after(action: Action, status: Status) -> Status:
    """Return the status of a plan, or of its new version, after an action.

    Raises:
        IllegalStatus: This cannot be done with a plan of this status.

    Example:
        >>> after("approve", "pending_review")
        'approved'
    """
    step = STEPS[action]
    if status not in step:
        raise IllegalStatus(
            f"A plan that is `{status}` cannot be the subject of `runs.plan.{action}`",
            hint=f"It must be {' or '.join(step)}.",
        )
    return step[status]
