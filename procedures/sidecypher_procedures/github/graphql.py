"""Queries of GitHub's GraphQL API: many entities, and the issues that a pull request closes."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx
import msgspec

from sidecypher_procedures.github import errors, responses
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.entities import nested
from sidecypher_procedures.github.graphql_documents import (
    AS_REST,
    AUTHOR,
    OWNER,
    Document,
    document,
    reference,
)
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.responses import Reply

_OVERLOADED: Final = frozenset({httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT})
_FORBIDDEN: Final = frozenset({"FORBIDDEN", "INSUFFICIENT_SCOPES"})


class Overloaded(Exception):
    """A query was too large; GitHub may answer a smaller one.

    Attributes:
        failure: Function that returns the error of a target.
    """

    def __init__(self, failure: Callable[[Target], errors.GithubError]) -> None:
        super().__init__()
        self.failure = failure


class Error(msgspec.Struct):
    """One of the errors in an answer. Its message is not read, since it may quote the query."""

    type: str | None = None
    path: list[str | int] = []
    extensions: dict[str, Any] = {}


class Answer(msgspec.Struct):
    """The data of an answer, and the errors of parts of it."""

    data: dict[str, Any] | None = None
    errors: list[Error] = []


async def query(
    connection: Connection, document: str, variables: dict[str, Any], now: datetime
) -> Reply:
    """Send a document; return the reply unless it is a rate limit or an overload.

    Raises:
        GithubError: There is no connection to GitHub, it failed, its answer is a rate limit, or it
            has no GraphQL API.
        Overloaded: GitHub did not answer in time, or with 502 or 504.
    """
    try:
        reply = await connection.query(document, variables)
    except errors.TimedOut as error:
        raise Overloaded(_timed_out) from error
    limit = responses.graphql_limit(reply, now)
    if limit is not None:
        raise limit
    if reply.status == httpx.codes.NOT_FOUND:
        raise errors.GraphqlRefused(
            "GitHub has no GraphQL API there", details={"status": reply.status}
        )
    if reply.status in _OVERLOADED:
        raise Overloaded(lambda target: responses.failure(reply, target, now))
    if httpx.codes.is_server_error(reply.status):
        # Raised, instead of an error for each target, so that all targets are retried.
        raise responses.failure(reply, "GraphQL query", now)
    return reply


def read_answer(reply: Reply) -> Answer:
    """Parse a reply with the status 200.

    Raises:
        GithubError: It cannot be read, or refuses the whole document.
        Overloaded: It has neither data nor a reason, as when a query takes too long.
    """
    try:
        answer = msgspec.json.decode(reply.content, type=Answer)
    except (msgspec.DecodeError, ValueError, RecursionError):
        # `from None`: the original quotes the body.
        raise errors.UnusableAnswer(
            "GitHub's answer to a GraphQL query has another shape"
        ) from None
    if answer.data is None:
        if any(error.type or error.extensions for error in answer.errors):
            raise errors.GraphqlRefused("GitHub refused a GraphQL query as a whole")
        # If a query takes too long, the error has no type.
        raise Overloaded(_timed_out)
    return answer


def failure(target: Target, error: Error) -> errors.GithubError:
    """Return the error of a target from an error in an answer."""
    what = f"{target.kind.value} `{target}`"
    if error.type == "NOT_FOUND":
        return responses.absence(errors.NotFound, target)
    if is_forbidden(error):
        return errors.PermissionDenied(f"GitHub does not let this token read the {what}")
    return errors.ServerFailed(f"GitHub failed inside a GraphQL query for the {what}")


def is_forbidden(error: Error) -> bool:
    """Return whether data exists that the token cannot see."""
    return error.type in _FORBIDDEN


def _timed_out(target: Target) -> errors.TimedOut:
    return errors.TimedOut(f"GitHub did not answer in time for `{target}`")


Thing = dict[str, Any] | errors.GithubError | None
"""An entity in the shape of the REST API, or its error; None if only the REST API has it."""

# Bisecting a hundred targets down to one that GitHub cannot answer takes fifteen calls.
_MAX_CALLS: Final = 16


@dataclass(frozen=True, slots=True)
class Found:
    """The result for one target, and the credential that received it."""

    thing: Thing
    credential_key: str


async def fetch_all(
    connection: Connection, targets: Sequence[Target], now: datetime
) -> AsyncIterator[dict[Target, Found]]:
    """Fetch targets of one kind with one call; a call that overloads GitHub is split in half.

    At most sixteen calls are made. The results of each are yielded at once, so that the caller
    keeps them if a later call fails.

    Raises:
        GithubError: There is no connection, or the answer cannot be read or is a rate limit.
    """
    waiting = deque([tuple(targets)])
    calls = 0
    while waiting:
        asked = waiting.popleft()
        calls += 1
        try:
            yield await _ask(connection, asked, now)
        except Overloaded as overloaded:
            middle = len(asked) // 2
            if middle and calls + len(waiting) + 2 <= _MAX_CALLS:
                waiting += (asked[:middle], asked[middle:])
            else:
                asker = connection.credential_key
                yield {target: Found(overloaded.failure(target), asker) for target in asked}


async def _ask(
    connection: Connection, targets: tuple[Target, ...], now: datetime
) -> dict[Target, Found]:
    made = document(targets)
    reply = await query(connection, made.text, made.variables, now)
    things: Mapping[Target, Thing]
    if reply.status != httpx.codes.OK:
        things = {target: responses.failure(reply, target, now) for target in targets}
    else:
        things = dict(_rows(made, read_answer(reply)))
    return {target: Found(thing, reply.credential_key) for target, thing in things.items()}


def _rows(made: Document, answer: Answer) -> Iterator[tuple[Target, Thing]]:
    data = answer.data or {}
    depth = max(map(len, made.places.values()))
    failed: dict[tuple[str | int, ...], Error] = {}
    for error in answer.errors:
        failed.setdefault(tuple(error.path[:depth]), error)
    for target, place in made.places.items():
        # An error inside an entity applies to it, and one of a repository to all entities in it.
        found = failed.get(place) or failed.get(place[:1])
        yield target, failure(target, found) if found else _thing(target, nested(data, *place))


def _thing(target: Target, node: Any) -> Thing:
    if node is None:
        return responses.absence(errors.NotFound, target)
    try:
        if target.kind is Kind.ISSUE and node["__typename"] != "Issue":
            return None
        return AS_REST[target.kind](node)
    except (AttributeError, KeyError, TypeError, ValueError):
        return errors.UnusableAnswer(
            f"GitHub's GraphQL answer for the {target.kind.value} `{target}` has another shape"
        )


_PULL_REQUEST: Final = ("repository", "pullRequest")
_REFERENCES: Final = (*_PULL_REQUEST, "closingIssuesReferences")
_NODES: Final = (*_REFERENCES, "nodes")

# The first hundred: GitHub allows ten links by hand, but a text may name any number of issues.
CLOSING_REFERENCES: Final = f"""query($owner: String!, $name: String!, $number: Int!) {{
    repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{
        closingIssuesReferences(first: 100) {{ nodes {{
            fullDatabaseId number createdAt
            author {AUTHOR}
            repository {{ databaseId name nameWithOwner createdAt updatedAt owner {OWNER} }}
        }} }}
    }} }}
}}
"""

Json = dict[str, Any]


async def closing_references(
    connection: Connection, pull: Target, now: datetime
) -> list[tuple[Json, Json]]:
    """Fetch the issues that a pull request closes and their repositories, in the shape of REST.

    Issues that the token cannot see are left out.

    Raises:
        GithubError: There is no connection to GitHub, no such pull request, or no usable answer.
    """
    variables = {"owner": pull.owner, "name": pull.repo, "number": pull.number}
    try:
        reply = await query(connection, CLOSING_REFERENCES, variables, now)
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, pull, now)
        return _references(read_answer(reply), pull)
    except Overloaded as overloaded:
        raise overloaded.failure(pull) from overloaded


def _references(answer: Answer, pull: Target) -> list[tuple[Json, Json]]:
    unseen = set()
    for error in answer.errors:
        if len(error.path) > len(_NODES):
            unseen.add(error.path[len(_NODES)])
        elif len(error.path) < len(_REFERENCES) or not is_forbidden(error):
            raise failure(pull, error)
    if nested(answer.data, *_PULL_REQUEST) is None:
        raise responses.absence(errors.NotFound, pull)
    nodes = enumerate(nested(answer.data, *_NODES) or [])
    try:
        return [
            reference(node) for index, node in nodes if node is not None and index not in unseen
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise errors.UnusableAnswer(
            f"GitHub's GraphQL answer for the {pull.kind.value} `{pull}` has another shape"
        ) from None
