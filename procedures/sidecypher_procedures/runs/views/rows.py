"""The columns of what is seen of runs, in order."""

from datetime import datetime
from typing import Annotated, Any

from sidecypher import Description, Row
from sidecypher_procedures.runs.rows import State

Lane = Annotated[int, Description("from 0; a branch has one of its own")]


class ListedRun(Row):
    """A run, as a list tells it."""

    id: str
    type: str | None
    state: State
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    last_seq: Annotated[int, Description("the place of its latest event, 0 if it has none")]


class TreeRow(Row):
    """An event among those around it."""

    id: str
    seq: int
    type: str
    parent_ids: list[str]
    child_ids: list[str]
    lane: Lane


class TimelineRow(Row):
    """An event as a picture shows it."""

    seq: int
    id: str
    type: str
    label: Annotated[str, Description("type, tool, state; no content")]
    lane: Lane
    parent_ids: list[str]
    parent_lanes: Annotated[list[int], Description("the lane that leads here from each parent")]
    at: Annotated[datetime | None, Description("when it happened")]
    duration_ms: Annotated[
        int | None, Description("milliseconds since the latest of its parents, null without any")
    ]


class ToolCallRow(Row):
    """A call of a tool with its result."""

    call_id: str
    run_id: str
    tool_name: str
    args: Annotated[dict[str, Any] | None, Description("null if they are no JSON object")]
    status: Annotated[str, Description("`initiated` until something else is known")]
    result_id: Annotated[str | None, Description("null while there is no result")]
    content: Annotated[str | None, Description("the text of the result")]
    is_error: Annotated[bool | None, Description("null while there is no result")]
    created_at: Annotated[datetime, Description("of the call")]


class MessageRow(Row):
    """A message of a run."""

    seq: int
    role: str
    content: str | None
    tool_name: str | None
    metadata: dict[str, Any] | None
