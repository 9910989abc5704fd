"""What callers give of plans; checked once, here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidEvent, InvalidOption
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.plans.statuses import Beginning

LONGEST_MESSAGE: Final = 4000
"""Characters of what somebody says about an action."""

MOST_ISSUES: Final = 1000

_EVENT_KEYS: Final = (
    *("content", "id", "createdAt", "parentIds", "join", "metadata"),
    *("executedBy", "respondsTo", "references"),
)
PLAN_KEYS: Final = (*_EVENT_KEYS, "status", "generatedBy", "implements")
REVISION_KEYS: Final = (*_EVENT_KEYS, "message", "generatedBy", "implements")
COMMENT_KEYS: Final = (*_EVENT_KEYS, "suggestsEdit")
DECISION_KEYS: Final = ("message",)
IMPLEMENT_KEYS: Final = ("pullRequest",)


@dataclass(frozen=True, slots=True)
class PlanInput:
    """A plan as a caller gives it.

    Attributes:
        event: It as an event of its run.
        status: How it begins.
        generated_by: The id of the message that it came of; None is the one that it follows.
        implements: Ids of issues.

    Example:
        >>> PlanInput.parse({"content": "Add a cache."}).status
        'draft'
    """

    event: EventInput
    status: Beginning
    generated_by: str | None
    implements: list[str]

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `plan`.

        Raises:
            InvalidEvent: It lacks something, or has a key or value that no plan can have.
        """
        fields = Fields(values, "plan", PLAN_KEYS, InvalidEvent)
        return cls(
            event=_read_event("llmResponse", fields, values),
            status=fields.choice("status", Beginning, "draft"),
            generated_by=fields.identifier("generatedBy"),
            implements=_read_issues(fields),
        )


@dataclass(frozen=True, slots=True)
class RevisionInput:
    """A new version of a plan as a caller gives it.

    Attributes:
        event: It as an event of its run.
        message: What its editor says about it, empty for nothing.
        generated_by: The id of the message that it came of, or None.
        implements: Ids of issues; None is those of the version before.
    """

    event: EventInput
    message: str
    generated_by: str | None
    implements: list[str] | None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `revision`.

        Raises:
            InvalidEvent: It lacks something, or has a key or value that no version can have.
        """
        fields = Fields(values, "revision", REVISION_KEYS, InvalidEvent)
        return cls(
            event=_read_event("llmResponse", fields, values),
            message=fields.text("message", longest=LONGEST_MESSAGE),
            generated_by=fields.identifier("generatedBy"),
            implements=_read_issues(fields) if "implements" in fields else None,
        )


def read_comment(plan_id: str, user: str, values: Mapping[str, Any]) -> EventInput:
    """Check the MAP `comment`, and return the event that it is.

    Args:
        plan_id: The plan that it is about.
        user: The id of who says it.
        values: The MAP.

    Raises:
        InvalidEvent: It lacks something, or has a key or value that no comment can have.
    """
    fields = Fields(values, "comment", COMMENT_KEYS, InvalidEvent)
    metadata = fields.map("metadata")
    if metadata.get("userId", user) != user:
        raise fields.refuse("has another `userId` in its `metadata`", "Leave it out.")
    further: dict[str, Any] = {"metadata": {**metadata, "userId": user}}
    if fields.flag("suggestsEdit"):
        further["suggestsEditTo"] = plan_id
    return _read_event("reviewComment", fields, values, further)


def read_user(user: str) -> str:
    """Check the id of a user.

    Raises:
        InvalidOption: No user can have it.
    """
    Fields({"user": user}, "call", ("user",), InvalidOption).identifier("user")
    return user


def read_message(options: Mapping[str, Any]) -> str:
    """Check the MAP `options` of a decision, and return what its user says, empty for nothing.

    Raises:
        InvalidOption: One is unknown or has an unusable value.
    """
    fields = Fields(options, "list of options", DECISION_KEYS, InvalidOption)
    return fields.text("message", longest=LONGEST_MESSAGE)


def read_pull_request(options: Mapping[str, Any]) -> str | None:
    """Check the MAP `options` of `runs.plan.implement`, and return the id of a pull request.

    Raises:
        InvalidOption: One is unknown or has an unusable value.
    """
    fields = Fields(options, "list of options", IMPLEMENT_KEYS, InvalidOption)
    return fields.identifier("pullRequest")


def _read_event(
    kind: str, fields: Fields, values: Mapping[str, Any], further: Mapping[str, Any] | None = None
) -> EventInput:
    if not (fields.verbatim("content") or "").strip():
        raise fields.refuse("lacks `content`", "Give `content`, a STRING.")
    shared = {name: values[name] for name in _EVENT_KEYS if name in values}
    return EventInput.parse({**shared, **(further or {}), "type": kind})


def _read_issues(fields: Fields) -> list[str]:
    return sorted(set(fields.identifiers("implements", most=MOST_ISSUES)))
