"""Which runs there are, newest first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString, Self

from sidecypher import Context
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.reading import WITH_STATE
from sidecypher_procedures.runs.states import SYNONYMS, State
from sidecypher_procedures.runs.views.paging import PAGE_KEYS, Page
from sidecypher_procedures.runs.views.rows import ListedRun

LIST_KEYS: Final = ("type", "issue", "repository", "user", "state", *PAGE_KEYS)

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
_OLDER: Final = "r.createdAt < $before + duration({nanoseconds: 1}) AND r.id IS NOT NULL"
_WANTED: Final = f"""
    {WITH_STATE}
    WHERE (r.id < $beforeId
        OR datetime({{datetime: r.createdAt, timezone: 'Z'}})
            < datetime({{datetime: $before, timezone: 'Z'}}))
    AND ($type IS NULL OR r.type = $type)
    AND ($stored IS NULL OR r.state IN $stored) AND ($state IS NULL OR state = $state)
    AND ($repository IS NULL
        OR EXISTS {{ (r)-[:BASED_ON_REPOSITORY]->(:Repository {{id: $repository}}) }})
    AND ($user IS NULL OR EXISTS {{ (r)-[:INITIATED_BY]->(:User {{id: $user}}) }})
"""
_TOLD: Final = """
    RETURN r.id AS id, r.type AS type, state, r.createdAt AS createdAt,
        r.startedAt AS startedAt, r.completedAt AS completedAt, coalesce(r.lastSeq, 0) AS lastSeq
"""
_NEWEST: Final = f"""
    WITH r, state ORDER BY r.createdAt DESC, r.id DESC LIMIT $limit
    {_TOLD}
"""
# What hangs on one node is sorted. Else an index has the runs in their order; it serves who names
# all of its properties, here and in ORDER BY.
_OF_ISSUE: Final = f"""
    MATCH (:Issue {{id: $issue}})<-[:BASED_ON_ISSUE]-(r:WorkflowRun)
    WITH DISTINCT r WHERE {_OLDER} {_WANTED} {_NEWEST}
"""
_OF_USER: Final = f"""
    MATCH (:User {{id: $user}})<-[:INITIATED_BY]-(r:WorkflowRun)
    WITH DISTINCT r WHERE {_OLDER} {_WANTED} {_NEWEST}
"""
_OF_REPOSITORY: Final = f"""
    MATCH (:Repository {{id: $repository}})<-[:BASED_ON_REPOSITORY]-(r:WorkflowRun)
    WITH DISTINCT r WHERE {_OLDER} {_WANTED} {_NEWEST}
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


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which runs are wanted.

    Attributes:
        type: Only those of this type.
        issue: Only those based on the issue of this id.
        repository: Only those based on the repository of this id.
        user: Only those that the user of this id began.
        state: Only those in this state.
        page: Where in the list.
    """

    type: str | None
    issue: str | None
    repository: str | None
    user: str | None
    state: State | None
    page: Page

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", LIST_KEYS, InvalidOption)
        return cls(
            type=fields.text("type") or None,
            issue=fields.identifier("issue"),
            repository=fields.identifier("repository"),
            user=fields.identifier("user"),
            state=fields.choice("state", State, None, SYNONYMS),
            page=Page.read(fields),
        )

    @property
    def statement(self) -> LiteralString:
        """The statement that begins where it expects the fewest runs."""
        if self.issue is not None:
            return _OF_ISSUE
        if self.user is not None:
            return _OF_USER
        if self.repository is not None:
            return _OF_REPOSITORY
        if self.type is not None:
            return _OF_TYPE
        return _ALL if self.state is None else _OF_STATE


def runs_like(ctx: Context, options: ListOptions, timeout: int) -> Iterator[ListedRun]:
    """Give the runs that are wanted, newest first."""
    wanted = {
        "type": options.type,
        "issue": options.issue,
        "repository": options.repository,
        "user": options.user,
        "state": options.state,
        "stored": None if options.state is None else _STORED[options.state],
        "timeout": timeout,
        **options.page.parameters,
    }
    # Nobody holds the result, so that one page of it is in memory at a time.
    for record in ctx.run(options.statement, **wanted):
        yield ListedRun(
            id=record["id"],
            type=record["type"],
            state=record["state"],
            created_at=record["createdAt"],
            started_at=record["startedAt"],
            completed_at=record["completedAt"],
            last_seq=record["lastSeq"],
        )
