"""The columns of the `runs.plan` procedures, in order."""

from datetime import datetime
from typing import Annotated

from sidecypher import Description, Row

Status = Annotated[str, Description("draft, pending_review, approved, rejected or implemented")]
Version = Annotated[int, Description("its number, from 1")]


class PlanRow(Row):
    """A version of a plan that is there."""

    plan_id: str
    status: Status
    version: Version
    run_id: str


class CommentRow(Row):
    """A comment on a plan that is there, and the plan."""

    comment_id: str
    plan_id: str
    status: Status
    version: Version
    run_id: str


class ActionRow(Row):
    """What a user did with a plan."""

    action: Annotated[str, Description("REVIEWS, APPROVES, REJECTS or EDITS")]
    user: Annotated[str, Description("id of a User")]
    at: datetime | None
    version: Version
    message: str | None
