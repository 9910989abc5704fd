"""The columns of the `session` procedures, in order."""

from datetime import datetime
from typing import Annotated, Any

from sidecypher import Description, Row
from sidecypher_procedures.paging import Cursor

Status = Annotated[str, Description("active, awaiting_input, completed, error or cancelled")]
Pending = Annotated[
    list[str], Description("ids of steps that are left to a worker or to `session.run`")
]


class Defined(Row):
    """A new version of a workflow."""

    workflow: str
    version: Annotated[int, Description("its number, from 1")]
    steps: Annotated[int, Description("how many it has")]
    findings: Annotated[
        list[dict[str, Any]],
        Description("what may be wrong: MAPs with `severity`, `stepId`, `where` and `message`"),
    ]


class Progressed(Row):
    """A session, as far as it has come."""

    session_id: str
    status: Status
    pending: Pending


class Answered(Row):
    """A session whose request was answered."""

    session_id: str
    status: Status
    accepted: Annotated[bool, Description("true, also when the same answer was given before")]


class SessionRow(Row):
    """A session."""

    session: Annotated[
        dict[str, Any],
        Description(
            "`id`, `workflow`, `status`, `next_steps`, `created_at`, and `memory`, `errors`, "
            "`chat_history`"
        ),
    ]


class Listed(Row):
    """A session in a list."""

    id: str
    workflow: str | None
    status: Status
    next_steps: list[str]
    created_at: datetime
    updated_at: datetime
    cursor: Cursor


class Cancelled(Row):
    """A session that was cancelled."""

    session_id: str
    status: Status
    cancelled: Annotated[bool, Description("false when it had ended before")]


class Forked(Row):
    """A session that shares the beginning of another one."""

    session_id: str
    forked_from: Annotated[str, Description("the session whose outputs it shares")]
    status: Status
    pending: Pending


class Resolved(Row):
    """What a text becomes."""

    value: Annotated[Any, Description("null if something is missing")]
    missing: Annotated[list[str], Description("references without a default to what is not there")]


class Reached(Row):
    """A session that was waited for."""

    session_id: str
    status: Status
    reached: Annotated[bool, Description("false when the time was over first")]


class Found(Row):
    """Something that is wrong with a workflow, or may be."""

    severity: Annotated[str, Description("error or warning")]
    step_id: Annotated[str | None, Description("null if it is about no step")]
    where: Annotated[str, Description("the property, or the edge, of the step")]
    message: str


class Execution(Row):
    """An execution of a step, or its failure."""

    seq: Annotated[int | None, Description("its place in the session; null while it runs")]
    step_id: str
    cycle: Annotated[int, Description("from 0")]
    state: Annotated[str, Description("done, error, warning, running, waiting or retrying")]
    tries: int
    started_at: datetime | None
    ended_at: datetime | None
    error: str | None


class Awaiting(Row):
    """An open request."""

    session_id: str
    request_id: str
    step_id: str
    statement: str
    options: Annotated[
        list[str] | None, Description("the answers that it accepts; null if it accepts any")
    ]
    schema: Annotated[
        dict[str, Any] | None, Description("the JSON Schema of its answers; null if it has none")
    ]
    since: datetime


class ReadRow(Row):
    """A row of a statement."""

    row: dict[str, Any]


class Picture(Row):
    """The workflow of a session as a picture."""

    svg: Annotated[str, Description("an SVG document, for light and dark pages")]
