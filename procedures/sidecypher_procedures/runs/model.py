"""The words of runs: types of events, states of runs, statuses of plans, digests of events."""

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from sidecypher_procedures.runs.errors import IllegalState, IllegalStatus

Naming = Literal["storage", "application"]


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event.

    Attributes:
        body: What its text is called in the graph, None if it has none.
        application_body: What applications call its text.
        further: What else it carries, in addition to what every event may.
        labels: Those it has in the graph in addition to `Event`.
        role: Whose words it is, for a message.
    """

    storage: str
    application: str
    body: str | None = "content"
    application_body: str = "content"
    further: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    role: str | None = None

    def bodies(self, name: str) -> tuple[str, ...]:
        """Return what its text may be called where the type is called `name`.

        Example:
            >>> event_type("reasoning").bodies("reasoning")
            ('summary', 'content')
        """
        if self.body is None:
            return ()
        forms = ((self.storage, self.body), (self.application, self.application_body))
        return tuple(dict.fromkeys(body for form, body in forms if form == name))


def _message(
    storage: str, application: str, role: str, label: str | None = None, **more: Any
) -> EventType:
    labels = ("Message",) if label is None else ("Message", label)
    return EventType(storage, application, labels=labels, role=role, **more)


EVENT_TYPES: Final = (
    EventType("error", "workflow.error", application_body="message"),
    EventType("status", "status"),
    EventType("workflowState", "workflow.state", body=None, further=("state",)),
    EventType("workflowStarted", "workflow.started"),
    EventType("workflowCompleted", "workflow.completed"),
    EventType("workflowCancelled", "workflow.cancelled"),
    EventType("workflowCheckpointSaved", "workflow.checkpoint.saved"),
    EventType("workflowCheckpointRestored", "workflow.checkpoint.restored"),
    _message("systemPrompt", "system_prompt", "system"),
    _message("userMessage", "user_message", "user"),
    _message("llmResponse", "assistant_message", "assistant"),
    _message("reasoning", "reasoning", "assistant", body="summary"),
    _message(
        *("toolCall", "tool.call", "tool_call", "ToolCall"),
        body="args",
        application_body="args",
        further=("toolName", "toolCallId"),
    ),
    _message(
        *("toolCallResult", "tool.result", "tool_result", "ToolResult"),
        further=("toolName", "toolCallId"),
    ),
    _message("reviewComment", "review.comment", "user", "ReviewComment"),
    EventType("llmStarted", "llm.started"),
    EventType("llmCompleted", "llm.completed"),
    EventType("issueFetched", "issue.fetched"),
)

_BY_STORAGE: Final = {each.storage: each for each in EVENT_TYPES}
_BY_APPLICATION: Final = {each.application: each for each in EVENT_TYPES}


def event_type(name: str) -> EventType:
    """Return the type of a name in either naming.

    Raises:
        ValueError: No type has it.

    Example:
        >>> event_type("tool.call").storage
        'toolCall'
    """
    kind = _BY_STORAGE.get(name) or _BY_APPLICATION.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, [*_BY_STORAGE, *_BY_APPLICATION], n=1)
        guess = f"; did you mean `{near[0]}`?" if near else ""
        raise ValueError(f"no type of events; known: {', '.join(sorted(_BY_STORAGE))}{guess}")
    return kind


def stored_type(name: str) -> EventType:
    """Return the type of an event in the graph, where plain Cypher may have written any.

    Example:
        >>> stored_type("toolCall").role, stored_type("lunch").role
        ('tool_call', None)
    """
    return _BY_STORAGE.get(name) or EventType(name, name)


def to_application(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event in the words of applications.

    Example:
        >>> to_application({"type": "error", "content": "no disk"})
        {'type': 'workflow.error', 'message': 'no disk'}
    """
    kind = stored_type(event["type"])
    told = {kind.application_body if name == kind.body else name: event[name] for name in event}
    return told | {"type": kind.application}


State = Literal["pending", "running", "completed", "error", "timedOut"]

# What seed 000 calls it.
SYNONYMS: Final[dict[str, State]] = {"failed": "error"}

STATE_AFTER: Final[dict[str, State]] = {
    "workflowStarted": "running",
    "workflowCompleted": "completed",
    "workflowCancelled": "error",
}
NEXT: Final[dict[State, frozenset[State]]] = {
    "pending": frozenset({"running", "completed", "error", "timedOut"}),
    "running": frozenset({"pending", "completed", "error", "timedOut"}),
    "timedOut": frozenset({"pending", "running", "completed", "error"}),
    # A run that failed may be taken up again. What is completed or cancelled stays so.
    "error": frozenset({"running"}),
    "completed": frozenset(),
}
FINAL: Final[frozenset[State]] = frozenset({"completed", "error"})
CANCELLED: Final = "cancelled"
"""The result of a run that was cancelled."""


def state_of(stored: str | None) -> State:
    """Return the state of a run from what is stored there, which plain Cypher may have written.

    Example:
        >>> state_of("failed")
        'error'
    """
    found = cast("State", stored or "pending")
    return SYNONYMS.get(found, found)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run stands: its state, and `cancelled` as its result, or None."""

    state: State = "pending"
    result: str | None = None

    def after(self, event_type: str, state: State | None) -> "RunStatus":
        """Return how it stands after an event, which may tell a state itself.

        Raises:
            IllegalState: The run cannot go there from here.

        Example:
            >>> RunStatus().after("workflowStarted", None).state
            'running'
        """
        wanted = state or STATE_AFTER.get(event_type)
        if wanted is None:
            return self
        result = CANCELLED if event_type == "workflowCancelled" else None
        if wanted == self.state and result == self.result:
            return self
        if self.result == CANCELLED or wanted not in NEXT[self.state] | {self.state}:
            came = CANCELLED if self.result == CANCELLED else self.state
            raise IllegalState(
                f"A run that is `{came}` cannot become `{result or wanted}`",
                hint=_hint(came, self.state),
            )
        return RunStatus(wanted, result)


def _hint(came: str, state: State) -> str:
    allowed = sorted(NEXT[state]) if came != CANCELLED else []
    if not allowed:
        return "Begin another run by `runs.create`, or a fork of this one by `runs.fork`."
    return f"From there it can become {' or '.join(allowed)}."


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


def canonical(value: Any) -> str:
    """Return JSON in which equal values are equal texts.

    Raises:
        TypeError: It has a value that JSON does not have.
        ValueError: It has a number that JSON does not have.

    Example:
        >>> canonical({"b": 1, "a": [None, "ä"]})
        '{"a":[null,"ä"],"b":1}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chained(content_digest: str, seq: int, parent_digests: Iterable[str]) -> str:
    """Return the digest of an event at its place, by those of its parents in any order."""
    return sha256(canonical([content_digest, seq, sorted(parent_digests)]))
