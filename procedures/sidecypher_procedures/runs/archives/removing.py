"""Taking a run out of the graph, if it may leave."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import RunMustStay
from sidecypher_procedures.runs.locking import lock
from sidecypher_procedures.runs.payloads import release
from sidecypher_procedures.runs.reading import AWAITED
from sidecypher_procedures.runs.states import FINAL, State

_NEEDED: Final = f"""
    MATCH (r:WorkflowRun {{id: $runId}})
    RETURN r.completedAt AS completedAt,
        EXISTS {{ (r)<-[:FORKED_FROM]-() }} AS forked, {AWAITED} AS awaited
"""
_PAYLOADS: Final = """
    MATCH (e:Event)-[:HAS_PAYLOAD]->(p:Payload)
    WHERE e.runId = $runId AND e.seq > 0
    RETURN DISTINCT p.sha256 AS sha256
"""
# Relationships apart from nodes: what somebody else adds in between makes Neo4j refuse the latter.
_PARTED: Final = """
    CALL () {
        MATCH (e:Event)-[l]-() WHERE e.runId = $runId AND e.seq > 0 RETURN l
        UNION
        MATCH (:WorkflowRun {id: $runId})-[l]-() RETURN l
    }
    DELETE l
    RETURN count(*) AS relationships
"""
_GONE: Final = """
    CALL () {
        MATCH (e:Event) WHERE e.runId = $runId AND e.seq > 0 RETURN e AS n
        UNION
        MATCH (r:WorkflowRun {id: $runId}) RETURN r AS n
    }
    DELETE n
    RETURN count(*) AS nodes
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that may leave the graph.

    Attributes:
        state: Its state.
        completed_at: When it ended.
    """

    state: State
    completed_at: datetime | None


def lock_ended(ctx: Context, run_id: str) -> Ended:
    """Lock a run that may leave the graph.

    Raises:
        UnknownRun: No run has this id.
        RunMustStay: It has not ended, a plan of it awaits its review, or a fork shares its events.
    """
    state = lock(ctx, run_id).standing.state
    found = ctx.run(_NEEDED, runId=run_id).single()
    shown = shown_id(run_id)
    if state not in FINAL:
        raise RunMustStay(f"The run `{shown}` has not ended", hint="End it by an event first.")
    if found["awaited"]:
        raise RunMustStay(f"A plan of the run `{shown}` awaits its review", hint="Review it first.")
    if found["forked"]:
        raise RunMustStay(
            f"Other runs are forks of the run `{shown}`", hint="Archive or delete them first."
        )
    return Ended(state, found["completedAt"])


def remove(ctx: Context, run_id: str) -> tuple[int, int]:
    """Delete a locked run with all of its events.

    Returns:
        How many nodes and relationships are gone.
    """
    payloads = [record["sha256"] for record in ctx.run(_PAYLOADS, runId=run_id)]
    relationships = ctx.run(_PARTED, runId=run_id).single()["relationships"]
    nodes = ctx.run(_GONE, runId=run_id).single()["nodes"]
    release(ctx, payloads)
    return nodes, relationships
