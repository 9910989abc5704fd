"""Types of events, states of runs, statuses of plans and digests of events."""

import difflib
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from sidecypher_procedures.names import LONGEST_NAME
from sidecypher_procedures.runs.errors import IllegalState, IllegalStatus

Naming = Literal["storage", "application"]


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event.

    Attributes:
        body: Name of its text in the graph, None if it has no text.
        application_body: Name of its text in applications.
        further: Fields of this type in addition to those of every event.
        labels: Labels in the graph in addition to `Event`.
        role: Role of the author, for a message.
        usage: Whether a model writes it, so that it may have token counts and a cost.
    """

    storage: str
    application: str
    body: str | None = "content"
    application_body: str = "content"
    further: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    role: str | None = None
    usage: bool = False

    def bodies(self, name: str) -> tuple[str, ...]:
        """Return the allowed names of the text if the type is given as `name`.

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
    _message("llmResponse", "assistant_message", "assistant", usage=True),
    _message("reasoning", "reasoning", "assistant", body="summary", usage=True),
    _message(
        *("toolCall", "tool.call", "tool_call", "ToolCall"),
        body="args",
        application_body="args",
        further=("toolName", "toolCallId"),
        usage=True,
    ),
    _message(
        *("toolCallResult", "tool.result", "tool_result", "ToolResult"),
        further=("toolName", "toolCallId"),
    ),
    _message("reviewComment", "review.comment", "user", "ReviewComment"),
    EventType("llmStarted", "llm.started"),
    EventType("llmCompleted", "llm.completed", usage=True),
    EventType("issueFetched", "issue.fetched"),
)

USAGE: Final = ("inputTokens", "outputTokens", "cost")
"""Fields of events that a model writes: what it read, what it wrote, and what that cost."""

# Types of callers are not in the table. They have a text, and are the same in both namings.
_OWN: Final = re.compile(r"x\.[A-Za-z0-9._-]+")
_BY_STORAGE: Final = {each.storage: each for each in EVENT_TYPES}
_BY_APPLICATION: Final = {each.application: each for each in EVENT_TYPES}


def event_type(name: str) -> EventType:
    """Return the event type with a name from either naming, or a caller's own one.

    Raises:
        ValueError: No type has this name.

    Example:
        >>> event_type("tool.call").storage
        'toolCall'
    """
    kind = _BY_STORAGE.get(name) or _BY_APPLICATION.get(name)
    if kind is None and _OWN.fullmatch(name) and len(name) <= LONGEST_NAME:
        return EventType(name, name)
    if kind is None:
        near = difflib.get_close_matches(name, [*_BY_STORAGE, *_BY_APPLICATION], n=1)
        guess = f"; did you mean `{near[0]}`?" if near else ""
        raise ValueError(
            f"no type of events; known: {', '.join(sorted(_BY_STORAGE))}, "
            f"and your own, such as `x.deployed`{guess}"
        )
    return kind


def stored_type(name: str | None) -> EventType:
    """Return the type of an event in the graph.

    Plain Cypher may have written a type that is not in the table, or none, which is `unknown`.

    Example:
        >>> stored_type("toolCall").role, stored_type("lunch").role, stored_type(None).storage
        ('tool_call', None, 'unknown')
    """
    name = name or "unknown"
    return _BY_STORAGE.get(name) or EventType(name, name)


def to_application(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with the names that applications use.

    Example:
        >>> to_application({"type": "error", "content": "no disk"})
        {'type': 'workflow.error', 'message': 'no disk'}
    """
    kind = stored_type(event["type"])
    renamed = {kind.application_body if name == kind.body else name: event[name] for name in event}
    return renamed | {"type": kind.application}


State = Literal["pending", "running", "completed", "error", "timedOut"]

ReportedState = Literal[State, "waiting"]
"""What a run reads as: `waiting` is never stored, but follows from a plan that awaits a review."""

# The name in seed 000.
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
    # A failed run may be resumed. Completed and cancelled runs stay as they are.
    "error": frozenset({"running"}),
    "completed": frozenset(),
}
FINAL: Final[frozenset[State]] = frozenset({"completed", "error"})
CANCELLED: Final = "cancelled"
"""The result of a cancelled run."""


def state_of(stored: str | None) -> State:
    """Return the state of a run from its stored text, which plain Cypher may have written.

    Example:
        >>> state_of("failed")
        'error'
    """
    found = cast("State", stored or "pending")
    return SYNONYMS.get(found, found)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Status of a run: its state, and its result if that is `cancelled`, else None."""

    state: State = "pending"
    result: str | None = None

    @classmethod
    def read(cls, stored: str | None, result: str | None) -> "RunStatus":
        """Return the status of a run from its stored texts.

        Example:
            >>> RunStatus.read("completed", "all is well").result is None
            True
        """
        state = state_of(stored)
        return cls(state, CANCELLED if (state, result) == ("error", CANCELLED) else None)

    def after(self, event_type: str, state: State | None) -> "RunStatus":
        """Return the status after an event, which may set a state explicitly.

        Raises:
            IllegalState: The transition is not allowed.

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
            current = CANCELLED if self.result == CANCELLED else self.state
            raise IllegalState(
                f"A run that is `{current}` cannot become `{result or wanted}`",
                hint=_hint(current, self.state),
            )
        return RunStatus(wanted, result)


def _hint(current: str, state: State) -> str:
    allowed = sorted(NEXT[state]) if current != CANCELLED else []
    if not allowed:
        return "Begin another run by `runs.create`, or a fork of this one by `runs.fork`."
    return f"From there it can become {' or '.join(allowed)}."


Status = Literal["draft", "pending_review", "approved", "rejected", "implemented"]
InitialStatus = Literal["draft", "pending_review"]
Action = Literal["review", "approve", "reject", "revise", "implement"]

STEPS: Final[dict[Action, dict[Status, Status]]] = {
    "review": {"draft": "pending_review", "pending_review": "pending_review"},
    "approve": {"pending_review": "approved"},
    "reject": {"pending_review": "rejected"},
    # A new version of a decided plan needs another review.
    "revise": {
        "draft": "draft",
        "pending_review": "pending_review",
        "approved": "pending_review",
        "rejected": "pending_review",
    },
    # A plan may result in several pull requests.
    "implement": {"approved": "implemented", "implemented": "implemented"},
}


def next_status(action: Action, status: Status) -> Status:
    """Return the status of a plan, or of its new version, after an action.

    Raises:
        IllegalStatus: The action is not allowed for a plan with this status.

    Example:
        >>> next_status("approve", "pending_review")
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
    """Return canonical JSON: equal values have equal texts.

    Raises:
        TypeError: JSON has no such type.
        ValueError: JSON has no such number.

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
    """Return the chained digest of an event, as the first version of digests has it.

    The order of its parents' digests is irrelevant.
    """
    return sha256(canonical([content_digest, seq, sorted(parent_digests)]))


DIGEST_VERSION: Final = 2
"""The version of new digests: they cover the time and the agent of an event as well."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Computes digests: SHA-256 without a secret, HMAC-SHA256 with one.

    Example:
        >>> Signer().key_name is None, len(Signer(b"secret").key_name)
        (True, 16)
    """

    secret: bytes | None = field(default=None, repr=False)

    @property
    def key_name(self) -> str | None:
        """Name of the key, from which the key cannot be found; None without a secret."""
        return None if self.secret is None else self.digest("sidecypher signing key")[:16]

    def digest(self, text: str) -> str:
        """Return the digest of a text, in hexadecimal."""
        if self.secret is None:
            return sha256(text)
        data = text.encode("utf-8", "surrogatepass")
        return hmac.new(self.secret, data, hashlib.sha256).hexdigest()

    def chained(
        self,
        content_digest: str,
        seq: int,
        parent_digests: Iterable[str],
        nanoseconds: int | None,
        agent_digest: str | None,
    ) -> str:
        """Return the chained digest of an event, with its time and the digest of its agent."""
        parts = [content_digest, seq, sorted(parent_digests), nanoseconds, agent_digest]
        return self.digest(canonical([DIGEST_VERSION, *parts]))
