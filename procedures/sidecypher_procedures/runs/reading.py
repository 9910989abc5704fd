"""Reading runs and their events; nothing is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from sidecypher import Context
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.inputs import decoded
from sidecypher_procedures.runs.locking import Part, parts_of, unknown_run
from sidecypher_procedures.runs.naming import Naming, event_type, to_application
from sidecypher_procedures.runs.rows import EventRow, StateRow

_STATE: Final = """
    MATCH (r:WorkflowRun) WHERE r.id IN $ids
    RETURN r.id AS id, r.lastSeq AS lastSeq,
        CASE
            WHEN r.state IN ['pending', 'running']
            AND r.touchedAt < datetime() - duration({seconds: $timeout}) THEN 'timedOut'
            ELSE r.state
        END AS state
"""
_RUN: Final = "MATCH (r:WorkflowRun {id: $id}) RETURN properties(r) AS run"
_LINEAGE: Final = """
    MATCH (r:WorkflowRun {id: $id}) RETURN r.lineage AS lineage, r.lineageSeqs AS seqs
"""
_EVENTS: Final = """
    UNWIND $parts AS part
    MATCH (e:Event)
    WHERE e.runId = part.runId AND e.seq > part.after AND e.seq <= part.upTo
    AND ($types IS NULL OR e.type IN $types) AND e.deletedAt IS NULL
    WITH e ORDER BY e.seq LIMIT $limit
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | p.id] AS parentIds,
        CASE WHEN e.payloadSha256 IS NOT NULL
            THEN [(e)-[:HAS_PAYLOAD]->(p) | p.content][0]
        END AS payload
"""
_NO_LIMIT: Final = 2**62
EVENTS_KEYS: Final = ("after", "limit", "types", "naming")


@dataclass(frozen=True, slots=True)
class EventsOptions:
    """Which events of a run, and how they are told.

    Attributes:
        after: Only those behind this place.
        limit: So many at most.
        types: Only those of these types, as the graph names them; None is all.
        naming: In whose words.
    """

    after: int
    limit: int
    types: tuple[str, ...] | None
    naming: Naming

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", EVENTS_KEYS, InvalidOption)
        types = fields.texts("types", most=100) if "types" in fields else None
        return cls(
            after=fields.count("after", 0, largest=_NO_LIMIT, smallest=0),
            limit=fields.count("limit", _NO_LIMIT, largest=_NO_LIMIT, smallest=0),
            types=None if types is None else tuple(event_type(name).storage for name in types),
            naming=fields.choice("naming", Naming, "storage"),
        )


def states_of(ctx: Context, ids: list[str], timeout: int) -> dict[str, StateRow]:
    """Give the states of those of the runs that exist."""
    return {
        record["id"]: StateRow(id=record["id"], state=record["state"], last_seq=record["lastSeq"])
        for record in ctx.run(_STATE, ids=ids, timeout=timeout)
    }


def run_named(ctx: Context, run_id: str) -> dict[str, Any]:
    """Give all properties of a run.

    Raises:
        UnknownRun: No run has this id.
    """
    found = ctx.run(_RUN, id=run_id)
    if not len(found):
        raise unknown_run(run_id)
    run: dict[str, Any] = found.single()["run"]
    return run | {"metadata": decoded(run.get("metadata"))}


def parts_named(ctx: Context, run_id: str, after: int = 0) -> list[Part]:
    """Give where the events of a run are, those behind a place.

    Raises:
        UnknownRun: No run has this id.
    """
    found = ctx.run(_LINEAGE, id=run_id)
    if not len(found):
        raise unknown_run(run_id)
    record = found.single()
    parts = parts_of(run_id, record["lineage"], record["seqs"])
    return [{**part, "after": max(after, part["after"])} for part in parts if part["upTo"] > after]


def events_of(ctx: Context, run_id: str, options: EventsOptions) -> Iterator[EventRow]:
    """Give the events of a run in their order, without those that were deleted."""
    found = ctx.run(
        _EVENTS,
        parts=parts_named(ctx, run_id, options.after),
        types=options.types and list(options.types),
        limit=options.limit,
    )
    for record in found:
        properties, parents = record["event"], record["parentIds"]
        event = event_of(properties, record["payload"], parents)
        if options.naming == "application":
            event = to_application(event)
        yield EventRow(
            seq=properties["seq"],
            id=properties["id"],
            type=event["type"],
            event=event,
            parent_ids=parents,
            created_at=properties["createdAt"],
        )


def event_of(
    properties: Mapping[str, Any], payload: str | None, parents: list[str]
) -> dict[str, Any]:
    """Give an event as `runs.append` takes it, in the words of the graph."""
    kind = event_type(properties["type"])
    event = {"id": properties["id"], "type": kind.storage}
    if kind.body is not None:
        event[kind.body] = payload if payload is not None else properties.get("content")
    for name in kind.further:
        event[name] = properties.get(name)
    event |= {"createdAt": properties["createdAt"], "parentIds": parents}
    if "metadata" in properties:
        event["metadata"] = decoded(properties["metadata"])
    return event
