"""Which runs there are, newest first."""

from collections.abc import Iterator
from typing import Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.runs.model import State, state_of
from sidecypher_procedures.runs.options import ListOptions
from sidecypher_procedures.runs.rows import ListedRun
from sidecypher_procedures.runs.store import WITH_STATE

# What a run may have stored that is told as a state. Time alone makes a run `timedOut`.
_STORED: Final[dict[State, list[str]]] = {
    "pending": ["pending"],
    "running": ["running"],
    "completed": ["completed"],
    "error": ["error", "failed"],
    "timedOut": ["timedOut", "pending", "running"],
}

# One instant in two zones is two values, one less than the other: the index finds both, and what it
# finds is compared in one zone. These conditions are behind WITH, where no plan can begin at them.
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
"""
_TOLD: Final = """
    RETURN r.id AS id, r.type AS type, state, r.createdAt AS created_at,
        r.startedAt AS started_at, r.completedAt AS completed_at,
        coalesce(r.lastSeq, 0) AS last_seq,
        toString(datetime({datetime: r.createdAt, timezone: 'Z'})) + ' ' + r.id AS cursor
"""
_NEWEST: Final = f"""
    WITH r, state ORDER BY r.createdAt DESC, r.id DESC LIMIT $limit
    {_TOLD}
"""
# What hangs on one node is sorted. Else an index has the runs in their order; it serves who names
# all of its properties, here and in ORDER BY.
_HANGING: Final = f"WITH DISTINCT r WHERE {_OLDER} {_WANTED} {_NEWEST}"
_OF_ISSUE: Final = f"""
    MATCH (:Issue {{id: $issue}})<-[:BASED_ON_ISSUE]-(r:WorkflowRun) {_HANGING}
"""
_OF_USER: Final = f"""
    MATCH (:User {{id: $user}})<-[:INITIATED_BY]-(r:WorkflowRun) {_HANGING}
"""
_OF_REPOSITORY: Final = f"""
    MATCH (:Repository {{id: $repository}})<-[:BASED_ON_REPOSITORY]-(r:WorkflowRun) {_HANGING}
"""
_OF_TYPE: Final = f"""
    MATCH (r:WorkflowRun) WHERE r.type = $type AND {_OLDER} {_WANTED}
    WITH r, state ORDER BY r.type DESC, r.createdAt DESC, r.id DESC LIMIT $limit
    {_TOLD}
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


def runs_like(ctx: Context, options: ListOptions, timeout: int) -> Iterator[ListedRun]:
    """Give the runs that are wanted, newest first."""
    state = None if options.state is None else state_of(options.state)
    wanted = {
        "type": options.type or None,
        "issue": options.issue_id,
        "repository": options.repository_id,
        "user": options.user_id,
        "state": state,
        "stored": None if state is None else _STORED[state],
        "timeout": timeout,
        **options.place,
    }
    # The result is not kept, so that one page of it is in memory at a time.
    for record in ctx.run(_statement(options), **wanted):
        yield ListedRun(**dict(record))


def _statement(options: ListOptions) -> LiteralString:
    """The statement that begins where it expects the fewest runs."""
    if options.issue_id is not None:
        return _OF_ISSUE
    if options.user_id is not None:
        return _OF_USER
    if options.repository_id is not None:
        return _OF_REPOSITORY
    if options.type:
        return _OF_TYPE
    return _ALL if options.state is None else _OF_STATE
