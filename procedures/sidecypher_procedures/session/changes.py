"""What people do to sessions: cancel, retry and fork them; and whether others can see one."""

from typing import Any, Final
from uuid import uuid4

from sidecypher import BoltClient, CypherError, Neo4jUnavailable
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import SessionEnded, SessionTaken, UnknownExecution
from sidecypher_procedures.session.mirrors import write_mirrored
from sidecypher_procedures.session.options import ForkOptions
from sidecypher_procedures.session.rounds import ENDED, cancelled, tell_parent
from sidecypher_procedures.session.store import (
    IN_WORKFLOW,
    Changes,
    Session,
    Tx,
    lock,
    move,
    unknown_session,
    version_of,
)

_LOCKED_VERSION: Final = """
    MATCH (s:SESSION {id: $id})
    SET s.updated_at = datetime.realtime()
    RETURN coalesce(s.version, 0) AS version
"""
# A lock that is not given within it is that of the caller, who waits for this call, or of somebody
# who works on the session. Neo4j looks every two seconds whose time is over.
_PROBE_SECONDS: Final = 1.0

_CHILDREN: Final = """
    MATCH (:SESSION {id: $id})-[:HAS_CLAIM]->(c:StepClaim)
    RETURN c.stepId AS step, c.child AS child
"""
# The execution that a fork begins with, and the number before which everything is shared.
_EXECUTION: Final = f"""
    MATCH (s:SESSION {{id: $id}})
    CALL (s) {{
        MATCH (o:OUTPUT)
        WHERE o.sessionId = s.id AND o.stepId = $step AND o.cycle >= coalesce($cycle, 0)
        RETURN o.seq AS seq, o.cycle AS cycle
        UNION ALL
        MATCH (e:StepError)
        WHERE e.sessionId = s.id AND e.seq >= 0 AND e.stepId = $step AND e.severity = 'error'
        RETURN e.seq AS seq, e.cycle AS cycle
    }}
    WITH s, seq, cycle WHERE $cycle IS NULL OR cycle = $cycle
    WITH s, seq, cycle ORDER BY seq DESC LIMIT 1
    MATCH (t:STEP {{id: $step}}) WHERE {IN_WORKFLOW}
    RETURN seq, cycle, elementId(t) AS node
"""
_FORK: Final = """
    MATCH (s:SESSION {id: $id}), (t:STEP) WHERE elementId(t) = $node
    CREATE (f:SESSION)-[:FORKED_FROM]->(s), (f)-[:CURRENT]->(t)
    SET f = s {.workflow, .workflow_version, .compat, .max_rounds, .max_outputs, .export},
        f.id = $fork, f.status = 'active', f.next_steps = [t.id], f.failed_steps = [],
        f.version = 1, f.rounds = 0, f.seq = $seq - 1, f.created_at = datetime.realtime()
    SET f.updated_at = f.created_at, f.lease_until = f.created_at
    WITH s, f
    CALL (s, f) {
        MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq < $seq
        CREATE (f)-[:HAS_OUTPUT]->(c:OUTPUT)
        SET c = o {.*, sessionId: f.id}
        WITH o, c
        MATCH (o)-[:OF_STEP]->(t:STEP)
        CREATE (c)-[:OF_STEP]->(t)
    }
    CALL (s, f) {
        MATCH (m:ChatMessage)
        WHERE m.sessionId = s.id AND m.seq < $seq
        AND NOT (m.stepId = $step AND m.cycle = $cycle)
        CREATE (f)-[:HAS_MESSAGE]->(c:ChatMessage)
        SET c = m {.*, sessionId: f.id}
    }
    FINISH
"""
_IS_TAKEN: Final = "MATCH (s:SESSION {id: $id}) RETURN s.id AS id"


async def is_committed(tx: Tx, client: BoltClient, session_id: str) -> bool:
    """Return whether others see a session as this transaction does, and can lock it.

    Otherwise this transaction has changed it, and no other could write it before its end.
    """
    here = await version_of(tx, session_id)
    if here is None:
        raise unknown_session(session_id)
    try:
        async with client.transaction(seconds=_PROBE_SECONDS) as other:
            there = await other.run(_LOCKED_VERSION, id=session_id)
    except (Neo4jUnavailable, CypherError):
        return False
    return [here] == [each["version"] for each in there]


async def cancel(tx: Tx, session_id: str) -> tuple[Session, bool]:
    """Cancel a session and those that it waits for; return it, and whether it had not ended.

    Raises:
        UnknownSession: No session has this id.
    """
    session = await lock(tx, session_id)
    if session.status in ENDED:
        return session, False
    claims = list(await tx.run(_CHILDREN, id=session_id))
    status: dict[str, Any] = {"status": "cancelled", "lease_until": None}
    released = [each["step"] for each in claims]
    await write_mirrored(tx, session, Changes(status, released=released, closed=cancelled(session)))
    await move(tx, session)
    for each in claims:
        if each["child"] is not None:
            await cancel(tx, each["child"])
    await tell_parent(tx, session)
    return session, True


async def retry(tx: Tx, session_id: str) -> None:
    """Let a session that has failed begin again with the steps that failed.

    Raises:
        UnknownSession: No session has this id.
        SessionEnded: It has not failed.
    """
    session = await lock(tx, session_id)
    if session.status != "error":
        raise SessionEnded(
            f"The session `{shown_id(session_id)}` has the status `{session.status}`",
            hint="Only a session with the status `error` can be retried.",
        )
    status: dict[str, Any] = {
        "status": "active",
        "lease_until": session.now,
        "failed_steps": [],
        "rounds": 0,
    }
    await write_mirrored(tx, session, Changes(status, names=session.failed))
    await move(tx, session)


async def fork(tx: Tx, session_id: str, options: ForkOptions) -> str:
    """Create a session with the outputs before an execution of another one; return its id.

    Raises:
        UnknownSession: No session has this id.
        UnknownExecution: It has not executed that step, or the step was deleted.
        SessionTaken: The id of the fork belongs to another session.
    """
    if not list(await tx.run(_IS_TAKEN, id=session_id)):
        raise unknown_session(session_id)
    fork_id = options.id or str(uuid4())
    if list(await tx.run(_IS_TAKEN, id=fork_id)):
        raise SessionTaken(f"The id `{shown_id(fork_id)}` belongs to another session")
    place = {"step": options.step, "cycle": options.cycle}
    found = next(iter(await tx.run(_EXECUTION, id=session_id, **place)), None)
    if found is None:
        raise UnknownExecution(
            f"The session `{shown_id(session_id)}` has no such execution of the step "
            f"`{shown_id(options.step)}`"
        )
    await tx.run(_FORK, id=session_id, fork=fork_id, step=options.step, **found)
    return fork_id
