"""Statements that merge GitHub's immutable data into the graph, in the caller's transaction.

Nodes are merged by id, and locked in a fixed order: repositories by id, users by id, then issues
and pull requests. So a merge in a repository locks it until the transaction ends, and concurrent
merges wait without a deadlock. Repositories share users, so only users that are new or have a new
login are locked.

Names and logins do change, and may arrive in any order, from the cache or a late webhook. `eventAt`
of a node is the time of its data. Older data does not replace it, and does not take a name from a
node that has had it since later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from sidecypher import Context, Node
from sidecypher_procedures.github.entities import User

Fields = Mapping[str, Any]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

# Read without a lock, so that merges in repositories with common users do not wait.
_CHANGED_USERS: Final = """
    UNWIND $users AS user
    OPTIONAL MATCH (u:User {id: user.id})
    WITH user, u
    WHERE u IS NULL OR u.login IS NULL
        OR (u.login <> user.login AND (u.eventAt IS NULL OR u.eventAt <= user.at))
    RETURN user.id AS id
"""
# `SET` locks even if nothing changes, so no other call compares before the commit. Users of other
# namespaces have ids that are not numbers, and their logins are not GitHub's.
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
# `CREATE` instead of `MERGE`, which would lock the user; the repository is locked already.
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
    UNWIND $things AS thing
    MATCH (r:Repository {{id: thing.repositoryId}})
    MERGE (i:{label} {{id: thing.id}})
    SET i.repositoryId = thing.repositoryId, i.number = thing.number, i.createdAt = thing.createdAt
    MERGE (i)-[:BELONGS_TO]->(r)
    MERGE (r)-[:{belonging}]->(i)
    WITH i, thing
    CALL (i, thing) {{
        MATCH (u:User {{id: thing.authorId}}) WHERE NOT EXISTS {{ (i)-[:CREATED_BY]->(u) }}
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
    UNWIND $resolved AS pair
    MATCH (p:PullRequest {id: pair.pullId})
    MATCH (i:Issue {id: pair.issueId})
    MERGE (p)-[:RESOLVES]->(i)
"""


@dataclass(frozen=True, slots=True)
class Reported:
    """Data from GitHub about a repository, an issue or a pull request.

    Attributes:
        fields: Its columns.
        user: The owner of the repository or author of the issue; None for a deleted user.
        at: The time of the data, at which the user had that login; None if unknown.
    """

    fields: Fields
    user: User | None
    at: datetime | None


# The columns of repositories, issues and pull requests that the statements above write.
_WRITTEN: Final = frozenset({"id", "number", "owner", "name", "created_at", "updated_at"})


def written(thing: Reported) -> Reported:
    """Return only what is written of the data, so that much of it can wait for its statement."""
    fields = {name: value for name, value in thing.fields.items() if name in _WRITTEN}
    return Reported(fields, thing.user, thing.at)


@dataclass(frozen=True, slots=True)
class Placed:
    """An issue or a pull request, its repository, and the issues that a pull request resolves.

    The issues may be of other repositories, and resolve nothing themselves.
    """

    thing: Reported
    repository: Reported
    resolves: "Sequence[Placed]" = ()


async def merge_repository(ctx: Context, repository: Reported) -> Node:
    """Merge a repository with its owner, remove its name from other nodes, and return its node."""
    return await _merge_repositories(ctx, [repository])


async def merge_issues(ctx: Context, issues: Sequence[Placed]) -> list[Node]:
    """Merge issues with their repositories and their authors, and return their nodes.

    None of them is a pull request.
    """
    return await _merge_all(ctx, _ISSUE, issues)


async def merge_comments(ctx: Context, issue: Reported, comments: Sequence[Fields]) -> None:
    """Merge the comments of an issue that is there."""
    found = [{"id": one["id"], "createdAt": one["created_at"]} for one in comments]
    await ctx.run(_COMMENTS, id=issue.fields["id"], comments=found)


async def merge_pull_requests(ctx: Context, pulls: Sequence[Placed]) -> list[Node]:
    """Merge pull requests with their repositories, their authors and the issues they resolve.

    Returns their nodes.
    """
    nodes = await _merge_all(ctx, _PULL_REQUEST, pulls)
    resolved = [
        {"pullId": pull.thing.fields["id"], "issueId": issue.thing.fields["id"]}
        for pull in pulls
        for issue in pull.resolves
    ]
    if resolved:
        await ctx.run(_RESOLVES, resolved=resolved)
    return nodes


async def _merge_all(
    ctx: Context, statement: LiteralString, things: Sequence[Placed]
) -> list[Node]:
    if not things:
        return []
    issues = {each.thing.fields["id"]: each for thing in things for each in thing.resolves}
    placed = [*things, *issues.values()]
    homes = [each.repository for each in placed]
    await _merge_repositories(ctx, homes, [each.thing for each in placed])
    if issues:
        await _merge_into(ctx, _ISSUE, issues.values())
    return await _merge_into(ctx, statement, things)


async def _merge_repositories(
    ctx: Context, repositories: Sequence[Reported], others: Sequence[Reported] = ()
) -> Node:
    """Merge repositories and users, which locks them, then owners; return the first one's node."""
    first = repositories[0].fields["id"]
    # The first entry of each id is used, such as that of the call's own repository.
    distinct = {each.fields["id"]: each for each in reversed(repositories)}
    records = {id_: await _merge_one(ctx, distinct[id_]) for id_ in sorted(distinct, key=int)}
    # The owner in outdated data may not be the current one.
    owned = [each for id_, each in distinct.items() if each.user and records[id_]["isNewest"]]
    users = _users([*others, *owned])
    changed = {record["id"] for record in await ctx.run(_CHANGED_USERS, users=users)}
    if changed:
        await ctx.run(_USERS, users=[user for user in users if user["id"] in changed])
    for each in owned:
        await ctx.run(_OWNER, id=each.fields["id"], ownerId=each.user and each.user.id)
    return _node(records[first])


async def _merge_one(ctx: Context, repository: Reported) -> Mapping[str, Any]:
    """Merge one repository; return its node and whether the data is its newest."""
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
    """Return each user once, with the login from the latest data, in the order of the locks."""
    users = {
        thing.user.id: {"id": thing.user.id, "login": thing.user.login, "at": thing.at}
        for thing in sorted(things, key=lambda thing: thing.at or _LONG_AGO)
        if thing.user is not None
    }
    return [users[id_] for id_ in sorted(users, key=int)]


async def _merge_into(
    ctx: Context, statement: LiteralString, things: Iterable[Placed]
) -> list[Node]:
    found = await ctx.run(
        statement,
        things=[
            {
                "id": each.thing.fields["id"],
                "repositoryId": each.repository.fields["id"],
                "number": each.thing.fields["number"],
                "createdAt": each.thing.fields["created_at"],
                "authorId": each.thing.user and each.thing.user.id,
            }
            for each in things
        ],
    )
    return [_node(record) for record in found]


def _node(record: Mapping[str, Any]) -> Node:
    node: Node = record["node"]
    return node
