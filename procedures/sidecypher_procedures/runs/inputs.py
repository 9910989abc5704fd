"""What callers give: an event, options; checked once, here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import uuid4

from sidecypher import EncodedRow
from sidecypher_procedures.fields import LONGEST_NAME, Fields
from sidecypher_procedures.runs.digests import canonical, sha256
from sidecypher_procedures.runs.errors import InvalidEvent
from sidecypher_procedures.runs.naming import EventType, event_type
from sidecypher_procedures.runs.states import SYNONYMS, State

CONTENT_BYTES: Final = 1024 * 1024
"""The largest text of an event."""

METADATA_BYTES: Final = 64 * 1024
"""The largest metadata of an event or a run, as JSON."""

METADATA_LEVELS: Final = EncodedRow.MOST_LEVELS - 1
"""How deep metadata may nest: they are told within the MAP of their event or run."""

MOST_PARENTS: Final = 1000

_LINK_KEYS: Final = {
    "EXECUTED_BY": "executedBy",
    "RESPONDS_TO": "respondsTo",
    "SUGGESTS_EDIT_TO": "suggestsEditTo",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

EVENT_KEYS: Final = (
    *("id", "type", "createdAt", "parentIds", "join", "metadata"),
    *("executedBy", "respondsTo", "references", "suggestsEditTo"),
)

# Keys of metadata that become properties, since the graph cannot look into a text. Those that are
# indexed must not be longer than an index can take.
_PROMOTED: Final = {
    "toolName": LONGEST_NAME,
    "toolCallId": LONGEST_NAME,
    "status": LONGEST_NAME,
    "model": LONGEST_NAME,
    "errorMessage": METADATA_BYTES,
}


@dataclass(frozen=True, slots=True)
class EventInput:
    """An event as a caller gives it.

    Attributes:
        id: Its id, made here unless given.
        type: Its type.
        content: Its text, or None.
        state: The state it tells, or None.
        tool_name: The tool it calls or answers for, or None.
        tool_call_id: The call it makes or answers, or None.
        metadata: JSON of a MAP, or None.
        promoted: What of the metadata becomes properties.
        created_at: When it happened; None is when it is written.
        parent_ids: The events it follows; None is the latest one.
        join: Whether it follows all events that nothing follows yet.
        links: Ids by kind of relationship: what it refers to.

    Example:
        >>> EventInput.parse({"type": "workflow.error", "message": "no disk"}).content
        'no disk'
    """

    id: str
    type: EventType
    content: str | None
    state: State | None
    tool_name: str | None
    tool_call_id: str | None
    metadata: str | None
    promoted: dict[str, Any]
    created_at: datetime | None
    parent_ids: tuple[str, ...] | None
    join: bool
    links: dict[str, list[str]]

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `event`.

        Raises:
            InvalidEvent: It lacks something, or has a key or value that no event can have.
        """
        name = values.get("type")
        if not isinstance(name, str):
            raise InvalidEvent("The event lacks `type`", hint="Give `type`, a STRING.")
        kind = event_type(name)
        bodies = kind.bodies(name)
        fields = Fields(values, "event", (*EVENT_KEYS, *bodies, *kind.further), InvalidEvent)
        metadata = read_metadata(fields)
        return cls(
            id=fields.identifier("id") or str(uuid4()),
            type=kind,
            content=_read_body(fields, bodies),
            state=_read_state(fields, kind),
            tool_name=fields.text("toolName") or None,
            tool_call_id=fields.text("toolCallId") or None,
            metadata=None if metadata is None else canonical(metadata),
            promoted=_promoted(metadata or {}),
            created_at=fields.instant("createdAt"),
            parent_ids=_read_parents(fields),
            join=fields.flag("join"),
            links=_read_links(fields),
        )

    @property
    def given(self) -> list[str]:
        """What the caller gave of what else is filled in: a retry gives the same."""
        given = {"createdAt": self.created_at, "parentIds": self.parent_ids}
        return [name for name, value in given.items() if value is not None]

    @property
    def content_digest(self) -> str:
        """The digest of what the caller gave; the same when it is given again."""
        return content_digest(self.stored, self.content, self.created_at, self.parent_ids)

    @property
    def stored(self) -> dict[str, Any]:
        """Its properties in the graph, but for its text and its place."""
        named = {"toolName": self.tool_name, "toolCallId": self.tool_call_id}
        return {
            "type": self.type.storage,
            **self.promoted,
            **{name: value for name, value in named.items() if value is not None},
            "state": self.state,
            "metadata": self.metadata,
        }


def content_digest(
    stored: Mapping[str, Any],
    content: str | None,
    created_at: datetime | None,
    parent_ids: tuple[str, ...] | None,
) -> str:
    """Return the digest of an event's type and payload.

    Args:
        stored: Its properties.
        content: Its text.
        created_at: When it happened, if its caller said so.
        parent_ids: Its parents, if its caller gave them.
    """
    payload = [stored.get(name) for name in ("type", "state", "toolName", "toolCallId", "metadata")]
    given = [_nanoseconds(created_at), parent_ids and sorted(parent_ids)]
    return sha256(canonical([*payload, content, *given]))


def _nanoseconds(moment: datetime | None) -> int | None:
    """Return an instant as nanoseconds since 1970: Python's own texts of it end at microseconds."""
    if moment is None:
        return None
    since = moment - _EPOCH
    whole = (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    return whole + getattr(moment, "nanosecond", 0) % 1_000


def read_metadata(fields: Fields) -> dict[str, Any] | None:
    """Return the MAP `metadata`, None when it is not given.

    Raises:
        ProcedureError: It is no MAP, too large, nests too deep, or has what JSON does not have.
    """
    if "metadata" not in fields:
        return None
    metadata = fields.map("metadata")
    try:
        size = len(canonical(metadata).encode())
    except (TypeError, ValueError):
        raise fields.refuse(
            "has `metadata` with a value that JSON does not have",
            "Give STRINGs, numbers, BOOLEANs, LISTs and MAPs; a time as a STRING.",
        ) from None
    if size > METADATA_BYTES:
        raise fields.refuse(f"has `metadata` of {size} bytes", f"Give at most {METADATA_BYTES}.")
    if _levels(metadata) > METADATA_LEVELS:
        raise fields.refuse(
            f"has `metadata` that nests {_levels(metadata)} levels deep",
            f"Give at most {METADATA_LEVELS}.",
        )
    return metadata


def _read_body(fields: Fields, names: tuple[str, ...]) -> str | None:
    given = [name for name in names if name in fields]
    if len(given) > 1:
        raise fields.refuse(f"has both `{given[0]}` and `{given[1]}`", "Give one of them.")
    if not given:
        return None
    [name] = given
    text = json_text(fields, name) if name == "args" else fields.verbatim(name)
    size = len((text or "").encode("utf-8", "surrogatepass"))
    if size > CONTENT_BYTES:
        raise fields.refuse(f"has a `{name}` of {size} bytes", f"Give at most {CONTENT_BYTES}.")
    return text


def json_text(fields: Fields, name: str) -> str | None:
    """Return a text of JSON that is given as such or as a MAP."""
    if not fields.is_map(name):
        return fields.verbatim(name)
    try:
        return canonical(fields.map(name))
    except (TypeError, ValueError):
        raise fields.refuse(
            f"has `{name}` with a value that JSON does not have", "Give it as a text of JSON."
        ) from None


def decoded(text: str | None) -> dict[str, Any] | None:
    """Return the MAP that a text of JSON is, None if it is none or nests too deep to be told."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _levels(found) <= METADATA_LEVELS else None


def _levels(value: object) -> int:
    """Return how deep a value nests: 1 for a list or map of scalars."""
    layer, levels = [value], 0
    while layer := [each for each in layer if isinstance(each, dict | list)]:
        levels += 1
        layer = [
            item for each in layer for item in (each.values() if isinstance(each, dict) else each)
        ]
    return levels


def _read_state(fields: Fields, kind: EventType) -> State | None:
    if "state" not in kind.further:
        return None
    fields.required_text("state")
    state: State | None = fields.choice("state", State, None, SYNONYMS)
    return state


def _read_parents(fields: Fields) -> tuple[str, ...] | None:
    if "parentIds" not in fields:
        return None
    if fields.flag("join"):
        raise fields.refuse("has both `parentIds` and `join`", "Give one of them.")
    parents = fields.identifiers("parentIds", most=MOST_PARENTS)
    if not parents:
        raise fields.refuse("has no ids in `parentIds`", "Leave it out to follow the latest event.")
    return tuple(dict.fromkeys(parents))


def _read_links(fields: Fields) -> dict[str, list[str]]:
    read: dict[str, list[str | None]] = {
        **{kind: [fields.identifier(name)] for kind, name in _LINK_KEYS.items()},
        "REFERENCES": [*fields.identifiers("references", most=MOST_PARENTS)],
    }
    given = {kind: [each for each in ids if each is not None] for kind, ids in read.items()}
    return {kind: sorted(set(ids)) for kind, ids in given.items() if ids}


def told_links(links: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Return what an event refers to as `runs.append` takes it.

    Args:
        links: Pairs of a type of relationship and an id.

    Example:
        >>> told_links([("RESPONDS_TO", "m1"), ("REFERENCES", "7")])
        {'respondsTo': 'm1', 'references': ['7']}
    """
    told: dict[str, Any] = {}
    for kind, target in links:
        if kind == "REFERENCES":
            told.setdefault("references", []).append(target)
        else:
            told[_LINK_KEYS[kind]] = target
    return told


def _promoted(metadata: Mapping[str, Any]) -> dict[str, Any]:
    promoted: dict[str, Any] = {
        name: value
        for name, longest in _PROMOTED.items()
        if isinstance(value := metadata.get(name), str) and len(value) <= longest
    }
    if isinstance(metadata.get("isError"), bool):
        promoted["isError"] = metadata["isError"]
    return promoted
