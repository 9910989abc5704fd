"""What a run is attached to: what it is about, who began it and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, LiteralString, Self

from sidecypher import Context
from sidecypher_procedures.names import LONGEST_NAME, is_id, shown_id
from sidecypher_procedures.runs.errors import (
    InitiatorTaken,
    InvalidArgument,
    UnknownOnGithub,
    UnknownReference,
)
from sidecypher_procedures.runs.lock import lock
from sidecypher_procedures.runs.options import GithubName
from sidecypher_procedures.runs.rows import Attached

# How each statement ends: the node, and those that a run which is based on it is also based on.
_ALONE: Final = " RETURN elementId(t) AS element, t.id AS id, [] AS homes"
_WITH_HOMES: Final = """
    RETURN elementId(t) AS element, t.id AS id,
        [(t)-[:BELONGS_TO]->(h:Repository) | elementId(h)] AS homes
"""
# GitHub's merge has the repository to itself until the transaction ends, so no other one writes
# the relationship meanwhile.
_MERGE_COMMIT: Final = """
    CALL github.getRepository($owner, $repo) YIELD url
    CALL github.mergeRepository($owner, $repo) YIELD node AS h
    MERGE (t:Commit {sha: $sha})
    FOREACH (_ IN CASE WHEN EXISTS { (t)-[:BELONGS_TO]->(h) } THEN [] ELSE [1] END |
        CREATE (t)-[:BELONGS_TO]->(h)
    )
    RETURN elementId(t) AS element, t.sha AS id, [elementId(h)] AS homes
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that a run can be attached to.

    Attributes:
        types: The relationships that lead from a run to it.
        back: The relationships that lead from it to a run.
        find: Finds its node by `$id`.
        merge: Merges its node by its names on GitHub, after a read that returns no row if GitHub
            does not have it; empty if it has no such names.
        names: What these names are, for errors; empty if it has none.
    """

    noun: str
    types: tuple[str, ...]
    find: LiteralString
    back: tuple[str, ...] = ()
    merge: LiteralString = ""
    names: str = ""


REPOSITORY: Final = Kind(
    noun="repository",
    types=("BASED_ON_REPOSITORY", "BASED_ON"),
    find="MATCH (t:Repository {id: $id})" + _ALONE,
    merge="CALL github.getRepository($owner, $name) YIELD url"
    " CALL github.mergeRepository($owner, $name) YIELD node AS t" + _ALONE,
    names="owner, name",
)
ISSUE: Final = Kind(
    noun="issue",
    types=("BASED_ON_ISSUE", "BASED_ON"),
    back=("HAS_RUNS",),
    find="MATCH (t:Issue {id: $id})" + _WITH_HOMES,
    merge="CALL github.getIssue($owner, $repo, $number) YIELD url"
    " CALL github.mergeIssue($owner, $repo, $number) YIELD node AS t" + _WITH_HOMES,
    names="owner, repo, number",
)
COMMIT: Final = Kind(
    noun="commit",
    types=("BASED_ON_COMMIT", "BASED_ON"),
    find="""
        MATCH (t:Commit {sha: toLower($id)})
        RETURN elementId(t) AS element, t.sha AS id, [] AS homes
    """,
    merge=_MERGE_COMMIT,
    names="owner, repo, sha",
)
PULL_REQUEST: Final = Kind(
    noun="pull request",
    types=(),
    back=("GENERATED_BY",),
    find="MATCH (t:PullRequest {id: $id})" + _ALONE,
    merge="CALL github.getPullRequest($owner, $repo, $number) YIELD url"
    " CALL github.mergePullRequest($owner, $repo, $number) YIELD node AS t" + _ALONE,
    names="owner, repo, number",
)
# New users are made.
USER: Final = Kind(noun="user", types=("INITIATED_BY",), find="MERGE (t:User {id: $id})" + _ALONE)
DELIVERY: Final = Kind(
    noun="delivery", types=("TRIGGERED_BY",), find="MATCH (t:GithubWebhookEvent {id: $id})" + _ALONE
)


@dataclass(frozen=True, slots=True)
class Tie:
    """A node that a run is to be attached to, by its id of Neo4j."""

    element: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that is in the graph, by its id or the SHA of a commit, and what attaches to it."""

    id: str
    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A thing as a caller names it: by the id of its node, or by its names on GitHub."""

    kind: Kind
    thing: str | GithubName

    @classmethod
    def argument(cls, kind: Kind, thing: str | GithubName) -> Self:
        """Check an argument of a procedure.

        Raises:
            InvalidArgument: It is a STRING that is not an id.
        """
        if isinstance(thing, str) and not is_id(thing):
            raise InvalidArgument(
                f"The id of the {kind.noun} has {len(thing)} characters",
                hint=f"Give 1 to {LONGEST_NAME}, not only space.",
            )
        return cls(kind, thing)

    def find(self, ctx: Context) -> Found:
        """Find its node, or merge it with what never changes of it on GitHub.

        Raises:
            UnknownReference: No node has its id.
            UnknownOnGithub: GitHub has nothing of its names.
        """
        if isinstance(self.thing, str):
            rows = ctx.run(self.kind.find, id=self.thing)
        else:
            rows = ctx.run(self.kind.merge, **self.thing.model_dump())
        if not len(rows):
            raise self._missing()
        row = rows.single()
        homes = (Tie(element, REPOSITORY) for element in row["homes"])
        return Found(row["id"], (Tie(row["element"], self.kind), *homes))

    def _missing(self) -> UnknownReference | UnknownOnGithub:
        if isinstance(self.thing, str):
            return UnknownReference(
                f"There is no {self.kind.noun} `{shown_id(self.thing)}`", hint=_hint(self.kind)
            )
        return UnknownOnGithub(f"GitHub has no {self.kind.noun} `{shown_id(str(self.thing))}`")


def _hint(kind: Kind) -> str:
    if not kind.names:
        return "Write it first, or leave it out."
    return f"Write it first, or give a MAP of {kind.names} to have it from GitHub."


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
    # GitHub is asked first: it may take long to answer, and no other call could append meanwhile.
    merged = None if isinstance(target.thing, str) else target.find(ctx)
    lock(ctx, run_id)
    found = merged or target.find(ctx)
    if target.kind is USER:
        _check_initiator(ctx, run_id, found.id)
    return Attached(run_id=run_id, id=found.id, attached=tie(ctx, run_id, found.ties))


def tie(ctx: Context, run_id: str, ties: Iterable[Tie]) -> bool:
    """Write what is missing between a run, locked or new, and nodes; return if anything was."""
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
