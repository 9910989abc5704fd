"""Creating runs, and forking them: a fork shares the first events of another run."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.names import LONGEST_NAME, is_id, shown_id
from sidecypher_procedures.runs.attachments import (
    COMMIT,
    DELIVERY,
    ISSUE,
    REPOSITORY,
    USER,
    Target,
    attach_nodes,
)
from sidecypher_procedures.runs.errors import IllegalState, InvalidArgument, RunTaken, UnknownEvent
from sidecypher_procedures.runs.lock import Lock, Part, lock, unknown_run
from sidecypher_procedures.runs.model import canonical
from sidecypher_procedures.runs.options import ForkOptions, RunOptions, UpdateOptions
from sidecypher_procedures.runs.rows import Forked

_CREATE: Final = """
    MERGE (r:WorkflowRun {id: $id})
    ON CREATE SET r += $properties, r.createdAt = datetime.transaction(),
        r.touchedAt = datetime.realtime(), r.isNew = true
    WITH r, r.isNew IS NOT NULL AS created
    REMOVE r.isNew
    RETURN created, r.type AS type, r.state AS state
"""


_JOIN_PARENT: Final = """
    MATCH (child:WorkflowRun {id: $id}), (parent:WorkflowRun {id: $parent})
    SET parent.touchedAt = $now
    CREATE (child)-[:CHILD_OF]->(parent)
"""


def create_run(ctx: Context, run_id: str, type_name: str, options: RunOptions) -> bool:
    """Create a run unless it exists; return whether it is new.

    Raises:
        RunTaken: The id belongs to a run of another type.
        InvalidArgument: It is its own parent.
        UnknownRun: Its parent does not exist.
        UnknownReference: A node it is based on, or its triggering delivery, does not exist.
        UnknownOnGithub: GitHub does not have what the run is based on.
    """
    if options.parent_run_id == run_id:
        raise InvalidArgument(
            f"The run `{shown_id(run_id)}` is given as its own parent",
            hint="Give the id of another run as `parentRunId`, or leave it out.",
        )
    properties = {
        "type": type_name,
        "workflowType": type_name,
        "state": "pending",
        "status": "pending",
        "lastSeq": 0,
        "postToGithub": options.post_to_github,
        "metadata": None if options.metadata is None else canonical(options.metadata),
    }
    found = ctx.run(_CREATE, id=run_id, properties=properties).single()
    if not found["created"]:
        if found["type"] != type_name:
            raise RunTaken(f"The id `{shown_id(run_id)}` belongs to a run of another type")
        return False
    if options.parent_run_id is not None:
        # Under the lock the parent can neither be deleted nor archived meanwhile.
        now = lock(ctx, options.parent_run_id).now
        ctx.run(_JOIN_PARENT, id=run_id, parent=options.parent_run_id, now=now)
    nodes = [each for target in _targets(options) for each in target.find(ctx).nodes]
    if nodes:
        attach_nodes(ctx, run_id, nodes)
    return True


_UPDATE: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    SET r.metadata = coalesce($metadata, r.metadata), r.result = coalesce($result, r.result)
"""


def update_run(ctx: Context, run_id: str, options: UpdateOptions) -> None:
    """Replace the metadata or the result of a run, or both.

    Raises:
        UnknownRun: No run has this id.
        IllegalState: The run is cancelled, which is its result.
    """
    held = lock(ctx, run_id)
    if options.result is not None and held.run_status.result is not None:
        raise IllegalState("A run that is `cancelled` keeps that as its result")
    metadata = None if options.metadata is None else canonical(options.metadata)
    ctx.run(_UPDATE, runId=run_id, metadata=metadata, result=options.result)


def run_type(name: str) -> str:
    """Return the type of a run without surrounding space.

    Raises:
        InvalidArgument: The name is empty or too long.
    """
    if not is_id(name.strip()):
        raise InvalidArgument(
            f"The run has a `type` of {len(name.strip())} characters",
            hint=f"Give the name of a workflow, of at most {LONGEST_NAME}.",
        )
    return name.strip()


def _targets(options: RunOptions) -> Iterator[Target]:
    basis = options.based_on
    wanted = (
        (ISSUE, basis.issue),
        (REPOSITORY, basis.repository),
        (COMMIT, basis.commit),
        (USER, options.initiated_by),
        (DELIVERY, options.triggered_by),
    )
    return (Target(kind, thing) for kind, thing in wanted if thing is not None)


_TYPE: Final = "MATCH (r:WorkflowRun {id: $runId}) RETURN r.type AS type"
# A fork has its own times. Shared events are not copied, so their number does not matter.
_SHARE: Final = """
    MATCH (fork:WorkflowRun {id: $id}), (origin:WorkflowRun {id: $origin}),
        (first:Event {runId: $lineage[0], seq: 1}), (last:Event {runId: $lineage[-1], seq: $seq})
    SET fork.lineage = $lineage, fork.lineageSeqs = $lineageSeqs,
        fork.lastSeq = $seq, fork.lastEventId = last.id,
        fork.state = last.runState, fork.status = last.runState,
        fork.result = CASE
            WHEN last.runState = 'completed' THEN origin.result ELSE last.runResult
        END,
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


def fork_run(ctx: Context, origin: str, seq: int, options: ForkOptions) -> Forked:
    """Create a run that shares the events of another one up to the place `seq`, unless it exists.

    Raises:
        UnknownRun: No run has this id.
        UnknownEvent: The run has no event at this place.
        RunTaken: The id belongs to a run that is not this fork.
        UnknownReference: A node that the options refer to does not exist.
    """
    found = ctx.run(_TYPE, runId=origin)
    if not len(found):
        raise unknown_run(origin)
    run_id = options.id or str(uuid4())
    # Before the lock: this may query GitHub, and no other call could append meanwhile.
    is_new = create_run(ctx, run_id, options.type or found.single()["type"], options)
    held = lock(ctx, origin)
    shared = {"id": run_id, "origin": origin, "seq": seq}
    if not 1 <= seq <= held.last_seq:
        raise UnknownEvent(
            f"The run `{shown_id(origin)}` has no event at {seq}",
            hint=f"Its latest event is at {held.last_seq}.",
        )
    if is_new:
        _share(ctx, held, shared)
    elif not len(ctx.run(_IS_SHARED, **shared)):
        raise RunTaken(f"The id `{shown_id(run_id)}` belongs to a run that is not this fork")
    return Forked(id=run_id, forked_from=origin, seq=seq)


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
            hint="`runs.verify` shows what is wrong with it.",
        )


def _shared(held: Lock, seq: int) -> Iterator[Part]:
    for part in held.parts:
        if part["after"] < seq:
            yield {**part, "upTo": min(part["upTo"], seq)}
