"""Nodes of what a delivery is about: what never changes of it, and the name of its repository."""

from datetime import UTC, datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.github.entities import (
    ShapeError,
    read_issue,
    read_pull_request,
    read_repository,
)
from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.identities import User, read_identity
from sidecypher_procedures.github.merging import (
    merge_issue,
    merge_pull_request,
    merge_repository,
)
from sidecypher_procedures.github.webhooks.payload import Payload, name_of, part

Fields = dict[str, Any]

# What these are about is not there any more, or is another one elsewhere.
_GONE: Final = frozenset({"repository.deleted", "issues.deleted", "issues.transferred"})

# Deliveries may come in another order than things happened, and the name of a repository changes.
_NEWEST_NAME: Final = """
    MERGE (r:Repository {id: $id})
    SET r.id = $id // takes the lock, so that nobody else compares until this is committed
    WITH r, coalesce(r.eventAt <= $at, true) AS isNewest
    SET r.eventAt = CASE WHEN isNewest THEN coalesce($at, r.eventAt) ELSE r.eventAt END
    RETURN isNewest, r.owner AS owner, r.name AS name
"""


async def merge_nodes(ctx: Context, event: str, payload: Payload) -> None:
    """Write the nodes of a delivery's repository, issue and pull request, if it has them.

    Raises:
        InvalidWebhook: One of them has a shape that GitHub never gives it.
    """
    found = {name: part(payload, name) for name in ("repository", "issue", "pull_request")}
    if found["repository"] is None or name_of(event, payload) in _GONE:
        return
    try:
        repository = read_repository(_with_times(found["repository"]))
        issue = found["issue"] and read_issue(found["issue"])
        pull = found["pull_request"] and read_pull_request(found["pull_request"])
    except ShapeError as error:
        raise InvalidWebhook(f"The payload of the webhook cannot be read: {error}") from None
    if repository["owner"] is None or repository["name"] is None:
        raise InvalidWebhook("The repository of the webhook's payload has no name")
    owner = _user(found["repository"])
    newest = await _by_newest_name(ctx, repository)
    if newest != repository:
        # Who owned it then is not who owns it now.
        owner = None
    # GitHub gives a pull request as an issue too, of an id that is not the pull request's.
    if issue and not issue["is_pull_request"]:
        await merge_issue(ctx, issue, newest, author=_user(found["issue"]), owner=owner)
    elif pull:
        author = _user(found["pull_request"])
        await merge_pull_request(ctx, pull, newest, author=author, owner=owner)
    else:
        await merge_repository(ctx, newest, owner)


async def _by_newest_name(ctx: Context, repository: Fields) -> Fields:
    """Return the repository by the name that the newest delivery had for it."""
    [known] = await ctx.run(_NEWEST_NAME, id=repository["id"], at=repository["updated_at"])
    if known["isNewest"] or known["name"] is None:
        return repository
    owner, name = known["owner"], known["name"]
    return repository | {"owner": owner, "name": name, "full_name": f"{owner}/{name}"}


def _user(thing: Any) -> User | None:
    identity = read_identity(thing)
    return identity.user if identity is not None else None


def _with_times(repository: Any) -> Any:
    """Write as text what a push, unlike all others, has as seconds."""
    if not isinstance(repository, dict):
        raise ShapeError("repository")
    seconds = {
        name: datetime.fromtimestamp(repository[name], UTC).isoformat()
        for name in ("created_at", "pushed_at")
        if type(repository.get(name)) is int
    }
    return repository | seconds
