"""Sessions as people and older engines see them: one, a list, open requests, executions."""

import json
from collections.abc import Iterator
from typing import Any, Final, LiteralString

from sidecypher_procedures.session import rows
from sidecypher_procedures.session.options import AwaitingOptions, ListOptions
from sidecypher_procedures.session.store import Tx, unknown_session

# The index has the outputs in the order of their numbers.
_SESSION: Final = """
    MATCH (s:SESSION {id: $id})
    RETURN s {.id, .workflow, .status, .next_steps, .created_at} AS session,
        COLLECT {
            MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq >= 0
            RETURN [o.stepId, o.value] ORDER BY o.sessionId, o.seq
        } AS outputs,
        COLLECT {
            MATCH (e:StepError)
            WHERE e.sessionId = s.id AND e.seq >= 0 AND e.severity = 'error'
            RETURN {step_id: e.stepId, error: e.error, timestamp: toString(e.createdAt)}
            ORDER BY e.sessionId, e.seq
        } AS errors,
        COLLECT {
            MATCH (m:ChatMessage) WHERE m.sessionId = s.id AND m.seq >= 0
            RETURN m {.role, .content} AS message ORDER BY m.sessionId, m.seq
        } AS messages
"""
# An index returns sessions in order, if conditions and ORDER BY name all of its properties. The
# exact comparison follows after a WITH, so that no plan starts with it. It is in one zone, since
# Neo4j orders equal instants of different zones as different values.
_OLDER: Final = "s.created_at < datetime($before) + duration({nanoseconds: 1}) AND s.id IS NOT NULL"
_RETURN: Final = """
    LIMIT $limit
    RETURN s.id AS id, s.workflow AS workflow, s.status AS status, s.next_steps AS next_steps,
        s.created_at AS created_at, s.updated_at AS updated_at,
        toString(datetime({datetime: s.created_at, timezone: 'Z'})) + ' ' + s.id AS cursor
"""
_WANTED: Final = """
    WITH s WHERE (s.id < $beforeId
        OR datetime({datetime: s.created_at, timezone: 'Z'}) < datetime($before))
    AND ($workflow IS NULL OR s.workflow = $workflow)
"""
_ALL: Final = f"""
    MATCH (s:SESSION) WHERE {_OLDER} {_WANTED}
    WITH s ORDER BY s.created_at DESC, s.id DESC {_RETURN}
"""
_OF_STATUS: Final = f"""
    MATCH (s:SESSION) WHERE s.status = $status AND {_OLDER} {_WANTED}
    WITH s ORDER BY s.status DESC, s.created_at DESC, s.id DESC {_RETURN}
"""
_OF_WORKFLOW: Final = f"""
    MATCH (s:SESSION) WHERE s.workflow = $workflow AND {_OLDER} {_WANTED}
    WITH s ORDER BY s.workflow DESC, s.created_at DESC, s.id DESC {_RETURN}
"""
_AWAITING: Final = """
    MATCH (r:InputRequest)
    WHERE r.status = 'open' AND r.createdAt IS NOT NULL AND r.id IS NOT NULL
    MATCH (r)<-[:AWAITS]-(s:SESSION)
    WHERE ($workflow IS NULL OR s.workflow = $workflow)
    AND ($session IS NULL OR s.id = $session)
    RETURN s.id AS session_id, r.id AS request_id, r.stepId AS step_id, r.statement AS statement,
        r.options AS options, r.schema AS schema, r.createdAt AS since
    ORDER BY r.status, r.createdAt, r.id LIMIT $limit
"""
_HISTORY: Final = """
    MATCH (s:SESSION {id: $id})
    CALL (s) {
        MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq >= 0
        RETURN o {.seq, step_id: o.stepId, .cycle, .tries, started_at: o.startedAt,
            ended_at: o.createdAt, state: 'done', error: null} AS each
        UNION ALL
        MATCH (e:StepError) WHERE e.sessionId = s.id AND e.seq >= 0
        RETURN e {.seq, step_id: e.stepId, .cycle, .tries, started_at: null,
            ended_at: e.createdAt, state: e.severity, .error} AS each
        UNION ALL
        MATCH (s)-[:HAS_CLAIM]->(c:StepClaim)
        RETURN c {seq: null, step_id: c.stepId, .cycle, .tries, started_at: c.startedAt,
            ended_at: null, error: null,
            state: CASE c.kind WHEN 'run' THEN 'running' WHEN 'retry' THEN 'retrying'
                ELSE 'waiting' END} AS each
    }
    RETURN each ORDER BY each.seq
"""


async def session_map(tx: Tx, session_id: str) -> dict[str, Any] | None:
    """Return a session as the older engines have it; None if it does not exist."""
    record = next(iter(await tx.run(_SESSION, id=session_id)), None)
    if record is None:
        return None
    memory: dict[str, list[Any]] = {}
    for step, value in record["outputs"]:
        memory.setdefault(step, []).append(json.loads(value))
    return {
        **record["session"],
        "memory": memory,
        "errors": record["errors"],
        "chat_history": record["messages"],
    }


async def list_sessions(tx: Tx, options: ListOptions) -> Iterator[rows.Listed]:
    """Return sessions, newest first."""
    filters = {"workflow": options.workflow, "status": options.status, "limit": options.limit}
    records = await tx.run(_statement(options), **filters, **options.before)
    return (rows.Listed(**dict(each)) for each in records)


def _statement(options: ListOptions) -> LiteralString:
    if options.status is not None:
        return _OF_STATUS
    return _ALL if options.workflow is None else _OF_WORKFLOW


async def list_requests(tx: Tx, options: AwaitingOptions) -> Iterator[rows.Awaiting]:
    """Return the open requests, oldest first."""
    records = await tx.run(
        _AWAITING, workflow=options.workflow, session=options.session_id, limit=options.limit
    )
    return (
        rows.Awaiting(**{**each, "schema": each["schema"] and json.loads(each["schema"])})
        for each in records
    )


async def list_executions(tx: Tx, session_id: str) -> Iterator[rows.Execution]:
    """Return the executions of a session and their failures in order, running ones at the end."""
    records = await tx.run(_HISTORY, id=session_id)
    return (rows.Execution(**record["each"]) for record in records)


_STATUS: Final = "MATCH (s:SESSION {id: $id}) RETURN s.status AS status"


async def status_of(tx: Tx, session_id: str) -> str:
    """Return the status of a session.

    Raises:
        UnknownSession: No session has this id.
    """
    for record in await tx.run(_STATUS, id=session_id):
        return str(record["status"])
    raise unknown_session(session_id)
