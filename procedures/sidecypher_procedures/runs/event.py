"""Events before they are stored, and their content digests."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sidecypher import EncodedRow
from sidecypher_procedures.names import LONGEST_NAME
from sidecypher_procedures.runs.model import USAGE, EventType, State, canonical, sha256

METADATA_LEVELS: Final = EncodedRow.MOST_LEVELS - 1
"""The most nesting levels of metadata. Rows hold it in the MAP of its event or run."""

_LINK_KEYS: Final = {
    "EXECUTED_BY": "executedBy",
    "RESPONDS_TO": "respondsTo",
    "SUGGESTS_EDIT_TO": "suggestsEditTo",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Keys of metadata that become properties, since Cypher cannot query JSON text, and their longest
# values. An index limits the length of its entries.
_PROMOTED: Final = {
    "toolName": LONGEST_NAME,
    "toolCallId": LONGEST_NAME,
    "status": LONGEST_NAME,
    "model": LONGEST_NAME,
    "errorMessage": sys.maxsize,
}


@dataclass(frozen=True, slots=True)
class Event:
    """An event as the caller passed it.

    Attributes:
        created_at: When it happened; None for the time of the write.
        parent_ids: Ids of its parents; None for the latest event.
        join: Whether all events without a successor are its parents.
        links: Ids of the nodes it refers to, by type of relationship.
        state: The new state of its run, or None.
        usage: Token counts and cost, by the names in `USAGE`.
    """

    id: str
    type: EventType
    content: str | None
    metadata: Mapping[str, Any] | None
    created_at: datetime | None
    parent_ids: tuple[str, ...] | None
    join: bool
    links: dict[str, list[str]]
    state: State | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def given(self) -> list[str]:
        """Names of the optional fields that the caller passed. A retry passes the same ones."""
        given = {"createdAt": self.created_at, "parentIds": self.parent_ids}
        return [name for name, value in given.items() if value is not None]

    @property
    def agent(self) -> str | None:
        """Id of the agent that executed it."""
        return next(iter(self.links.get("EXECUTED_BY", ())), None)

    @property
    def content_digest(self) -> str:
        """Digest of the caller's input; a retry with the same input has the same digest."""
        return content_digest(self.stored, self.content, self.created_at, self.parent_ids)

    @property
    def stored(self) -> dict[str, Any]:
        """Properties in the graph, without its text and its place."""
        named = {"toolName": self.tool_name, "toolCallId": self.tool_call_id}
        return {
            "type": self.type.storage,
            **_promoted(self.metadata or {}),
            **{name: value for name, value in named.items() if value is not None},
            "state": self.state,
            **self.usage,
            "metadata": None if self.metadata is None else canonical(self.metadata),
        }


def content_digest(
    stored: Mapping[str, Any],
    content: str | None,
    created_at: datetime | None,
    parent_ids: tuple[str, ...] | None,
) -> str:
    """Return the digest of an event's properties, text, and explicit time and parents."""
    payload = [stored.get(name) for name in ("type", "state", "toolName", "toolCallId", "metadata")]
    given = [nanoseconds(created_at), parent_ids and sorted(parent_ids)]
    usage = [stored.get(name) for name in USAGE]
    # Events without token counts and cost keep the digest that earlier versions computed.
    counted = [] if usage == [None, None, None] else [usage]
    return sha256(canonical([*payload, content, *given, *counted]))


def nanoseconds(moment: datetime | None) -> int | None:
    """Return an instant as nanoseconds since 1970; `isoformat` ends at microseconds."""
    if moment is None:
        return None
    since = moment - _EPOCH
    whole = (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    return whole + getattr(moment, "nanosecond", 0) % 1_000


def _promoted(metadata: Mapping[str, Any]) -> dict[str, Any]:
    promoted: dict[str, Any] = {
        name: value
        for name, longest in _PROMOTED.items()
        if isinstance(value := metadata.get(name), str) and len(value) <= longest
    }
    if isinstance(metadata.get("isError"), bool):
        promoted["isError"] = metadata["isError"]
    return promoted


def links_as_given(links: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Return the references of an event, from pairs of type and id, as `runs.append` accepts them.

    Example:
        >>> links_as_given([("RESPONDS_TO", "m1"), ("REFERENCES", "7")])
        {'respondsTo': 'm1', 'references': ['7']}
    """
    fields: dict[str, Any] = {}
    for kind, target in links:
        if kind == "REFERENCES":
            fields.setdefault("references", []).append(target)
        else:
            fields[_LINK_KEYS[kind]] = target
    return fields


def decoded(text: str | None) -> dict[str, Any] | None:
    """Return the MAP in a JSON text; None if it is not a MAP or nests too deep for rows."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and levels(found) <= METADATA_LEVELS else None


def instant(value: object) -> datetime | None:
    """Return the time of an event, None if plain Cypher has written another type."""
    return value if isinstance(value, datetime) and value.tzinfo is not None else None


def levels(value: object) -> int:
    """Return the number of nesting levels of a value: 1 for a list or map of scalars."""
    layer, levels = [value], 0
    while layer := [each for each in layer if isinstance(each, dict | list)]:
        levels += 1
        layer = [
            item for each in layer for item in (each.values() if isinstance(each, dict) else each)
        ]
    return levels
