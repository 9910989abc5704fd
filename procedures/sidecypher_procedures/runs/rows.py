"""The columns of the `runs` procedures, in order."""

from datetime import datetime
from typing import Annotated, Any

from sidecypher import Description, Row

State = Annotated[str, Description("pending, running, completed, error or timedOut")]


class Created(Row):
    """A run that is there."""

    id: str
    state: State
    created: Annotated[bool, Description("false when it was there already")]


class Attached(Row):
    """A run that is attached to a thing."""

    run_id: str
    id: Annotated[str, Description("that of the thing's node; the SHA of a commit")]
    attached: Annotated[bool, Description("false when it was so already")]


class AppendedRow(Row):
    """An event that is in its run."""

    id: str
    seq: Annotated[int, Description("its place in the run, from 1")]
    run_id: str
    type: str
    state: Annotated[str, Description("the state of the run after it")]
    duplicate: Annotated[bool, Description("true when it was there already")]
    digest: Annotated[str, Description("SHA-256 of it, its place and its parents' digests")]


class RunRow(Row):
    """A run with all its properties."""

    run: dict[str, Any]


class EventRow(Row):
    """An event of a run."""

    seq: int
    id: str
    type: str
    event: Annotated[dict[str, Any], Description("as `runs.append` takes it")]
    parent_ids: list[str]
    created_at: datetime


class StateRow(Row):
    """How a run stands."""

    id: str
    state: State
    last_seq: Annotated[int, Description("the place of its latest event, 0 if it has none")]


class Verified(Row):
    """Whether a run's history is as it was written."""

    run_id: str
    ok: bool
    first_bad_seq: Annotated[
        int | None, Description("the place of the first fault, null if there is none")
    ]
    reason: Annotated[str | None, Description("what is wrong there, null if nothing is")]


class Forked(Row):
    """A run that shares the beginning of another one."""

    id: str
    forked_from: Annotated[str, Description("the run whose events it shares")]
    seq: Annotated[int, Description("the place of the last event that it shares")]


class Deleted(Row):
    """An event whose content is gone."""

    id: str
    seq: Annotated[int, Description("its place in the run, which it keeps")]
    run_id: str
    deleted: Annotated[bool, Description("false when it was deleted before")]
