"""What a picture of a run needs: events with label, lane and time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from sidecypher import Context
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.naming import Naming, event_type
from sidecypher_procedures.runs.reading import NO_LIMIT
from sidecypher_procedures.runs.views.rows import TimelineRow
from sidecypher_procedures.runs.views.shape import shape_of

TIMELINE_KEYS: Final = ("after", "limit", "naming")
LONGEST_TOOL: Final = 40
"""Characters of a tool's name in a label."""


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """Which events of a run are shown, and in whose words.

    Attributes:
        after: Only those behind this place.
        limit: So many at most.
        naming: In whose words.
    """

    after: int
    limit: int
    naming: Naming

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", TIMELINE_KEYS, InvalidOption)
        return cls(
            after=fields.count("after", 0, largest=NO_LIMIT, smallest=0),
            limit=fields.count("limit", NO_LIMIT, largest=NO_LIMIT, smallest=0),
            naming=fields.choice("naming", Naming, "storage"),
        )


def timeline_of(ctx: Context, run_id: str, options: TimelineOptions) -> Iterator[TimelineRow]:
    """Give the events of a run as a picture shows them.

    Lanes are those of the whole run, whatever part of it is wanted.

    Raises:
        UnknownRun: No run has this id.
    """
    nodes = shape_of(ctx, run_id)
    times = {node.event["id"]: _instant(node.event["createdAt"]) for node in nodes}
    shown = [node for node in nodes if node.event["seq"] > options.after]
    for node in shown[: options.limit]:
        event = node.event
        kind = _type_name(event["type"], options.naming)
        at = times[event["id"]]
        yield TimelineRow(
            seq=event["seq"],
            id=event["id"],
            type=kind,
            label=label_of(kind, event),
            lane=node.lane,
            parent_ids=node.parent_ids,
            parent_lanes=node.parent_lanes,
            at=at,
            duration_ms=_milliseconds(at, [times[name] for name in node.parent_ids]),
        )


def label_of(type_name: str, event: Mapping[str, Any]) -> str:
    """Return what a picture says of an event: nothing of its content.

    Example:
        >>> label_of("toolCallResult", {"toolName": "search", "isError": True})
        'toolCallResult search failed'
    """
    if event.get("deletedAt") is not None:
        return f"{type_name} deleted"
    words = [type_name, _shown(event.get("toolName")), event.get("state")]
    if event.get("isError") is True:
        words.append("failed")
    return " ".join(word for word in words if word)


def _shown(name: str | None) -> str:
    """Return the name of a tool on one line, and not too long: it is the caller's own."""
    text = "".join(each if each.isprintable() else "?" for each in name or "")
    return text if len(text) <= LONGEST_TOOL else f"{text[: LONGEST_TOOL - 3]}..."


def _type_name(storage: str, naming: Naming) -> str:
    return event_type(storage).application if naming == "application" else storage


def _instant(value: object) -> datetime | None:
    """Return when an event was, None where plain Cypher has written something else."""
    return value if isinstance(value, datetime) and value.tzinfo is not None else None


def _milliseconds(at: datetime | None, before: list[datetime | None]) -> int | None:
    """Return how long after the latest of its parents an event was; never less than nothing."""
    known = [each for each in before if each is not None]
    if at is None or not known:
        return None
    return max(0, (at - max(known)) // timedelta(milliseconds=1))
