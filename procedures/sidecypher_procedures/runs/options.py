"""MAP arguments of the `runs` procedures: events, plans, comments and options."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self, get_args
from uuid import uuid4

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sidecypher import Description, Options
from sidecypher_procedures.names import Id, Name, is_id
from sidecypher_procedures.paging import TimePage
from sidecypher_procedures.runs.event import METADATA_LEVELS, Event, levels
from sidecypher_procedures.runs.model import (
    CANCELLED,
    USAGE,
    EventType,
    InitialStatus,
    Naming,
    ReportedState,
    State,
    canonical,
    event_type,
    state_of,
)

CONTENT_BYTES: Final = 1024 * 1024
"""The largest text of an event, in bytes."""

RESULT_BYTES: Final = 8 * 1024
"""The largest result of a run, in bytes."""

METADATA_BYTES: Final = 64 * 1024
"""The largest metadata of an event or a run, in bytes of JSON."""

MOST_USAGE: Final = 10**12
"""The most tokens of an event, and the highest cost."""

MOST_IDS: Final = 1000
LONGEST_MESSAGE: Final = 4000
"""The most characters of a user's message about an action."""

ALL_ROWS: Final = 2**62
"""A limit that no list reaches."""

_LARGEST_NUMBER: Final = 2**31 - 1


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    size = len(_json(value).encode())
    if size > METADATA_BYTES:
        raise ValueError(f"it has {size} bytes; give at most {METADATA_BYTES}")
    if levels(value) > METADATA_LEVELS:
        raise ValueError(f"it nests {levels(value)} levels deep; give at most {METADATA_LEVELS}")
    return value


def _json(value: Any) -> str:
    try:
        text = canonical(value)
        text.encode()
    except (TypeError, ValueError):
        raise ValueError(
            "it has a value that JSON does not have; give STRINGs, numbers, BOOLEANs, LISTs and "
            "MAPs, and a time as a STRING"
        ) from None
    return text


def _content(value: str) -> str:
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > CONTENT_BYTES:
        raise ValueError(f"it has {size} bytes; give at most {CONTENT_BYTES}")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("it says nothing; give the text")
    return value


def _arguments(value: Any) -> str | None:
    if not isinstance(value, str | dict | None):
        raise ValueError("it is neither a MAP nor a STRING")  # noqa: TRY004 - for pydantic
    return None if value is None else _content(value if isinstance(value, str) else _json(value))


def _type(name: str) -> str:
    event_type(name)
    return name


def _id_or_names(value: Any) -> Any:
    if isinstance(value, str) and not is_id(value):
        raise ValueError(f"an id of {len(value)} characters; give 1 to 200, not only space")
    return value


def _text_or_map(value: Any) -> Any:
    _arguments(value)
    return value


def _result(value: str) -> str:
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > RESULT_BYTES:
        raise ValueError(f"it has {size} bytes; give at most {RESULT_BYTES}")
    if value == CANCELLED:
        raise ValueError("only a `workflowCancelled` makes a run cancelled; append one")
    return value


def _in_utc(moment: datetime) -> datetime:
    """Return an instant in the zone of all others: Neo4j puts equal ones in the order of zones."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it is before the year 1 or after 9999") from None


TypeName = Annotated[str, AfterValidator(_type)]
Content = Annotated[str, AfterValidator(_content)]
RequiredText = Annotated[str, AfterValidator(_content), AfterValidator(_not_blank)]
Metadata = Annotated[
    dict[str, Any],
    AfterValidator(_metadata),
    Description("what JSON has, at most 64 KiB and 89 levels deep"),
]
Ids = Annotated[list[Id], Field(max_length=MOST_IDS)]
Message = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=LONGEST_MESSAGE),
    Description("what the user says about it"),
]


class EventFields(Options):
    """Fields of every event of a run, in addition to its type and text."""

    id: Annotated[Id | None, Description("its id; a new one by default")] = None
    created_at: Annotated[
        Annotated[datetime, AfterValidator(_in_utc)] | None,
        Description("when it happened; when it is written by default"),
    ] = None
    parent_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=MOST_IDS),
        Description("ids of the events that it follows; the latest event by default"),
    ] = None
    parent_event_id: Annotated[Id | None, Description("as `parentIds` with one id")] = None
    join: Annotated[bool, Description("whether it follows all events that nothing follows yet")] = (
        False
    )
    metadata: Metadata | None = None
    executed_by: Annotated[
        Id | None, Description("id of an `AIAgent`, which is created if it is new")
    ] = None
    responds_to: Annotated[Id | None, Description("id of a `Message`")] = None
    references: Annotated[Ids, Description("ids of `Issue` nodes")] = []

    @model_validator(mode="after")
    def _follows_in_one_way(self) -> Self:
        ways = {
            "parentIds": self.parent_ids is not None,
            "parentEventId": self.parent_event_id is not None,
            "join": self.join,
        }
        given = [f"`{name}`" for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise ValueError(f"it has both {' and '.join(given)}; give one of them")
        return self

    def to_event(
        self, kind: EventType, content: str | None, plan_id: str | None = None, **more: Any
    ) -> Event:
        """Return the event, which may suggest an edit to a plan."""
        links: dict[str, list[str | None]] = {
            "EXECUTED_BY": [self.executed_by],
            "RESPONDS_TO": [self.responds_to],
            "SUGGESTS_EDIT_TO": [plan_id],
            "REFERENCES": [*self.references],
        }
        given = {name: {each for each in ids if each is not None} for name, ids in links.items()}
        parents = self.parent_ids or (self.parent_event_id and [self.parent_event_id])
        attributes: dict[str, Any] = {
            "metadata": self.metadata,
            "parent_ids": parents and tuple(dict.fromkeys(parents)),
            "links": {name: sorted(ids) for name, ids in given.items() if ids},
            "created_at": self.created_at,
            "join": self.join,
            **more,
        }
        return Event(id=self.id or str(uuid4()), type=kind, content=content, **attributes)


Tokens = Annotated[int, Field(ge=0, le=MOST_USAGE)]


class Usage(Options):
    """Token counts and cost of an event that a model wrote."""

    input_tokens: Annotated[Tokens | None, Description("tokens that the model read")] = None
    output_tokens: Annotated[Tokens | None, Description("tokens that the model wrote")] = None
    cost: Annotated[
        Annotated[float, Field(ge=0, le=MOST_USAGE, allow_inf_nan=False)] | None,
        Description("its price, in a currency of your choice"),
    ] = None

    @property
    def usage(self) -> dict[str, float]:
        """The given counts and cost, by their names in the graph."""
        values = zip(USAGE, (self.input_tokens, self.output_tokens, self.cost), strict=True)
        return {name: value for name, value in values if value is not None}


class EventInput(EventFields, Usage):
    """An event as a caller passes it.

    Example:
        >>> EventInput(type="workflow.error", message="no disk").event.content
        'no disk'
    """

    type: Annotated[TypeName, Description("what happened, under either of its names")]
    content: Annotated[
        Any,
        AfterValidator(_text_or_map),
        Description("its text, at most 1 MiB; of a `toolCallResult` also a MAP"),
    ] = None
    message: Annotated[Content | None, Description("the text of a `workflow.error`")] = None
    summary: Annotated[Content | None, Description("the text of a `reasoning`")] = None
    args: Annotated[
        Any, AfterValidator(_arguments), Description("of a `toolCall`: a MAP, or JSON as a STRING")
    ] = None
    state: Annotated[
        Literal[State, "failed"] | None, Description("of a `workflowState`; `failed` is `error`")
    ] = None
    tool_name: Annotated[Name | None, Description("the tool that is called or answers")] = None
    tool_call_id: Annotated[Name | None, Description("the call that it makes or answers")] = None
    suggests_edit_to: Annotated[Id | None, Description("id of a `Plan`")] = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        kind, given = event_type(self.type), self._given
        bodies = kind.bodies(self.type)
        allowed = (*bodies, *kind.further, *(USAGE if kind.usage else ()))
        for name in (*given, *self.usage):
            if name not in allowed:
                known = " and ".join(f"`{each}`" for each in allowed)
                raise ValueError(f"an event of this type has no `{name}`; it can have {known}")
        if isinstance(self.content, dict) and kind.storage != "toolCallResult":
            raise ValueError("it has a MAP as `content`; only a `toolCallResult` may have one")
        if len(given.keys() & {*bodies}) > 1:
            names = " and ".join(f"`{name}`" for name in bodies)
            raise ValueError(f"it has both {names}; give one of them")
        if "state" in kind.further and self.state is None:
            raise ValueError("it lacks `state`, the new state of the run")
        return self

    @property
    def _given(self) -> dict[str, Any]:
        values = {
            "content": _arguments(self.content),
            "message": self.message,
            "summary": self.summary,
            "args": self.args,
            "state": self.state,
            "toolName": self.tool_name,
            "toolCallId": self.tool_call_id,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def event(self) -> Event:
        """The event to append."""
        kind, given = event_type(self.type), self._given
        return self.to_event(
            kind,
            next((given[name] for name in kind.bodies(self.type) if name in given), None),
            self.suggests_edit_to,
            state=None if self.state is None else state_of(self.state),
            tool_name=self.tool_name or None,
            tool_call_id=self.tool_call_id or None,
            usage=self.usage,
        )


class AppendOptions(Options):
    """Condition for appending an event."""

    expected_seq: Annotated[
        int | None,
        Field(ge=0),
        Description("only if the latest event of the run is at this place, 0 for none"),
    ] = None


class _PlanFields(EventFields):
    content: Annotated[RequiredText, Description("the text of the plan, at most 1 MiB")]
    generated_by: Annotated[Id | None, Description("id of the message that it came of")] = None


class PlanInput(_PlanFields, Usage):
    """A plan as a caller passes it."""

    status: Annotated[InitialStatus, Description("how it begins")] = "draft"
    implements: Annotated[Ids, Description("ids of `Issue` nodes")] = []

    @property
    def event(self) -> Event:
        """The event to append."""
        return self.to_event(event_type("llmResponse"), self.content, usage=self.usage)


class RevisionInput(_PlanFields):
    """A new version of a plan as a caller passes it."""

    message: Message = ""
    implements: Annotated[
        Ids | None, Description("ids of `Issue` nodes; those of the version before by default")
    ] = None

    @property
    def event(self) -> Event:
        """The event to append."""
        return self.to_event(event_type("llmResponse"), self.content)


class CommentInput(EventFields):
    """A user's comment on a plan."""

    content: Annotated[RequiredText, Description("the text of the comment, at most 1 MiB")]
    suggests_edit: Annotated[bool, Description("whether it suggests a change of the plan")] = False


class DecisionOptions(Options):
    """Options of a decision on a plan."""

    message: Message = ""


class ImplementOptions(Options):
    """Options of an implemented plan."""

    pull_request_id: Annotated[
        Id | None, Description("id of the `PullRequest` that implements it")
    ] = None


class RepositoryName(Options):
    """A repository on GitHub."""

    owner: Annotated[Name, Field(min_length=1)]
    name: Annotated[Name, Field(min_length=1)]

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


class _InRepository(Options):
    owner: Annotated[Name, Field(min_length=1)]
    repo: Annotated[Name, Field(min_length=1)]


class NumberedName(_InRepository):
    """An issue or a pull request on GitHub."""

    number: Annotated[int, Field(ge=1, le=_LARGEST_NUMBER)]

    def __str__(self) -> str:
        return f"{self.owner}/{self.repo}#{self.number}"


class CommitName(_InRepository):
    """A commit on GitHub."""

    sha: Annotated[
        str,
        Field(pattern=r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"),
        AfterValidator(str.lower),
        Description("all of its 40 or 64 digits"),
    ]

    def __str__(self) -> str:
        return f"{self.owner}/{self.repo}@{self.sha}"


GithubName = RepositoryName | NumberedName | CommitName


class Basis(Options):
    """The nodes that a run is based on, each by its id or its names on GitHub."""

    issue: Annotated[str | NumberedName | None, AfterValidator(_id_or_names)] = None
    repository: Annotated[str | RepositoryName | None, AfterValidator(_id_or_names)] = None
    commit: Annotated[str | CommitName | None, AfterValidator(_id_or_names)] = None


class RunOptions(Options):
    """Options of a new run."""

    id: Annotated[Id | None, Description("its id; a new one by default")] = None
    based_on: Annotated[Basis, Description("what it is about")] = Basis()
    initiated_by: Annotated[
        Id | None, Description("id of the `User` who began it, created if it is new")
    ] = None
    triggered_by: Annotated[
        Id | None, Description("id of the `GithubWebhookEvent` that began it")
    ] = None
    parent_run_id: Annotated[Id | None, Description("id of the run that it is a child of")] = None
    post_to_github: Annotated[
        bool | None, Description("whether its results are meant for GitHub")
    ] = None
    metadata: Metadata | None = None


class UpdateOptions(Options):
    """What to replace of a run."""

    metadata: Metadata | None = None
    result: Annotated[
        Annotated[str, AfterValidator(_result)] | None, Description("a text of at most 8 KiB")
    ] = None


class ForkOptions(RunOptions):
    """Options of a fork."""

    type: Annotated[Name | None, Description("of the fork; that of the other run by default")] = (
        None
    )


class UsageOptions(Options):
    """How to group the usage of a run."""

    by: Annotated[Literal["run", "model", "agent"], Description("what each row is the sum of")] = (
        "run"
    )
    children: Annotated[
        bool, Description("with the children of the run, their children, and so on")
    ] = False


class _Page(Options):
    limit: Annotated[int | None, Field(ge=0), Description("rows at most; all by default")] = None

    @property
    def most(self) -> int:
        """The limit, or a number that no list reaches."""
        return ALL_ROWS if self.limit is None else self.limit


class _EventPage(_Page):
    cursor: Annotated[
        int, Field(ge=0), Description("only events behind this `seq`, such as that of a last row")
    ] = 0


class TreeOptions(_EventPage):
    """Filter and page of the events of a run."""


class PathOptions(_EventPage):
    """Page and naming of events."""

    naming: Annotated[Naming, Description("whose words the rows use")] = "storage"


class EventsOptions(PathOptions):
    """Filter and page of the events of a run."""

    types: Annotated[
        Annotated[list[TypeName], Field(max_length=100)] | None,
        Description("only these, under either of their names"),
    ] = None


class FollowOptions(EventsOptions):
    """Filter and page of new events, and how long to wait for them."""

    wait_ms: Annotated[
        int, Field(ge=0, le=30_000), Description("milliseconds to wait for an event")
    ] = 10_000


Role = Literal["system", "user", "assistant", "tool_call", "tool_result"]
_TOOLS: Final = frozenset({"tool_call", "tool_result"})


class ConversationOptions(_EventPage):
    """Filter and page of the messages of a run."""

    tools: Annotated[bool, Description("with calls of tools and their results")] = True
    roles: Annotated[list[Role] | None, Description("only messages of these")] = None

    @property
    def wanted(self) -> list[str]:
        """The roles to return messages of."""
        roles = get_args(Role) if self.roles is None else self.roles
        return [role for role in roles if self.tools or role not in _TOOLS]


class _TimePage(TimePage, _Page):
    @property
    def place(self) -> dict[str, Any]:
        """Parameters of a statement that lists the latest rows first."""
        return {**self.before, "limit": self.most}


class HistoryOptions(TimePage, _Page):
    """Page of the actions on a plan."""

    @property
    def page(self) -> dict[str, Any]:
        """Parameters of a statement that lists the earliest rows first."""
        return {**self.after, "limit": self.most}


class ListOptions(_TimePage):
    """Filter and page of a list of runs."""

    type: Annotated[Name | None, Description("only those of this type")] = None
    issue_id: Annotated[Id | None, Description("only those based on this `Issue`")] = None
    repository_id: Annotated[Id | None, Description("only those based on this `Repository`")] = None
    user_id: Annotated[Id | None, Description("only those that this `User` began")] = None
    parent_run_id: Annotated[Id | None, Description("only the children of this run")] = None
    state: Annotated[
        Literal[ReportedState, "failed"] | None,
        Description("only those in this; `failed` is `error`"),
    ] = None

    @property
    def reported(self) -> ReportedState | None:
        """The state that the runs must have; None for any."""
        return "error" if self.state == "failed" else self.state


class CallsOptions(_TimePage):
    """Filter and page of the calls of a tool."""

    run_id: Annotated[Id | None, Description("only those of this run, shared ones included")] = None
    status: Annotated[Name | None, Description("only those of this status")] = None
    created_after: Annotated[datetime | None, Description("only those made after it")] = None


class ArchivesOptions(_Page):
    """Page of archived runs."""

    cursor: Annotated[str, Description("only runs behind this id, such as that of a last row")] = ""


class RetainOptions(Options):
    """Options of the retention of old runs."""

    dry_run: Annotated[bool, Description("only list them")] = True
    delete: Annotated[bool, Description("delete them for good, without an archive")] = False
    limit: Annotated[
        int, Field(ge=1, le=1000), Description("runs that leave at most, the oldest first")
    ] = 100
