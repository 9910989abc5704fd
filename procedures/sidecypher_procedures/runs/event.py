"""An event as its caller gave it, and its digests."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sidecypher import EncodedRow
from sidecypher_procedures.names import LONGEST_NAME
from sidecypher_procedures.runs.model import EventType, State, canonical, sha256

METADATA_LEVELS: Final = EncodedRow.MOST_LEVELS - 1
"""How deep metadata may nest: rows hold it within the MAP of its event or run."""

_LINK_KEYS: Final = {
    "EXECUTED_BY": "executedBy",
    "RESPONDS_TO": "respondsTo",
    "SUGGESTS_EDIT_TO": "suggestsEditTo",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Keys of metadata that become properties, since the graph cannot look into a text. Those that are
# indexed must not be longer than an index can take.
_PROMOTED: Final = {
    "toolName": LONGEST_NAME,
    "toolCallId": LONGEST_NAME,
    "status": LONGEST_NAME,
    "model": LONGEST_NAME,
    "errorMessage": sys.maxsize,
}


@dataclass(frozen=True, slots=True)
class Event:
    """An event as its caller gave it.

    Attributes:
        created_at: When it happened; None is when it is written.
        parent_ids: The events it follows; None is the latest one.
        join: Whether it follows all events that nothing follows yet.
        links: Ids by kind of relationship: what it refers to.
        state: The new state of its run, or None.
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

    @property
    def given(self) -> list[str]:
        """What the caller gave of what is otherwise filled in: a retry gives the same."""
        given = {"createdAt": self.created_at, "parentIds": self.parent_ids}
        return [name for name, value in given.items() if value is not None]

    @property
    def content_digest(self) -> str:
        """The digest of what the caller gave; the same when it is given again."""
        return content_digest(self.stored, self.content, self.created_at, self.parent_ids)

    @property
    def stored(self) -> dict[str, Any]:
        """Its properties in the graph, without its text and its place."""
        named = {"toolName": self.tool_name, "toolCallId": self.tool_call_id}
        return {
            "type": self.type.storage,
            **_promoted(self.metadata or {}),
            **{name: value for name, value in named.items() if value is not None},
            "state": self.state,
            "metadata": None if self.metadata is None else canonical(self.metadata),
        }


def content_digest(
    stored: Mapping[str, Any],
    content: str | None,
    created_at: datetime | None,
    parent_ids: tuple[str, ...] | None,
) -> str:
    """Return the digest of an event's properties and text, and of what its caller gave if any."""
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
    """Return what an event refers to, by type of relationship and id, as `runs.append` takes it.

    Example:
        >>> links_as_given([("RESPONDS_TO", "m1"), ("REFERENCES", "7")])
        {'respondsTo': 'm1', 'references': ['7']}
    """
    told: dict[str, Any] = {}
    for kind, target in links:
        if kind == "REFERENCES":
            told.setdefault("references", []).append(target)
        else:
            told[_LINK_KEYS[kind]] = target
    return told


def decoded(text: str | None) -> dict[str, Any] | None:
    """Return the MAP that a text of JSON is, None if it is not one or nests too deep for rows."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and levels(found) <= METADATA_LEVELS else None


def levels(value: object) -> int:
    """Return how deep a value nests: 1 for a list or map of scalars."""
    layer, levels = [value], 0
    while layer := [each for each in layer if isinstance(each, dict | list)]:
        levels += 1
        layer = [
            item for each in layer for item in (each.values() if isinstance(each, dict) else each)
        ]
    return levels
