"""The columns of the `runs` procedures, in order."""

from datetime import datetime
from typing import Annotated, Any

from sidecypher import Description, Row
from sidecypher_procedures.paging import Cursor

State = Annotated[str, Description("pending, running, waiting, completed, error or timedOut")]


class Created(Row):
    """A new or existing run."""

    id: str
    state: State
    created: Annotated[bool, Description("false when it was there already")]


class Attached(Row):
    """A run and the node it is attached to."""

    run_id: str
    id: Annotated[str, Description("that of the thing's node; the SHA of a commit")]
    attached: Annotated[bool, Description("false when it was so already")]


class AppendedRow(Row):
    """An event in its run."""

    id: str
    seq: Annotated[int, Description("its place in the run, from 1")]
    run_id: str
    type: str
    state: Annotated[str, Description("the state of the run after it")]
    duplicate: Annotated[bool, Description("true when it was there already")]
    digest: Annotated[
        str, Description("of it, its place, its time, its agent and its parents' digests")
    ]


class RunRow(Row):
    """A run with all its properties."""

    run: dict[str, Any]


class EventRow(Row):
    """An event of a run."""

    seq: int
    id: str
    type: str
    event: Annotated[dict[str, Any], Description("as `runs.append` accepts it")]
    parent_ids: list[str]
    created_at: Annotated[datetime | None, Description("null if plain Cypher has left it out")]


class StateRow(Row):
    """The state of a run."""

    id: str
    state: State
    last_seq: Annotated[int, Description("the place of its latest event, 0 if it has none")]


class UsageRow(Row):
    """Sums of the token counts and costs of a run."""

    id: str
    input_tokens: Annotated[int, Description("tokens that models read")]
    output_tokens: Annotated[int, Description("tokens that models wrote")]
    cost: Annotated[float, Description("in the currency of those who appended")]
    events: Annotated[int, Description("how many events have a count or a cost")]
    model: Annotated[str | None, Description("null unless grouped by it, or without one")] = None
    agent_id: Annotated[str | None, Description("as `model`: the id of an `AIAgent`")] = None


class Verified(Row):
    """The result of verifying a run's history."""

    id: str
    ok: bool
    first_bad_seq: Annotated[
        int | None, Description("the place of the first fault, null without a fault")
    ]
    reason: Annotated[str | None, Description("what is wrong there, null if nothing is")]
    signed: Annotated[int, Description("how many events before the fault are signed by the key")]


class Forked(Row):
    """A run that shares the beginning of another one."""

    id: str
    forked_from: Annotated[str, Description("the run whose events it shares")]
    seq: Annotated[int, Description("the place of the last event that it shares")]


class Deleted(Row):
    """An event whose content was deleted."""

    id: str
    seq: Annotated[int, Description("its place in the run, which it keeps")]
    run_id: str
    deleted: Annotated[bool, Description("false when it was deleted before")]


Status = Annotated[str, Description("draft, pending_review, approved, rejected or implemented")]
Version = Annotated[int, Description("its number, from 1")]


class PlanRow(Row):
    """A version of a plan."""

    id: str
    status: Status
    version: Version
    run_id: str


class CommentRow(Row):
    """A comment on a plan, and the plan."""

    id: str
    plan_id: str
    status: Status
    version: Version
    run_id: str


class ActionRow(Row):
    """An action of a user on a plan."""

    action: Annotated[str, Description("REVIEWS, APPROVES, REJECTS or EDITS")]
    user_id: Annotated[str, Description("id of a User")]
    created_at: datetime | None
    version: Version
    message: str | None
    cursor: Cursor


Lane = Annotated[int, Description("from 0; a branch has its own")]


class ListedRun(Row):
    """A run in a list."""

    id: str
    type: str | None
    state: State
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    last_seq: Annotated[int, Description("the place of its latest event, 0 if it has none")]
    cursor: Cursor


class TreeRow(Row):
    """An event with its parents and children."""

    id: str
    seq: int
    type: str
    parent_ids: list[str]
    child_ids: list[str]
    lane: Lane


class TimelineRow(Row):
    """An event in a timeline."""

    seq: int
    id: str
    type: str
    label: Annotated[str, Description("type, tool, state; no content")]
    lane: Lane
    parent_ids: list[str]
    parent_lanes: Annotated[list[int], Description("the lane that leads here from each parent")]
    created_at: Annotated[datetime | None, Description("when it happened")]
    duration_ms: Annotated[
        int | None, Description("milliseconds since the latest of its parents, null without any")
    ]


class ToolCallRow(Row):
    """A call of a tool with its result."""

    id: str
    run_id: str
    tool_name: str
    args: Annotated[dict[str, Any] | None, Description("null if they are not a JSON object")]
    status: Annotated[str, Description("`initiated` until something else is known")]
    result_id: Annotated[str | None, Description("null without a result")]
    content: Annotated[str | None, Description("the text of the result")]
    is_error: Annotated[bool | None, Description("null without a result")]
    created_at: Annotated[datetime, Description("of the call")]
    cursor: Cursor


class MarkedCall(Row):
    """A call of a tool without a result."""

    id: str
    run_id: str
    status: str


class MessageRow(Row):
    """A message of a run."""

    seq: int
    role: str
    content: str | None
    tool_name: str | None
    metadata: dict[str, Any] | None
    id: Annotated[str, Description("of the event")]
    type: Annotated[str, Description("as the graph names it; a `reasoning` is one of `assistant`")]
    tool_call_id: Annotated[str | None, Description("the same for a call and its result")]


class Archived(Row):
    """An archived run and its file."""

    id: str
    file: Annotated[str, Description("relative to the folder for archives")]
    events: Annotated[int, Description("how many events it has, shared ones not counted")]
    digest: Annotated[str, Description("SHA-256 of what the file says of it")]


class ArchivedRow(Row):
    """A run in an archive."""

    id: str
    file: Annotated[str, Description("relative to the folder for archives")]
    digest: Annotated[str, Description("SHA-256 of what the file says of it")]


class Removed(Row):
    """A run that was deleted."""

    id: str
    events: Annotated[int, Description("how many events it had, shared ones not counted")]


class Retained(Row):
    """A run that is older than the retention time."""

    id: str
    state: State
    completed_at: datetime
    action: Annotated[str, Description("archive, delete, or stay for one that cannot be archived")]
