"""Forks: runs that share the beginning of another one and go on by themselves."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.fields import Fields, shown_id
from sidecypher_procedures.runs.creating import OPTION_KEYS, RunInput, create_run
from sidecypher_procedures.runs.errors import InvalidOption, RunTaken, UnknownEvent
from sidecypher_procedures.runs.locking import Lock, Part, lock, unknown_run
from sidecypher_procedures.runs.rows import Forked

_TYPE: Final = "MATCH (r:WorkflowRun {id: $runId}) RETURN r.type AS type"
# The times of a fork are its own. What it shares is only told, so its length does not matter.
_SHARE: Final = """
    MATCH (fork:WorkflowRun {id: $id}), (origin:WorkflowRun {id: $origin}),
        (first:Event {runId: $lineage[0], seq: 1}), (last:Event {runId: $lineage[-1], seq: $seq})
    SET fork.lineage = $lineage, fork.lineageSeqs = $lineageSeqs,
        fork.lastSeq = $seq, fork.lastEventId = last.id,
        fork.state = last.runState, fork.status = last.runState, fork.result = last.runResult,
        fork.startedAt = CASE WHEN last.runState <> 'pending' THEN fork.createdAt END,
        fork.completedAt = CASE
            WHEN last.runState IN ['completed', 'error'] THEN fork.createdAt
        END,
        fork.touchedAt = CASE
            WHEN origin.touchedAt > fork.touchedAt THEN origin.touchedAt ELSE fork.touchedAt
        END
    CREATE (fork)-[:FORKED_FROM {seq: $seq}]->(origin), (fork)-[:STARTS_WITH]->(first)
    RETURN fork.id AS id
"""
_IS_SHARED: Final = """
    MATCH (:WorkflowRun {id: $id})-[f:FORKED_FROM {seq: $seq}]->(:WorkflowRun {id: $origin})
    RETURN f.seq AS seq
"""


def fork_run(ctx: Context, origin: str, seq: int, options: Mapping[str, Any]) -> Forked:
    """Begin a run that shares the events of another one up to a place, or find it.

    Args:
        ctx: The call.
        origin: The run whose events are shared.
        seq: The place of the last event that is shared.
        options: Those of `runs.create`, and the `type`, by default that of the other run.

    Raises:
        InvalidOption: An option is unknown or has an unusable value.
        UnknownRun: No run has this id.
        UnknownEvent: The run has no event at this place.
        RunTaken: The id belongs to a run that is not this fork.
        UnknownReference: What the options refer to is not there.
    """
    run = _read(ctx, origin, options)
    # First, since GitHub may be asked what it is based on: nobody could append meanwhile.
    is_new = create_run(ctx, run)
    held = lock(ctx, origin)
    shared = {"id": run.id, "origin": origin, "seq": seq}
    if not 1 <= seq <= held.last_seq:
        raise UnknownEvent(
            f"The run `{shown_id(origin)}` has no event at {seq}",
            hint=f"Its latest event is at {held.last_seq}.",
        )
    if is_new:
        _share(ctx, held, shared)
    elif not len(ctx.run(_IS_SHARED, **shared)):
        raise RunTaken(f"The id `{shown_id(run.id)}` belongs to a run that is not this fork")
    return Forked(id=run.id, forked_from=origin, seq=seq)


def _read(ctx: Context, origin: str, options: Mapping[str, Any]) -> RunInput:
    given = Fields(options, "list of options", ("type", *OPTION_KEYS), InvalidOption).text("type")
    found = ctx.run(_TYPE, runId=origin)
    if not len(found):
        raise unknown_run(origin)
    own = {name: value for name, value in options.items() if name != "type"}
    return RunInput.parse(given or found.single()["type"], own)


def _share(ctx: Context, held: Lock, shared: Mapping[str, Any]) -> None:
    parts = list(_shared(held, shared["seq"]))
    done = ctx.run(
        _SHARE,
        **shared,
        lineage=[part["runId"] for part in parts],
        lineageSeqs=[part["upTo"] for part in parts],
    )
    if not len(done):
        raise UnknownEvent(
            f"The run `{shown_id(held.run_id)}` lacks its first event, or that at {shared['seq']}",
            hint="`runs.verify` tells what is wrong with it.",
        )


def _shared(held: Lock, seq: int) -> Iterator[Part]:
    for part in held.parts:
        if part["after"] < seq:
            yield {**part, "upTo": min(part["upTo"], seq)}
