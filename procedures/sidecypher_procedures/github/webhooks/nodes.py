"""Nodes of what a delivery is about: what never changes of it, and the name of its repository."""

from collections.abc import Iterator
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
    Told,
    merge_issue,
    merge_pull_request,
    merge_repository,
)
from sidecypher_procedures.github.webhooks.payload import Payload, name_of, part

Fields = dict[str, Any]

# What these are about is not there any more, or is another one elsewhere.
_GONE: Final = frozenset({"repository.deleted", "issues.deleted", "issues.transferred"})


async def merge_nodes(ctx: Context, event: str, payload: Payload) -> dict[str, str]:
    """Write the nodes of a delivery's repository, issue and pull request, if it has them.

    Returns:
        The ids of its `repository` and `issue`, those that have a node: what a run that it begins
        is based on.

    Raises:
        InvalidWebhook: One of them has a shape that GitHub never gives it.
    """
    found = {name: part(payload, name) for name in ("repository", "issue", "pull_request")}
    if found["repository"] is None or name_of(event, payload) in _GONE:
        return {}
    try:
        repository = read_repository(_with_times(found["repository"]))
        issue = found["issue"] and read_issue(found["issue"])
        pull = found["pull_request"] and read_pull_request(found["pull_request"])
    except ShapeError as error:
        raise InvalidWebhook(f"The payload of the webhook cannot be read: {error}") from None
    if repository["owner"] is None or repository["name"] is None:
        raise InvalidWebhook("The repository of the webhook's payload has no name")
    # What an event says of people is as of the latest thing that has happened by then.
    at = max((time for time in _times(repository, issue, pull) if time is not None), default=None)
    home = Told(repository, _user(found["repository"]), at)
    # GitHub gives a pull request as an issue too, of an id that is not the pull request's.
    if issue and not issue["is_pull_request"]:
        await merge_issue(ctx, Told(issue, _user(found["issue"]), at), home)
        return {"repository": repository["id"], "issue": issue["id"]}
    if pull:
        await merge_pull_request(ctx, Told(pull, _user(found["pull_request"]), at), home)
    else:
        await merge_repository(ctx, home)
    return {"repository": repository["id"]}


def _times(*things: Fields | None) -> Iterator[datetime | None]:
    for thing in things:
        if thing:
            yield thing["updated_at"]
            yield thing.get("pushed_at")


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
