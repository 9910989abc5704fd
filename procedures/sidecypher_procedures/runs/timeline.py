"""The event graph of a run with labels, lanes and times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.runs.event import instant
from sidecypher_procedures.runs.model import stored_type
from sidecypher_procedures.runs.options import ALL_ROWS, PathOptions, TreeOptions
from sidecypher_procedures.runs.rows import EventRow, TimelineRow
from sidecypher_procedures.runs.store import RETURN_EVENT, event_row, records_in_run
from sidecypher_procedures.terminal import printable


@dataclass(frozen=True, slots=True)
class EventLanes:
    """The lanes of an event.

    Attributes:
        lane: Its lane, from 0 on the left.
        parent_lanes: The lanes of the edges from its parents, in the order of the parents.
    """

    lane: int
    parent_lanes: tuple[int, ...]


def children_of(parents: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the children of each event, in the order of the run; parents come first."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            children[parent].append(name)
    return children


def lanes_of(
    parents: Mapping[str, Sequence[str]], children: Mapping[str, Sequence[str]]
) -> dict[str, EventLanes]:
    """Assign lanes to events, so that no edge passes through an event it does not end at.

    The first child of an event uses the same lane, each other child the leftmost free lane. An
    event with several parents is in the leftmost lane that leads to it.

    Example:
        >>> parents = {"a": "", "b": "a", "c": "a", "d": "bc"}
        >>> [place.lane for place in lanes_of(parents, children_of(parents)).values()]
        [0, 0, 1, 0]
    """
    leading: dict[str, dict[str, int]] = {name: {} for name in parents}
    free = _FreeLanes()
    places = {}
    for name, above in parents.items():
        reached = leading.pop(name)
        lane = min(reached.values()) if reached else free.take()
        free.release(other for other in reached.values() if other != lane)
        places[name] = EventLanes(lane, tuple(reached[parent] for parent in above))
        for index, child in enumerate(children[name]):
            leading[child][name] = free.take() if index else lane
        if not children[name]:
            free.release([lane])
    return places


class _FreeLanes:
    """Pool of unused lanes."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._count = count()

    def take(self) -> int:
        """Return the leftmost free lane."""
        return heappop(self._free) if self._free else next(self._count)

    def release(self, lanes: Iterable[int]) -> None:
        """Return lanes to the pool."""
        for lane in lanes:
            heappush(self._free, lane)


_SHAPE: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    WITH e ORDER BY e.runId, e.seq
    RETURN e {.id, .seq, .type, .toolName, .state, .isError, .createdAt, .deletedAt} AS event,
        [(p)-[:NEXT]->(e) | p.id] AS parentIds
"""


@dataclass(frozen=True, slots=True)
class Node:
    """An event with its parents and children, all in the order of the run.

    Attributes:
        event: Its properties in the graph, without its content.
        parent_lanes: The lanes of the edges from its parents.
    """

    event: Mapping[str, Any]
    parent_ids: list[str]
    child_ids: list[str]
    lane: int
    parent_lanes: list[int]


def shape_of(ctx: Context, run_id: str) -> list[Node]:
    """Return all events of a run in order, including deleted ones."""
    found = list(records_in_run(ctx, run_id, _SHAPE, after=0, limit=ALL_ROWS))
    seqs = {record["event"]["id"]: record["event"]["seq"] for record in found}
    parents = {
        record["event"]["id"]: _earlier_parents(record["event"]["seq"], record["parentIds"], seqs)
        for record in found
    }
    children = children_of(parents)
    places = lanes_of(parents, children)
    return [
        Node(
            event=record["event"],
            parent_ids=parents[name],
            child_ids=children[name],
            lane=places[name].lane,
            parent_lanes=list(places[name].parent_lanes),
        )
        for record in found
        for name in [record["event"]["id"]]
    ]


def page_of(nodes: Iterable[Node], page: TreeOptions | PathOptions) -> Iterator[Node]:
    """Return the events of a page of a run."""
    return islice((node for node in nodes if node.event["seq"] > page.cursor), page.limit)


def _earlier_parents(seq: int, parent_ids: list[str], seqs: Mapping[str, int]) -> list[str]:
    """Return the parents with a lower place in this run; plain Cypher may write others."""
    known = {name for name in parent_ids if seqs.get(name, seq) < seq}
    return sorted(known, key=seqs.__getitem__)


LONGEST_TOOL: Final = 40
"""The most characters of a tool's name in a label."""


def timeline_of(ctx: Context, run_id: str, options: PathOptions) -> Iterator[TimelineRow]:
    """Yield the rows of `runs.timeline`.

    Lanes are those of the whole run, even if only a page of it is returned.
    """
    nodes = shape_of(ctx, run_id)
    times = {node.event["id"]: instant(node.event["createdAt"]) for node in nodes}
    for node in page_of(nodes, options):
        event = node.event
        kind = stored_type(event["type"])
        name = kind.application if options.naming == "application" else kind.storage
        at = times[event["id"]]
        yield TimelineRow(
            seq=event["seq"],
            id=event["id"],
            type=name,
            label=label_of(name, event),
            lane=node.lane,
            parent_ids=node.parent_ids,
            parent_lanes=node.parent_lanes,
            created_at=at,
            duration_ms=_milliseconds(at, [times[each] for each in node.parent_ids]),
        )


def label_of(type_name: str, event: Mapping[str, Any]) -> str:
    """Return the label of an event, which has nothing of its content.

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
    """Return the name of a tool without control characters and at most `LONGEST_TOOL` long."""
    text = printable(name or "")
    return text if len(text) <= LONGEST_TOOL else f"{text[: LONGEST_TOOL - 3]}..."


def _milliseconds(at: datetime | None, before: list[datetime | None]) -> int | None:
    """Return the time between an event and its latest parent in milliseconds, at least 0."""
    known = [each for each in before if each is not None]
    if at is None or not known:
        return None
    return max(0, (at - max(known)) // timedelta(milliseconds=1))


# DISTINCT lets the search visit each ancestor once, however many ways lead to it. The subquery
# keeps the planner from sorting before DISTINCT: then the search would follow all of 2^n paths.
_ANCESTORS: Final = f"""
    MATCH (last:Event {{id: $id}})
    CALL (last) {{ MATCH (last)<-[:NEXT*0..]-(e:Event) RETURN DISTINCT e }}
    WITH e
    WHERE e.deletedAt IS NULL AND e.seq > $after
    WITH e ORDER BY e.seq LIMIT $limit
    {RETURN_EVENT}
"""


def path_to(ctx: Context, event_id: str, options: PathOptions) -> Iterator[EventRow]:
    """Yield an event and all events before it in order, without deleted ones."""
    for record in ctx.run(_ANCESTORS, id=event_id, after=options.cursor, limit=options.most):
        yield event_row(record, options.naming)
