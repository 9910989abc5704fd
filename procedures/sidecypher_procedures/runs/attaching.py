"""Attaching a run to what it is about, who began it and what came of it."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import InitiatorTaken
from sidecypher_procedures.runs.locking import lock
from sidecypher_procedures.runs.rows import Attached
from sidecypher_procedures.runs.targets import USER, Target, Tie

# Not by MERGE, which would lock the node of a repository or a user: all writers of a run's
# relationships have the run to themselves.
_TIE: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    UNWIND $ties AS tie
    MATCH (t) WHERE elementId(t) = tie.element
    WITH r, t, tie, [
        (r)-[l:BASED_ON|BASED_ON_ISSUE|BASED_ON_REPOSITORY|BASED_ON_COMMIT
            |INITIATED_BY|TRIGGERED_BY]->(t) | type(l)
    ] AS there, [(r)<-[l:HAS_RUNS|GENERATED_BY]-(t) | type(l)] AS thereBack
    WITH r, t, [type IN tie.types WHERE NOT type IN there] AS types,
        [type IN tie.back WHERE NOT type IN thereBack] AS back
    FOREACH (type IN types | CREATE (r)-[:$(type)]->(t))
    FOREACH (type IN back | CREATE (t)-[:$(type)]->(r))
    RETURN sum(size(types) + size(back)) > 0 AS isNew
"""
_INITIATORS: Final = """
    MATCH (r:WorkflowRun {id: $runId})-[:INITIATED_BY]->(u:User)
    RETURN u.id AS id
"""


def attach(ctx: Context, run_id: str, target: Target) -> Attached:
    """Attach a run to a thing, unless it is so already.

    Raises:
        UnknownRun: No run has this id.
        UnknownReference: No node has the id of the thing.
        UnknownOnGithub: GitHub has nothing of its names.
        InitiatorTaken: Another user has begun the run.
    """
    # GitHub is asked first: it may take long to answer, and nobody else could append meanwhile.
    merged = target.find(ctx) if target.id is None else None
    lock(ctx, run_id)
    found = merged or target.find(ctx)
    if target.kind is USER:
        _check_initiator(ctx, run_id, found.id)
    return Attached(run_id=run_id, id=found.id, attached=tie(ctx, run_id, found.ties))


def tie(ctx: Context, run_id: str, ties: Iterable[Tie]) -> bool:
    """Write what is missing between a run, which is locked or new, and nodes; tell if anything was.

    Args:
        ctx: The call.
        run_id: The run.
        ties: What is to be there.
    """
    distinct = {each.element: each.kind for each in ties}
    # In one order, so that no two writers of the same ones wait for each other.
    wanted = [
        {"element": element, "types": list(kind.types), "back": list(kind.back)}
        for element, kind in sorted(distinct.items(), key=itemgetter(0))
    ]
    is_new: bool = ctx.run(_TIE, runId=run_id, ties=wanted).single()["isNew"]
    return is_new


def _check_initiator(ctx: Context, run_id: str, user: str) -> None:
    if any(record["id"] != user for record in ctx.run(_INITIATORS, runId=run_id)):
        raise InitiatorTaken(f"Another user than `{shown_id(user)}` has begun the run")
