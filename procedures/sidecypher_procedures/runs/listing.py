"""Listing of runs, newest first."""

from collections.abc import Iterator
from typing import Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.runs.model import ReportedState
from sidecypher_procedures.runs.options import ListOptions
from sidecypher_procedures.runs.rows import ListedRun
from sidecypher_procedures.runs.store import WITH_STATE

# Stored states of a run by the state that is reported. A run becomes `timedOut` without a write,
# and is `waiting` because of a plan.
_STORED: Final[dict[ReportedState, list[str]]] = {
    "pending": ["pending"],
    "running": ["running"],
    "completed": ["completed"],
    "error": ["error", "failed"],
    "timedOut": ["timedOut", "pending", "running"],
    "waiting": ["pending", "running"],
}

# Neo4j orders equal instants of different zones as different values. The index search includes
# both; the exact comparison uses one zone, after a WITH, so that no plan starts with it.
_OLDER: Final = "r.createdAt < datetime($before) + duration({nanoseconds: 1}) AND r.id IS NOT NULL"
_WANTED: Final = f"""
    {WITH_STATE}
    WHERE (r.id < $beforeId
        OR datetime({{datetime: r.createdAt, timezone: 'Z'}})
            < datetime($before))
    AND ($type IS NULL OR r.type = $type)
    AND ($stored IS NULL OR r.state IN $stored) AND ($state IS NULL OR state = $state)
    AND ($repository IS NULL
        OR EXISTS {{ (r)-[:BASED_ON_REPOSITORY]->(:Repository {{id: $repository}}) }})
    AND ($user IS NULL OR EXISTS {{ (r)-[:INITIATED_BY]->(:User {{id: $user}}) }})
    AND ($parent IS NULL OR EXISTS {{ (r)-[:CHILD_OF]->(:WorkflowRun {{id: $parent}}) }})
"""
_RETURN_RUN: Final = """
    RETURN r.id AS id, r.type AS type, state, r.createdAt AS created_at,
        r.startedAt AS started_at, r.completedAt AS completed_at,
        coalesce(r.lastSeq, 0) AS last_seq,
        toString(datetime({datetime: r.createdAt, timezone: 'Z'})) + ' ' + r.id AS cursor
"""
_NEWEST: Final = f"""
    WITH r, state ORDER BY r.createdAt DESC, r.id DESC LIMIT $limit
    {_RETURN_RUN}
"""
# Runs of one node are sorted. Otherwise an index returns runs in order, if the statement names all
# of its properties, in the conditions and in ORDER BY.
_OF_NODE: Final = f"WITH DISTINCT r WHERE {_OLDER} {_WANTED} {_NEWEST}"
_OF_ISSUE: Final = f"""
    MATCH (:Issue {{id: $issue}})<-[:BASED_ON_ISSUE]-(r:WorkflowRun) {_OF_NODE}
"""
_OF_PARENT: Final = f"""
    MATCH (:WorkflowRun {{id: $parent}})<-[:CHILD_OF]-(r:WorkflowRun) {_OF_NODE}
"""
_OF_USER: Final = f"""
    MATCH (:User {{id: $user}})<-[:INITIATED_BY]-(r:WorkflowRun) {_OF_NODE}
"""
_OF_REPOSITORY: Final = f"""
    MATCH (:Repository {{id: $repository}})<-[:BASED_ON_REPOSITORY]-(r:WorkflowRun) {_OF_NODE}
"""
_OF_TYPE: Final = f"""
    MATCH (r:WorkflowRun) WHERE r.type = $type AND {_OLDER} {_WANTED}
    WITH r, state ORDER BY r.type DESC, r.createdAt DESC, r.id DESC LIMIT $limit
    {_RETURN_RUN}
"""
_OF_STATE: Final = f"""
    UNWIND $stored AS stored
    CALL (stored) {{
        MATCH (r:WorkflowRun) WHERE r.state = stored AND {_OLDER} {_WANTED}
        RETURN r, state ORDER BY r.state DESC, r.createdAt DESC, r.id DESC LIMIT $limit
    }}
    {_NEWEST}
"""
_ALL: Final = f"""
    MATCH (r:WorkflowRun) WHERE {_OLDER} {_WANTED} {_NEWEST}
"""


def list_runs(ctx: Context, options: ListOptions, timeout: int) -> Iterator[ListedRun]:
    """Yield the runs that match the options, newest first."""
    state = options.reported
    wanted = {
        "type": options.type or None,
        "issue": options.issue_id,
        "repository": options.repository_id,
        "user": options.user_id,
        "parent": options.parent_run_id,
        "state": state,
        "stored": None if state is None else _STORED[state],
        "timeout": timeout,
        **options.place,
    }
    # No reference to the result, so that only one page of it is in memory at a time.
    for record in ctx.run(_statement(options), **wanted):
        yield ListedRun(**dict(record))


def _statement(options: ListOptions) -> LiteralString:
    """Return the statement that starts with the most selective filter."""
    if options.issue_id is not None:
        return _OF_ISSUE
    if options.parent_run_id is not None:
        return _OF_PARENT
    if options.user_id is not None:
        return _OF_USER
    if options.repository_id is not None:
        return _OF_REPOSITORY
    if options.type:
        return _OF_TYPE
    return _ALL if options.state is None else _OF_STATE
