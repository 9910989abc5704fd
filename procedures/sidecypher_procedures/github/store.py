"""What never changes of GitHub's things, written into the graph in the caller's transaction.

Nodes are merged by id, and locks are taken in one order: repositories by their ids, users by
theirs, then issues and pull requests. Whoever merges something of a repository so has it to himself
until his transaction ends, and two who do wait for each other, but never in a circle. Users are not
any repository's own: only one who is new, or has another login than before, is locked.

Names and logins do change, and what tells of them comes in any order: an answer from memory, a
webhook that was late. `eventAt` of a node is the time of what it has: nothing older replaces that,
nor takes a name from a node that has it since later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from sidecypher import Context, Node
from sidecypher_procedures.github.entities import User

Fields = Mapping[str, Any]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

# Read without a lock, so that repositories with users in common do not wait for each other.
_CHANGED_USERS: Final = """
    UNWIND $users AS user
    OPTIONAL MATCH (u:User {id: user.id})
    WITH user, u
    WHERE u IS NULL OR u.login IS NULL
        OR (u.login <> user.login AND (u.eventAt IS NULL OR u.eventAt <= user.at))
    RETURN user.id AS id
"""
# `SET` locks also where nothing changes, so that nobody else compares until this is committed.
# Users of other namespaces have ids that are no numbers; theirs is not GitHub's login.
_USERS: Final = """
    UNWIND $users AS user
    MERGE (u:User {id: user.id})
    SET u.id = user.id
    WITH u, user
    WHERE (u.eventAt IS NULL OR u.eventAt <= user.at) AND NOT EXISTS {
        MATCH (holder:User {login: user.login})
        WHERE holder <> u AND holder.id =~ '[0-9]+'
            AND NOT coalesce(holder.eventAt IS NULL OR holder.eventAt <= user.at, false)
    }
    SET u.login = user.login, u.eventAt = coalesce(user.at, u.eventAt)
    WITH u
    CALL (u) {
        MATCH (old:User {login: u.login})
        WHERE old <> u AND old.id =~ '[0-9]+'
        REMOVE old.login
    }
"""
_REPOSITORY: Final = """
    MERGE (r:Repository {id: $id})
    SET r.createdAt = $createdAt
    WITH r, COLLECT {
        MATCH (holder:Repository {fullNameKey: $fullNameKey}) WHERE holder <> r RETURN holder
        UNION
        MATCH (holder:Repository {owner: $owner, name: $name}) WHERE holder <> r RETURN holder
    } AS holders
    WITH r, holders, coalesce(
        all(each IN holders + r WHERE each.eventAt IS NULL OR each.eventAt <= $at), false
    ) AS isNewest
    FOREACH (_ IN CASE WHEN isNewest THEN [1] ELSE [] END |
        SET r.owner = $owner, r.name = $name, r.fullNameKey = $fullNameKey,
            r.eventAt = coalesce($at, r.eventAt)
        FOREACH (holder IN holders | REMOVE holder.owner, holder.name, holder.fullNameKey)
    )
    RETURN r AS node, isNewest
"""
# `CREATE` where `MERGE` would do: that locks the user, and the other end is locked already.
_OWNER: Final = """
    MATCH (r:Repository {id: $id}), (u:User {id: $ownerId})
    FOREACH (_ IN CASE WHEN EXISTS { (r)-[:OWNED_BY]->(u) } THEN [] ELSE [1] END |
        CREATE (r)-[:OWNED_BY]->(u)
    )
    WITH r, u
    MATCH (r)-[former:OWNED_BY]->(other)
    WHERE other <> u
    DELETE former
"""


def _merging(label: LiteralString, belonging: LiteralString) -> LiteralString:
    return f"""
    MATCH (r:Repository {{id: $repositoryId}})
    MERGE (i:{label} {{id: $id}})
    SET i.repositoryId = $repositoryId, i.number = $number, i.createdAt = $createdAt
    MERGE (i)-[:BELONGS_TO]->(r)
    MERGE (r)-[:{belonging}]->(i)
    WITH i
    CALL (i) {{
        MATCH (u:User {{id: $authorId}}) WHERE NOT EXISTS {{ (i)-[:CREATED_BY]->(u) }}
        CREATE (i)-[:CREATED_BY]->(u)
    }}
    RETURN i AS node
"""


_ISSUE: Final = _merging("Issue", "HAS_ISSUES")
_PULL_REQUEST: Final = _merging("PullRequest", "HAS_PRS")
_COMMENTS: Final = """
    MATCH (i:Issue {id: $id})
    UNWIND $comments AS comment
    MERGE (c:Comment {id: comment.id})
    SET c.createdAt = comment.createdAt
    MERGE (i)-[:HAS_COMMENTS]->(c)
"""
_RESOLVES: Final = """
    MATCH (p:PullRequest {id: $id})
    UNWIND $issues AS issue
    MATCH (i:Issue {id: issue})
    MERGE (p)-[:RESOLVES]->(i)
"""


@dataclass(frozen=True, slots=True)
class Reported:
    """What GitHub told of a repository, an issue or a pull request.

    Attributes:
        fields: Its columns.
        user: Who owns the repository, or made the issue; None for a deleted user.
        at: When GitHub told it, which is when the user had that login; None if nobody knows.
    """

    fields: Fields
    user: User | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Resolved:
    """An issue that a pull request resolves, and the repository it is in."""

    issue: Reported
    repository: Reported


async def merge_repository(ctx: Context, repository: Reported) -> Node:
    """Merge a repository with its owner, take its name from whoever has it, and return its node."""
    return await _merge_repositories(ctx, [repository])


async def merge_issue(
    ctx: Context, issue: Reported, repository: Reported, comments: Sequence[Fields] = ()
) -> Node:
    """Merge an issue with its repository, its author and its comments, and return its node.

    The issue must not be a pull request.
    """
    await _merge_repositories(ctx, [repository], [issue])
    node = await _merge_into(ctx, _ISSUE, issue, repository)
    if comments:
        found = [{"id": one["id"], "createdAt": one["created_at"]} for one in comments]
        await ctx.run(_COMMENTS, id=issue.fields["id"], comments=found)
    return node


async def merge_pull_request(
    ctx: Context, pull: Reported, repository: Reported, resolves: Sequence[Resolved] = ()
) -> Node:
    """Merge a pull request with its repository, its author and the issues it resolves.

    Returns its node. The issues may be of other repositories.
    """
    homes = [repository, *(each.repository for each in resolves)]
    await _merge_repositories(ctx, homes, [pull, *(each.issue for each in resolves)])
    for each in resolves:
        await _merge_into(ctx, _ISSUE, each.issue, each.repository)
    node = await _merge_into(ctx, _PULL_REQUEST, pull, repository)
    if resolves:
        issues = [each.issue.fields["id"] for each in resolves]
        await ctx.run(_RESOLVES, id=pull.fields["id"], issues=issues)
    return node


async def _merge_repositories(
    ctx: Context, repositories: Sequence[Reported], others: Sequence[Reported] = ()
) -> Node:
    """Merge repositories and all users, which locks them, and then owners; return the first one."""
    first = repositories[0].fields["id"]
    # The first word on each: of the repository that the call is about.
    distinct = {each.fields["id"]: each for each in reversed(repositories)}
    records = {id_: await _name(ctx, distinct[id_]) for id_ in sorted(distinct, key=int)}
    # Who owned one by an older name is not who owns it now.
    owned = [each for id_, each in distinct.items() if each.user and records[id_]["isNewest"]]
    users = _users([*others, *owned])
    changed = {record["id"] for record in await ctx.run(_CHANGED_USERS, users=users)}
    if changed:
        await ctx.run(_USERS, users=[user for user in users if user["id"] in changed])
    for each in owned:
        await ctx.run(_OWNER, id=each.fields["id"], ownerId=each.user and each.user.id)
    return _node(records[first])


async def _name(ctx: Context, repository: Reported) -> Mapping[str, Any]:
    """Merge one repository; its node, and whether it has the name that was told."""
    fields = repository.fields
    found = await ctx.run(
        _REPOSITORY,
        id=fields["id"],
        owner=fields["owner"],
        name=fields["name"],
        fullNameKey=f"{fields['owner']}/{fields['name']}".lower(),
        createdAt=fields["created_at"],
        at=fields["updated_at"],
    )
    return found.single()


def _users(things: Iterable[Reported]) -> list[dict[str, Any]]:
    """Give each user once, by the login of the latest word, in the order of the locks."""
    users = {
        thing.user.id: {"id": thing.user.id, "login": thing.user.login, "at": thing.at}
        for thing in sorted(things, key=lambda thing: thing.at or _LONG_AGO)
        if thing.user is not None
    }
    return [users[id_] for id_ in sorted(users, key=int)]


async def _merge_into(
    ctx: Context, statement: LiteralString, thing: Reported, repository: Reported
) -> Node:
    found = await ctx.run(
        statement,
        id=thing.fields["id"],
        repositoryId=repository.fields["id"],
        number=thing.fields["number"],
        createdAt=thing.fields["created_at"],
        authorId=thing.user and thing.user.id,
    )
    return _node(found.single())


def _node(record: Mapping[str, Any]) -> Node:
    node: Node = record["node"]
    return node
