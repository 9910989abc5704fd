"""What never changes of GitHub's things, written into the graph in the caller's transaction.

Nodes are merged by id, and locks are taken in one order: the repository, users by their ids, then
issues and pull requests. Whoever merges something of a repository so has it to himself until his
transaction ends, and two who do wait for each other, but never in a circle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from sidecypher import Context, Node
from sidecypher_procedures.github.identities import User

Fields = Mapping[str, Any]

# `SET` locks also where nothing changes. Users of other namespaces have ids that are no numbers;
# theirs is not GitHub's login.
_USERS: Final = """
    UNWIND $users AS user
    MERGE (u:User {id: user.id})
    SET u.login = user.login
    WITH u
    CALL (u) {
        MATCH (old:User {login: u.login})
        WHERE old <> u AND old.id =~ '[0-9]+'
        REMOVE old.login
    }
"""
_REPOSITORY: Final = """
    MERGE (r:Repository {id: $id})
    SET r.owner = $owner, r.name = $name, r.fullNameKey = $fullNameKey, r.createdAt = $createdAt
    WITH r
    CALL (r) {
        CALL (r) {
            MATCH (old:Repository {fullNameKey: r.fullNameKey}) RETURN old
            UNION
            MATCH (old:Repository {owner: r.owner, name: r.name}) RETURN old
        }
        WITH r, old
        WHERE old <> r
        REMOVE old.owner, old.name, old.fullNameKey
    }
    RETURN r AS node
"""
_OWNER: Final = """
    MATCH (r:Repository {id: $id}), (u:User {id: $ownerId})
    MERGE (r)-[:OWNED_BY]->(u)
    WITH r, u
    MATCH (r)-[former:OWNED_BY]->(other)
    WHERE other <> u
    DELETE former
"""
_ISSUE: Final = """
    MATCH (r:Repository {id: $repositoryId})
    MERGE (i:Issue {id: $id})
    SET i.repositoryId = $repositoryId, i.number = $number, i.createdAt = $createdAt
    MERGE (i)-[:BELONGS_TO]->(r)
    MERGE (r)-[:HAS_ISSUES]->(i)
    WITH i
    CALL (i) {
        MATCH (u:User {id: $authorId})
        MERGE (i)-[:CREATED_BY]->(u)
    }
    RETURN i AS node
"""
_PULL_REQUEST: Final = """
    MATCH (r:Repository {id: $repositoryId})
    MERGE (p:PullRequest {id: $id})
    SET p.repositoryId = $repositoryId, p.number = $number, p.createdAt = $createdAt
    MERGE (p)-[:BELONGS_TO]->(r)
    MERGE (r)-[:HAS_PRS]->(p)
    WITH p
    CALL (p) {
        MATCH (u:User {id: $authorId})
        MERGE (p)-[:CREATED_BY]->(u)
    }
    RETURN p AS node
"""
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
class Authored:
    """An issue or a pull request with who made it.

    Attributes:
        fields: Its columns.
        author: Who made it; None for a deleted user.
    """

    fields: Fields
    author: User | None


async def merge_repository(ctx: Context, fields: Fields, owner: User | None = None) -> Node:
    """Merge a repository with its owner, and take its name from whoever has it.

    Args:
        ctx: The call; its procedure must be one that may write.
        fields: The columns of the repository.
        owner: Who owns it; None leaves that out.

    Returns:
        The repository's node.
    """
    return await _merge_repository(ctx, fields, owner, [])


async def merge_issue(
    ctx: Context,
    fields: Fields,
    repository_fields: Fields,
    *,
    author: User | None = None,
    owner: User | None = None,
    comments: Sequence[Fields] = (),
) -> Node:
    """Merge an issue with its repository, its author and its comments.

    Args:
        ctx: The call; its procedure must be one that may write.
        fields: The columns of the issue, which must be no pull request.
        repository_fields: The columns of its repository.
        author: Who made it; None for a deleted user.
        owner: Who owns the repository; None leaves that out.
        comments: The columns of its comments.

    Returns:
        The issue's node.
    """
    await _merge_repository(ctx, repository_fields, owner, [author])
    node = await _merge_into(ctx, _ISSUE, Authored(fields, author), repository_fields)
    if comments:
        found = [{"id": one["id"], "createdAt": one["created_at"]} for one in comments]
        await ctx.run(_COMMENTS, id=fields["id"], comments=found)
    return node


async def merge_pull_request(
    ctx: Context,
    fields: Fields,
    repository_fields: Fields,
    *,
    author: User | None = None,
    owner: User | None = None,
    resolves: Sequence[Authored] = (),
) -> Node:
    """Merge a pull request with its repository, its author and the issues it resolves.

    Args:
        ctx: The call; its procedure must be one that may write.
        fields: The columns of the pull request.
        repository_fields: The columns of its repository.
        author: Who made it; None for a deleted user.
        owner: Who owns the repository; None leaves that out.
        resolves: Issues of the same repository.

    Returns:
        The pull request's node.
    """
    authors = [author, *(issue.author for issue in resolves)]
    await _merge_repository(ctx, repository_fields, owner, authors)
    for issue in resolves:
        await _merge_into(ctx, _ISSUE, issue, repository_fields)
    node = await _merge_into(ctx, _PULL_REQUEST, Authored(fields, author), repository_fields)
    if resolves:
        issues = [issue.fields["id"] for issue in resolves]
        await ctx.run(_RESOLVES, id=fields["id"], issues=issues)
    return node


async def _merge_repository(
    ctx: Context, fields: Fields, owner: User | None, others: Sequence[User | None]
) -> Node:
    """Merge the repository and all users, which locks them, and then its owner."""
    found = await ctx.run(
        _REPOSITORY,
        id=fields["id"],
        owner=fields["owner"],
        name=fields["name"],
        fullNameKey=f"{fields['owner']}/{fields['name']}".lower(),
        createdAt=fields["created_at"],
    )
    users = {user.id: user.login for user in (owner, *others) if user is not None}
    if users:
        ordered = [{"id": id_, "login": users[id_]} for id_ in sorted(users, key=int)]
        await ctx.run(_USERS, users=ordered)
    if owner is not None:
        await ctx.run(_OWNER, id=fields["id"], ownerId=owner.id)
    return _node(found.single())


async def _merge_into(
    ctx: Context, statement: LiteralString, thing: Authored, repository_fields: Fields
) -> Node:
    found = await ctx.run(
        statement,
        id=thing.fields["id"],
        repositoryId=repository_fields["id"],
        number=thing.fields["number"],
        createdAt=thing.fields["created_at"],
        authorId=thing.author and thing.author.id,
    )
    return _node(found.single())


def _node(record: Mapping[str, Any]) -> Node:
    node: Node = record["node"]
    return node
