"""What a GraphQL answer says beside its data: a limit, a refusal, errors inside of it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import httpx
import msgspec

from sidecypher_procedures.github import outcomes
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.errors import (
    GithubError,
    GraphqlRefused,
    NotFound,
    PermissionDenied,
    ServerFailed,
    TimedOut,
    UnusableAnswer,
)
from sidecypher_procedures.github.names import Target
from sidecypher_procedures.github.replies import Reply

_OVERLOADED: Final = frozenset({httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT})
_FORBIDDEN: Final = frozenset({"FORBIDDEN", "INSUFFICIENT_SCOPES"})


class Overloaded(Exception):
    """GitHub may answer when it is asked for less.

    Attributes:
        failure: Gives what it means for a thing if it does not.
    """

    def __init__(self, failure: Callable[[Target], GithubError]) -> None:
        super().__init__()
        self.failure = failure


class Error(msgspec.Struct):
    """One of the errors inside an answer; its message may quote what was asked."""

    type: str | None = None
    path: list[str | int] = []
    extensions: dict[str, Any] = {}


class Answer(msgspec.Struct):
    """What GitHub gives, and what went wrong with parts of it."""

    data: dict[str, Any] | None = None
    errors: list[Error] = []


async def query(
    connection: Connection, document: str, variables: dict[str, Any], now: datetime
) -> Reply:
    """Send a document, and give the reply unless it is a limit or too much for GitHub.

    Raises:
        GithubError: There is no connection to GitHub, it failed, its answer is a limit, or it has
            no such API.
        Overloaded: GitHub could not answer.
    """
    try:
        reply = await connection.query(document, variables)
    except TimedOut as error:
        raise Overloaded(_timed_out) from error
    limit = outcomes.graphql_limit(reply, now)
    if limit is not None:
        raise limit
    if reply.status == httpx.codes.NOT_FOUND:
        raise GraphqlRefused("GitHub has no GraphQL API there", details={"status": reply.status})
    if reply.status in _OVERLOADED:
        raise Overloaded(lambda target: outcomes.failure(reply, target, now))
    if httpx.codes.is_server_error(reply.status):
        # Raised, not told of each thing: it is tried again for all of them.
        raise outcomes.failure(reply, "GraphQL query", now)
    return reply


def read_answer(reply: Reply) -> Answer:
    """Read a reply of status 200.

    Raises:
        GithubError: It cannot be read, or refuses the whole document.
        Overloaded: GitHub could not answer.
    """
    try:
        answer = msgspec.json.decode(reply.content, type=Answer)
    except (msgspec.DecodeError, ValueError, RecursionError):
        # `from None`: the original quotes the body.
        raise UnusableAnswer("GitHub's answer to a GraphQL query has another shape") from None
    if answer.data is None:
        if any(error.type or error.extensions for error in answer.errors):
            raise GraphqlRefused("GitHub refused a GraphQL query as a whole")
        # GitHub says no more than that something went wrong when a query takes too long.
        raise Overloaded(_timed_out)
    return answer


def failure(target: Target, error: Error) -> GithubError:
    """Return what an error inside an answer means for the thing that it is about."""
    what = f"{target.kind.value} `{target}`"
    if error.type == "NOT_FOUND":
        return outcomes.absence(NotFound, target)
    if is_forbidden(error):
        return PermissionDenied(f"GitHub does not let this token read the {what}")
    return ServerFailed(f"GitHub failed inside a GraphQL query for the {what}")


def is_forbidden(error: Error) -> bool:
    """Tell whether what is missing is there, but not for who asks."""
    return error.type in _FORBIDDEN


def at(data: Any, *place: str) -> Any:
    """Return what the keys lead to, or None."""
    for key in place:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _timed_out(target: Target) -> TimedOut:
    return TimedOut(f"GitHub did not answer in time for `{target}`")
