"""Statements that read runs and their events."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.runs.event import decoded, instant, links_as_given
from sidecypher_procedures.runs.lock import Part, parts_of
from sidecypher_procedures.runs.model import (
    FINAL,
    USAGE,
    Naming,
    event_type,
    state_of,
    stored_type,
    to_application,
)
from sidecypher_procedures.runs.options import EventsOptions, FollowOptions, UsageOptions
from sidecypher_procedures.runs.rows import EventRow, StateRow, UsageRow

# Only the latest version of a plan awaits a review.
AWAITED: Final = """EXISTS {
        MATCH (p:Plan)
        WHERE p.runId = r.id AND p.status = 'pending_review' AND p.deletedAt IS NULL
        AND NOT EXISTS { (:Plan)-[:PREVIOUS_VERSION]->(p) }
    }"""
"""Whether a plan of the run `r` awaits its review."""

# A run without recent writes has timed out, unless it waits for a user. Runs written by plain
# Cypher may lack properties of this namespace, and have the state `failed`.
WITH_STATE: Final = f"""
    WITH r, coalesce(r.state, r.status, 'pending') AS state
    WITH r,
        CASE
            WHEN state = 'failed' THEN 'error'
            WHEN NOT state IN ['pending', 'running'] THEN state
            WHEN {AWAITED} THEN 'waiting'
            WHEN r.touchedAt < datetime() - duration({{seconds: $timeout}}) THEN 'timedOut'
            ELSE state
        END AS state
"""
"""Clause that adds the column `state` with the state of a run `r`."""

_STATE: Final = f"""
    MATCH (r:WorkflowRun) WHERE r.id IN $ids
    {WITH_STATE}
    RETURN r.id AS id, coalesce(r.lastSeq, 0) AS lastSeq, state
"""
_RUN: Final = (
    _STATE + ", properties(r) AS run, [(r)-[:CHILD_OF]->(p:WorkflowRun) | p.id][0] AS parent"
)
_LINEAGE: Final = """
    MATCH (r:WorkflowRun {id: $id})
    RETURN r.lineage AS lineage, r.lineageSeqs AS seqs, coalesce(r.lastSeq, 0) AS lastSeq
"""
RETURN_EVENT: Final = """
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | [p.seq, p.id]] AS parents,
        [
            (e)-[l:EXECUTED_BY|RESPONDS_TO|REFERENCES|SUGGESTS_EDIT_TO]->(t) | [type(l), t.id]
        ] AS links,
        CASE WHEN e.payloadSha256 IS NOT NULL
            THEN [(e)-[:HAS_PAYLOAD]->(p) | p.content][0]
        END AS payload
"""
"""Clause that returns the columns that `event_row` reads of an event `e`."""

_EVENTS: Final = f"""
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    AND ($types IS NULL OR e.type IN $types) AND e.deletedAt IS NULL
    WITH e ORDER BY e.runId, e.seq LIMIT $limit
    {RETURN_EVENT}
"""
# Plain Cypher may have written another type, which counts as nothing.
_USAGE: Final = """
    MATCH (root:WorkflowRun {id: $runId})
    CALL (root) {
        RETURN root AS r
        UNION
        MATCH (root)<-[:CHILD_OF*1..]-(r:WorkflowRun) WHERE $children RETURN r
    }
    WITH collect(r) AS runs
    CALL (runs) {
        UNWIND runs AS r
        MATCH (e:Event)
        WHERE e.runId = r.id AND e.seq > 0
        AND (e.inputTokens IS NOT NULL OR e.outputTokens IS NOT NULL OR e.cost IS NOT NULL)
        WITH e, CASE $by WHEN 'model' THEN e.model END AS model,
            CASE $by WHEN 'agent' THEN [(e)-[:EXECUTED_BY]->(a) | a.id][0] END AS agentId
        RETURN model, agentId, sum(toIntegerOrNull(e.inputTokens)) AS inputTokens,
            sum(toIntegerOrNull(e.outputTokens)) AS outputTokens,
            sum(toFloatOrNull(e.cost)) AS cost, count(e) AS events
    }
    RETURN model, agentId, inputTokens, outputTokens, cost, events ORDER BY model, agentId
"""
_INTERNAL: Final = frozenset({"lock", "lastEventId", "lineage", "lineageSeqs"})


def states_of(ctx: Context, ids: list[str], timeout: int) -> dict[str, StateRow]:
    """Return the states of the runs that exist, by id."""
    return {
        record["id"]: StateRow(id=record["id"], state=record["state"], last_seq=record["lastSeq"])
        for record in ctx.run(_STATE, ids=ids, timeout=timeout)
    }


def read_run(ctx: Context, run_id: str, timeout: int) -> dict[str, Any] | None:
    """Return the properties of a run, its metadata as a MAP; None if it does not exist."""
    record = next(iter(ctx.run(_RUN, ids=[run_id], timeout=timeout)), None)
    if record is None:
        return None
    run: dict[str, Any] = {
        name: value for name, value in record["run"].items() if name not in _INTERNAL
    }
    if record["parent"] is not None:
        run["parentRunId"] = record["parent"]
    state = record["state"]
    return run | {"state": state, "status": state, "metadata": decoded(run.get("metadata"))}


def usage_of(ctx: Context, run_id: str, options: UsageOptions) -> Iterator[UsageRow]:
    """Yield the sums of the token counts and costs of a run's own events.

    Events that a fork shares belong to the run that they were appended to.
    """
    found = list(ctx.run(_USAGE, runId=run_id, by=options.by, children=options.children))
    if not found and options.by == "run" and len(ctx.run(_LINEAGE, id=run_id)):
        yield UsageRow(id=run_id, input_tokens=0, output_tokens=0, cost=0.0, events=0)
    for record in found:
        yield UsageRow(
            id=run_id,
            input_tokens=record["inputTokens"],
            output_tokens=record["outputTokens"],
            cost=float(record["cost"]),
            events=record["events"],
            model=record["model"],
            agent_id=record["agentId"],
        )


@dataclass(frozen=True, slots=True)
class Extent:
    """The ranges of a run's events: those shared with other runs, then its own.

    Attributes:
        last_seq: The place of its latest event, 0 without events.
    """

    parts: list[Part]
    last_seq: int


def extent_of(ctx: Context, run_id: str) -> Extent:
    """Return the extent of a run; it has no parts if the run does not exist."""
    record = next(iter(ctx.run(_LINEAGE, id=run_id)), None)
    if record is None:
        return Extent([], 0)
    return Extent(parts_of(run_id, record["lineage"], record["seqs"]), record["lastSeq"])


def events_of(ctx: Context, run_id: str, options: EventsOptions) -> Iterator[EventRow]:
    """Yield the events of a run in order, without deleted ones."""
    types = _stored_types(options)
    for record in records_in_run(ctx, run_id, _EVENTS, options.cursor, options.most, types=types):
        yield event_row(record, options.naming)


POLL_SECONDS: Final = 0.1
"""How often `runs.follow` looks for new events."""

_RETURN_SECONDS: Final = 0.5
"""How long before its deadline a call stops waiting, so that the caller gets no error."""

_PROGRESS: Final = """
    MATCH (r:WorkflowRun {id: $id})
    RETURN coalesce(r.lastSeq, 0) AS lastSeq, coalesce(r.state, r.status) AS state,
        r.lineage AS lineage, r.lineageSeqs AS seqs
"""


async def follow(ctx: Context, run_id: str, options: FollowOptions) -> AsyncIterator[EventRow]:
    """Yield the events of a run behind a place as soon as there are any, or none in time.

    Neo4j reads committed data, so a repeated statement sees what others have committed meanwhile.
    """
    patience = min(options.wait_ms / 1000, ctx.deadline.remaining() - _RETURN_SECONDS)
    until, seen = ctx.deadline.at_most(patience), options.cursor
    while True:
        # Read before the events: what was appended before the run ended is then found.
        run = next(iter(await ctx.run(_PROGRESS, id=run_id)), None)
        if run is None:
            return
        is_last = state_of(run["state"]) in FINAL or until.expired()
        if is_last or run["lastSeq"] > seen:
            any_found = False
            async for record in _behind(ctx, run_id, run, seen, options):
                any_found = True
                yield event_row(record, options.naming)
            if any_found or is_last:
                return
            seen = max(seen, run["lastSeq"])
        await asyncio.sleep(min(POLL_SECONDS, until.remaining()))


async def _behind(
    ctx: Context, run_id: str, run: Mapping[str, Any], cursor: int, options: FollowOptions
) -> AsyncIterator[Mapping[str, Any]]:
    left, types = options.most, _stored_types(options)
    for part in parts_of(run_id, run["lineage"], run["seqs"]):
        if part["upTo"] <= cursor or not left:
            continue
        bounds = {**part, "after": max(cursor, part["after"]), "limit": left}
        async for record in ctx.run(_EVENTS, **bounds, types=types):
            left -= 1
            yield record


def _stored_types(options: EventsOptions) -> list[str] | None:
    return options.types and [event_type(name).storage for name in options.types]


def records_in_run(
    ctx: Context, run_id: str, statement: LiteralString, after: int, limit: int, **params: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a statement for all parts of a run, in the order of its events.

    The statement matches events of `$runId` after `$after` and up to `$upTo`, at most `$limit`.
    """
    left = limit
    # One statement for each part: over several parts the index returns no order.
    for part in extent_of(ctx, run_id).parts:
        if part["upTo"] <= after or not left:
            continue
        bounds = {**part, "after": max(after, part["after"]), "limit": left}
        for record in ctx.run(statement, **bounds, **params):
            left -= 1
            yield record


def event_row(record: Mapping[str, Any], naming: Naming) -> EventRow:
    """Return the row of an event, in the caller's naming, from a record of `RETURN_EVENT`."""
    properties = record["event"]
    # The graph has relationships in no order.
    in_order = sorted(record["parents"], key=lambda parent: (parent[0] or 0, str(parent[1])))
    parents = [name for _, name in in_order]
    event = event_of(properties, record["payload"], parents, sorted(record["links"], key=str))
    if naming == "application":
        event = to_application(event)
    return EventRow(
        seq=properties["seq"],
        id=properties["id"],
        type=event["type"],
        event=event,
        parent_ids=parents,
        created_at=event["createdAt"],
    )


def event_of(
    properties: Mapping[str, Any],
    payload: str | None,
    parents: list[str],
    links: list[tuple[str, str]],
) -> dict[str, Any]:
    """Return an event as `runs.append` accepts it, in the naming of the graph."""
    kind = stored_type(properties.get("type"))
    created_at = instant(properties.get("createdAt"))
    event = {"id": properties["id"], "type": kind.storage, "createdAt": created_at}
    if kind.body is not None:
        event[kind.body] = payload if payload is not None else properties.get("content")
    for name in kind.further:
        event[name] = properties.get(name)
    event |= {name: properties[name] for name in USAGE if name in properties}
    if parents:
        event["parentIds"] = parents
    if "metadata" in properties:
        event["metadata"] = decoded(properties["metadata"])
    return event | links_as_given(links)
