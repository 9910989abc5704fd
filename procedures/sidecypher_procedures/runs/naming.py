"""The types of events, each with the name it has in the graph and the one applications use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sidecypher_procedures.runs.errors import InvalidEvent

Naming = Literal["storage", "application"]


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event.

    Attributes:
        storage: Its name in the graph.
        application: Its name in applications.
        body: What its text is called in the graph, None if it has none.
        application_body: What applications call its text.
        further: What else it carries, beside what every event may.
        labels: Those it has in the graph beside `Event`.
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
        InvalidEvent: There is none.

    Example:
        >>> event_type("tool.call").storage
        'toolCall'
    """
    kind = _BY_STORAGE.get(name) or _BY_APPLICATION.get(name)
    if kind is None:
        raise InvalidEvent(
            "The event has an unknown `type`", hint=f"Known: {', '.join(sorted(_BY_STORAGE))}."
        )
    return kind


def to_application(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event in the words of applications.

    Example:
        >>> to_application({"type": "error", "content": "no disk"})
        {'type': 'workflow.error', 'message': 'no disk'}
    """
    kind = _BY_STORAGE[event["type"]]
    told = {kind.application_body if name == kind.body else name: event[name] for name in event}
    return told | {"type": kind.application}
