"""What a run can be attached to: a node by its id, or a thing by its names on GitHub."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString, Self

from sidecypher import Context
from sidecypher_procedures.fields import Fields, shown_id
from sidecypher_procedures.runs.errors import InvalidOption, UnknownOnGithub, UnknownReference

_LARGEST_NUMBER: Final = 2**31 - 1
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)

# How each statement ends: the node, and those that a run which is based on it is also based on.
_ALONE: Final = " RETURN elementId(t) AS element, t.id AS id, [] AS homes"
_WITH_HOMES: Final = """
    RETURN elementId(t) AS element, t.id AS id,
        [(t)-[:BELONGS_TO]->(h:Repository) | elementId(h)] AS homes
"""
# GitHub's merge has the repository to itself until the transaction ends, so nobody else writes the
# relationship meanwhile.
_MERGE_COMMIT: Final = """
    CALL github.mergeRepository($owner, $repo) YIELD node AS h
    MERGE (t:Commit {sha: $sha})
    FOREACH (_ IN CASE WHEN EXISTS { (t)-[:BELONGS_TO]->(h) } THEN [] ELSE [1] END |
        CREATE (t)-[:BELONGS_TO]->(h)
    )
    RETURN elementId(t) AS element, t.sha AS id, [elementId(h)] AS homes
"""


def _number(fields: Fields, name: str) -> int:
    return fields.count(name, 0, largest=_LARGEST_NUMBER)


def _sha(fields: Fields, name: str) -> str:
    sha = fields.required_text(name)
    if not _SHA.fullmatch(sha):
        raise fields.refuse(f"has a `{name}` that is none", "Give all of its 40 or 64 digits.")
    return sha.lower()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that a run can be attached to.

    Attributes:
        noun: What it is called.
        types: The relationships that lead from a run to it.
        back: The relationships that lead from it to a run.
        find: Finds its node by `$id`.
        merge: Merges its node by its names on GitHub; empty if it has none.
        names: What reads each of these names.
        form: How GitHub writes them.
    """

    noun: str
    types: tuple[str, ...]
    find: LiteralString
    back: tuple[str, ...] = ()
    merge: LiteralString = ""
    names: Mapping[str, Callable[[Fields, str], Any]] = field(default_factory=dict)
    form: str = ""


REPOSITORY: Final = Kind(
    noun="repository",
    types=("BASED_ON_REPOSITORY", "BASED_ON"),
    find="MATCH (t:Repository {id: $id})" + _ALONE,
    merge="CALL github.mergeRepository($owner, $name) YIELD node AS t" + _ALONE,
    names={"owner": Fields.required_text, "name": Fields.required_text},
    form="{owner}/{name}",
)
ISSUE: Final = Kind(
    noun="issue",
    types=("BASED_ON_ISSUE", "BASED_ON"),
    back=("HAS_RUNS",),
    find="MATCH (t:Issue {id: $id})" + _WITH_HOMES,
    merge="CALL github.mergeIssue($owner, $repo, $number) YIELD node AS t" + _WITH_HOMES,
    names={"owner": Fields.required_text, "repo": Fields.required_text, "number": _number},
    form="{owner}/{repo}#{number}",
)
COMMIT: Final = Kind(
    noun="commit",
    types=("BASED_ON_COMMIT", "BASED_ON"),
    find="""
        MATCH (t:Commit {sha: toLower($id)})
        RETURN elementId(t) AS element, t.sha AS id, [] AS homes
    """,
    merge=_MERGE_COMMIT,
    names={"owner": Fields.required_text, "repo": Fields.required_text, "sha": _sha},
    form="{owner}/{repo}@{sha}",
)
PULL_REQUEST: Final = Kind(
    noun="pull request",
    types=(),
    back=("GENERATED_BY",),
    find="MATCH (t:PullRequest {id: $id})" + _ALONE,
    merge="CALL github.mergePullRequest($owner, $repo, $number) YIELD node AS t" + _ALONE,
    names={"owner": Fields.required_text, "repo": Fields.required_text, "number": _number},
    form="{owner}/{repo}#{number}",
)
# Whoever is new is made.
USER: Final = Kind(noun="user", types=("INITIATED_BY",), find="MERGE (t:User {id: $id})" + _ALONE)
DELIVERY: Final = Kind(
    noun="delivery", types=("TRIGGERED_BY",), find="MATCH (t:GithubWebhookEvent {id: $id})" + _ALONE
)

BASES: Final = {"issue": ISSUE, "repository": REPOSITORY, "commit": COMMIT}
"""What a run can be based on, as the option `basedOn` names it."""


@dataclass(frozen=True, slots=True)
class Tie:
    """What is to lead from a run to a node, and back.

    Attributes:
        element: Neo4j's id of the node.
        kind: What the node is.
    """

    element: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that is in the graph.

    Attributes:
        id: Its id, the SHA of a commit.
        ties: What attaches a run to it.
    """

    id: str
    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A thing as a caller names it.

    Attributes:
        kind: What it is.
        id: The id of its node, None if its names on GitHub are given.
        names: Its names on GitHub.
    """

    kind: Kind
    id: str | None
    names: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, kind: Kind, fields: Fields, name: str) -> Self | None:
        """Read a STRING or a MAP, None when it is not given.

        Raises:
            InvalidOption: It is neither, or a MAP that lacks a name.
        """
        if name not in fields:
            return None
        if not (kind.names and fields.is_map(name)):
            return cls(kind, fields.identifier(name))
        given = Fields(fields.map(name), kind.noun, tuple(kind.names), InvalidOption)
        return cls(kind, None, {key: read(given, key) for key, read in kind.names.items()})

    @classmethod
    def required(cls, kind: Kind, name: str, value: object) -> Self:
        """Read an argument of a procedure.

        Raises:
            InvalidOption: It is null, or neither STRING nor MAP.

        Example:
            >>> Target.required(REPOSITORY, "repository", {"owner": "ann", "name": "tools"}).names
            {'owner': 'ann', 'name': 'tools'}
        """
        fields = Fields({name: value}, "call", (name,), InvalidOption)
        target = cls.read(kind, fields, name)
        if target is None:
            raise fields.refuse(f"lacks `{name}`", f"Give the id of a {kind.noun}.")
        return target

    def find(self, ctx: Context) -> Found:
        """Find its node, or merge it with what never changes of it on GitHub.

        Raises:
            UnknownReference: No node has its id.
            UnknownOnGithub: GitHub has nothing of its names.
        """
        statement = self.kind.find if self.id is not None else self.kind.merge
        rows = ctx.run(statement, **({"id": self.id} if self.id is not None else self.names))
        if not len(rows):
            raise self._missing()
        row = rows.single()
        homes = (Tie(element, REPOSITORY) for element in row["homes"])
        return Found(row["id"], (Tie(row["element"], self.kind), *homes))

    def _missing(self) -> UnknownReference | UnknownOnGithub:
        if self.id is None:
            named = shown_id(self.kind.form.format(**self.names))
            return UnknownOnGithub(f"GitHub has no {self.kind.noun} `{named}`")
        return UnknownReference(
            f"There is no {self.kind.noun} `{shown_id(self.id)}`",
            hint=_hint(self.kind),
        )


def _hint(kind: Kind) -> str:
    if not kind.names:
        return "Write it first, or leave it out."
    return f"Write it first, or give a MAP of {', '.join(kind.names)} to have it from GitHub."
