"""Relationships between a run and its subject, its initiator and its results."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, LiteralString

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

# End of each statement: the node, and the repositories that the run is then also based on.
_NODE: Final = " RETURN elementId(t) AS element, t.id AS id, [] AS repositories"
_WITH_REPOSITORIES: Final = """
    RETURN elementId(t) AS element, t.id AS id,
        [(t)-[:BELONGS_TO]->(h:Repository) | elementId(h)] AS repositories
"""
# `github.mergeRepository` locks the repository until the transaction ends, so no other call writes
# the relationship meanwhile.
_MERGE_COMMIT: Final = """
    CALL github.getRepository($owner, $repo) YIELD url
    CALL github.mergeRepository($owner, $repo) YIELD node AS h
    MERGE (t:Commit {sha: $sha})
    FOREACH (_ IN CASE WHEN EXISTS { (t)-[:BELONGS_TO]->(h) } THEN [] ELSE [1] END |
        CREATE (t)-[:BELONGS_TO]->(h)
    )
    RETURN elementId(t) AS element, t.sha AS id, [elementId(h)] AS repositories
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of node that a run can be attached to.

    Attributes:
        types: Relationships from a run to the node.
        back: Relationships from the node to a run.
        find: Statement that finds the node by `$id`.
        merge: Statement that merges the node by its names on GitHub, or returns no row if GitHub
            does not have it; empty without such names.
        names: Parameters of `merge`, for errors; empty without such names.
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
    find="MATCH (t:Repository {id: $id})" + _NODE,
    merge="CALL github.getRepository($owner, $name) YIELD url"
    " CALL github.mergeRepository($owner, $name) YIELD node AS t" + _NODE,
    names="owner, name",
)
ISSUE: Final = Kind(
    noun="issue",
    types=("BASED_ON_ISSUE", "BASED_ON"),
    back=("HAS_RUNS",),
    find="MATCH (t:Issue {id: $id})" + _WITH_REPOSITORIES,
    merge="CALL github.getIssue($owner, $repo, $number) YIELD url"
    " CALL github.mergeIssue($owner, $repo, $number) YIELD node AS t" + _WITH_REPOSITORIES,
    names="owner, repo, number",
)
COMMIT: Final = Kind(
    noun="commit",
    types=("BASED_ON_COMMIT", "BASED_ON"),
    find="""
        MATCH (t:Commit {sha: toLower($id)})
        RETURN elementId(t) AS element, t.sha AS id, [] AS repositories
    """,
    merge=_MERGE_COMMIT,
    names="owner, repo, sha",
)
PULL_REQUEST: Final = Kind(
    noun="pull request",
    types=(),
    back=("GENERATED_BY",),
    find="MATCH (t:PullRequest {id: $id})" + _NODE,
    merge="CALL github.getPullRequest($owner, $repo, $number) YIELD url"
    " CALL github.mergePullRequest($owner, $repo, $number) YIELD node AS t" + _NODE,
    names="owner, repo, number",
)
# Unknown users are created.
USER: Final = Kind(noun="user", types=("INITIATED_BY",), find="MERGE (t:User {id: $id})" + _NODE)
DELIVERY: Final = Kind(
    noun="delivery", types=("TRIGGERED_BY",), find="MATCH (t:GithubWebhookEvent {id: $id})" + _NODE
)


@dataclass(frozen=True, slots=True)
class TargetNode:
    """A node to attach a run to, by its element id."""

    element_id: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """A node by its id or, for a commit, its SHA, and all nodes to attach with it."""

    id: str
    nodes: tuple[TargetNode, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A node as a caller names it: by its id, or by its names on GitHub."""

    kind: Kind
    reference: str | GithubName

    def find(self, ctx: Context) -> ResolvedTarget:
        """Find the node, or merge it from GitHub.

        Raises:
            UnknownReference: No node has its id.
            UnknownOnGithub: GitHub has nothing with these names.
        """
        if isinstance(self.reference, str):
            rows = ctx.run(self.kind.find, id=self.reference)
        else:
            rows = ctx.run(self.kind.merge, **self.reference.model_dump())
        if not len(rows):
            raise self._missing()
        row = rows.single()
        repositories = (TargetNode(element_id, REPOSITORY) for element_id in row["repositories"])
        return ResolvedTarget(row["id"], (TargetNode(row["element"], self.kind), *repositories))

    def _missing(self) -> UnknownReference | UnknownOnGithub:
        if isinstance(self.reference, str):
            return UnknownReference(
                f"There is no {self.kind.noun} `{shown_id(self.reference)}`", hint=_hint(self.kind)
            )
        return UnknownOnGithub(f"GitHub has no {self.kind.noun} `{shown_id(str(self.reference))}`")


def _hint(kind: Kind) -> str:
    if not kind.names:
        return "Write it first, or leave it out."
    return f"Write it first, or give a MAP of {kind.names} to have it from GitHub."


# Without MERGE, which would lock the node of a repository or a user: all writers of a run's
# relationships hold the lock of the run.
_ATTACH: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    UNWIND $nodes AS node
    MATCH (t) WHERE elementId(t) = node.element
    WITH r, t, node, [
        (r)-[l:BASED_ON|BASED_ON_ISSUE|BASED_ON_REPOSITORY|BASED_ON_COMMIT
            |INITIATED_BY|TRIGGERED_BY]->(t) | type(l)
    ] AS there, [(r)<-[l:HAS_RUNS|GENERATED_BY]-(t) | type(l)] AS thereBack
    WITH r, t, [type IN node.types WHERE NOT type IN there] AS types,
        [type IN node.back WHERE NOT type IN thereBack] AS back
    FOREACH (type IN types | CREATE (r)-[:$(type)]->(t))
    FOREACH (type IN back | CREATE (t)-[:$(type)]->(r))
    RETURN sum(size(types) + size(back)) > 0 AS isNew
"""
_INITIATORS: Final = """
    MATCH (r:WorkflowRun {id: $runId})-[:INITIATED_BY]->(u:User)
    RETURN u.id AS id
"""


def attach(ctx: Context, run_id: str, kind: Kind, reference: str | GithubName) -> Attached:
    """Attach a run to a node, unless it is already.

    Raises:
        InvalidArgument: The reference is a STRING that is not an id.
        UnknownRun: No run has this id.
        UnknownReference: No node has the id.
        UnknownOnGithub: GitHub has nothing with these names.
        InitiatorTaken: Another user has begun the run.
    """
    if isinstance(reference, str) and not is_id(reference):
        raise InvalidArgument(
            f"The id of the {kind.noun} has {len(reference)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    target = Target(kind, reference)
    # Before the lock: GitHub may answer slowly, and no other call could append meanwhile.
    merged = None if isinstance(reference, str) else target.find(ctx)
    lock(ctx, run_id)
    found = merged or target.find(ctx)
    if kind is USER:
        _check_initiator(ctx, run_id, found.id)
    return Attached(run_id=run_id, id=found.id, attached=attach_nodes(ctx, run_id, found.nodes))


def attach_nodes(ctx: Context, run_id: str, nodes: Iterable[TargetNode]) -> bool:
    """Write missing relationships between a locked or new run and nodes; return if any is new."""
    distinct = {each.element_id: each.kind for each in nodes}
    # A fixed order, so that two writers of the same nodes cannot deadlock.
    wanted = [
        {"element": element_id, "types": list(kind.types), "back": list(kind.back)}
        for element_id, kind in sorted(distinct.items(), key=itemgetter(0))
    ]
    is_new: bool = ctx.run(_ATTACH, runId=run_id, nodes=wanted).single()["isNew"]
    return is_new


def _check_initiator(ctx: Context, run_id: str, user: str) -> None:
    if any(record["id"] != user for record in ctx.run(_INITIATORS, runId=run_id)):
        raise InitiatorTaken(f"Another user than `{shown_id(user)}` has begun the run")
