"""The shape of a run: which event follows which, and the lanes of its branches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.runs.reading import NO_LIMIT, found_in
from sidecypher_procedures.runs.views.lanes import children_of, lanes_of

_SHAPE: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    WITH e ORDER BY e.runId, e.seq
    RETURN e {.id, .seq, .type, .toolName, .state, .isError, .createdAt, .deletedAt} AS event,
        [(p)-[:NEXT]->(e) | p.id] AS parentIds
"""


@dataclass(frozen=True, slots=True)
class Node:
    """An event among those it follows and those that follow it, all in the order of the run.

    Attributes:
        event: What the graph says of it, without its content.
        parent_ids: The events it follows.
        child_ids: The events that follow it.
        lane: Its lane, from 0.
        parent_lanes: The lane that leads here from each of its parents.
    """

    event: Mapping[str, Any]
    parent_ids: list[str]
    child_ids: list[str]
    lane: int
    parent_lanes: list[int]


def shape_of(ctx: Context, run_id: str) -> list[Node]:
    """Give all events of a run, those that were deleted included, in their order.

    Raises:
        UnknownRun: No run has this id.
    """
    found = list(found_in(ctx, run_id, _SHAPE, after=0, limit=NO_LIMIT))
    seqs = {record["event"]["id"]: record["event"]["seq"] for record in found}
    parents = {
        record["event"]["id"]: _before(record["event"]["seq"], record["parentIds"], seqs)
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


def _before(seq: int, parent_ids: list[str], seqs: Mapping[str, int]) -> list[str]:
    """Return the parents that are before a place of this run; plain Cypher may write others."""
    known = {name for name in parent_ids if seqs.get(name, seq) < seq}
    return sorted(known, key=seqs.__getitem__)
