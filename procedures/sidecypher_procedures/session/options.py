"""MAP arguments of the `session` procedures."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sidecypher import Description, Options
from sidecypher_procedures.names import Id, Name
from sidecypher_procedures.paging import TimePage
from sidecypher_procedures.session.store import Status

MOST_STEPS: Final = 1000
"""The most steps of a workflow, and half of the most edges."""

Compat = Literal["graphie", "luna"]
"""An older engine whose references differ."""


class StepSpec(Options):
    """A step of a workflow."""

    id: Id
    function: Annotated[str, Description("what it does, such as `request`")]
    input: Annotated[dict[str, Any] | None, Description("the input of its function")] = None
    description: str | None = None
    join: Annotated[
        Literal["all"] | None, Description("whether it waits for all branches that can reach it")
    ] = None
    retries: Annotated[int, Field(ge=0, le=100), Description("further tries after a failure")] = 0
    backoff_ms: Annotated[
        int, Field(ge=0, le=3_600_000), Description("milliseconds before the first of them")
    ] = 1000
    timeout_ms: Annotated[
        int | None,
        Field(ge=1, le=366 * 86_400_000),
        Description("milliseconds that it may take: a minute by default, for ever for a request"),
    ] = None
    on_error: Annotated[
        str,
        Field(pattern=r"^(fail|continue|step:.+)$"),
        Description("`fail`, `continue`, or `step:` and the id of the step that follows"),
    ] = "fail"


class EdgeSpec(Options):
    """An edge of a workflow: which step follows which, and when."""

    from_: Annotated[Id, Description("id of a step")]
    to: Annotated[Id, Description("id of a step")]
    id: Id | None = None
    conditions: Annotated[list[Any] | None, Description("all of them must hold")] = None
    order: Annotated[int | None, Description("edges are looked at in this order")] = None


class WorkflowSpec(Options):
    """A workflow: steps, and what follows what."""

    steps: Annotated[list[StepSpec], Field(min_length=1, max_length=MOST_STEPS)]
    next: Annotated[list[EdgeSpec], Field(max_length=2 * MOST_STEPS)] = []
    entry: Annotated[Id, Description("id of the step that it begins with")] = "root"


class StartOptions(Options):
    """Options of a new session."""

    id: Annotated[Id | None, Description("its id; a new one by default")] = None
    input: Annotated[dict[str, Any] | None, Description("what `@{SESSION_ID}.input` refers to")] = (
        None
    )
    run: Annotated[bool, Description("whether it runs at once; else a worker runs it")] = True
    compat: Annotated[
        Compat | None, Description("the older engine whose references the workflow uses")
    ] = None
    max_rounds: Annotated[
        int | None,
        Field(ge=1, le=1_000_000),
        Description("rounds at most without an answer of a person, 100 by default"),
    ] = None
    max_outputs_per_step: Annotated[int | None, Field(ge=1), Description("cycles at most")] = None
    record: Annotated[bool, Description("whether it is mirrored as a run of `runs.*`")] = False
    export_properties: Annotated[
        bool, Description("whether its node also has `memory`, `errors` and `chat_history`")
    ] = False


class RunOptions(Options):
    """Options of a run of a session."""

    seconds: Annotated[float, Field(gt=0, le=280), Description("how long new steps are begun")] = (
        60.0
    )


class InputOptions(Options):
    """Options of an answer."""

    request_id: Annotated[
        Id | None, Description("which request it answers; not needed if one is open")
    ] = None


class ListOptions(TimePage):
    """Filter and page of a list of sessions."""

    workflow: Annotated[Name | None, Description("only those of this workflow")] = None
    status: Annotated[Status | None, Description("only those in this status")] = None
    limit: Annotated[int, Field(ge=0, le=10_000), Description("rows at most")] = 100


class AwaitingOptions(Options):
    """Filter of the open requests."""

    workflow: Annotated[Name | None, Description("only those of this workflow")] = None
    session_id: Annotated[Id | None, Description("only those of this session")] = None
    limit: Annotated[int, Field(ge=0, le=10_000), Description("rows at most")] = 100


class ForkOptions(Options):
    """Where a fork begins."""

    id: Annotated[Id | None, Description("its id; a new one by default")] = None
    step: Annotated[Id, Description("the step that it runs again")]
    cycle: Annotated[
        int | None, Field(ge=0), Description("which execution of it; the latest by default")
    ] = None
