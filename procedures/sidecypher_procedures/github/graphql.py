"""Queries of GitHub's GraphQL API: many entities, and the issues that a pull request closes."""

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
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
from sidecypher_procedures.github.model import Kind, Resource, Target
from sidecypher_procedures.github.responses import Reply

_OVERLOADED: Final = frozenset({httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT})
_FORBIDDEN: Final = frozenset({"FORBIDDEN", "INSUFFICIENT_SCOPES"})
_REASON: Final = re.compile(r"[A-Za-z_]{1,40}")
"""A reason of GitHub, such as `MAX_NODE_LIMIT_EXCEEDED` or `undefinedField`; no message."""

END_CURSOR: Final = "endCursor"
"""The variable of a query that gets the end of the page before, as in GitHub's own command line."""


class GraphqlRequest(Resource, frozen=True, gc=False):
    """A query that a caller wrote; its path is only its key in caches.

    Attributes:
        document: The GraphQL document.
        variables: Its variables in JSON.
        operation: The name of the operation to run; None if it has none.

    Example:
        >>> GraphqlRequest.of("query me {viewer {login}}", b"{}", "me").what
        'GraphQL query `me`'
    """

    document: str = ""
    variables: bytes = b"{}"
    operation: str | None = None

    @classmethod
    def of(cls, document: str, variables: bytes, operation: str | None) -> "GraphqlRequest":
        """Return the request for an operation of a document."""
        text = msgspec.json.encode([document, operation])
        digest = blake2b(text + variables, digest_size=16).hexdigest()
        name = operation or "unnamed"
        # No path of the REST API begins without a slash.
        path = f"graphql:{digest}"
        return cls("GraphQL query", name, "", path, document, variables, operation)

    def at(self, path: str) -> "GraphqlRequest":
        """Return the query for the page after an end cursor."""
        variables = {**msgspec.json.decode(self.variables), END_CURSOR: path}
        return self.of(self.document, msgspec.json.encode(variables), self.operation)


class Overloaded(Exception):
    """A query was too large; GitHub may answer a smaller one.

    Attributes:
        failure: Function that returns the error of a target.
    """

    def __init__(self, failure: Callable[[Target | Resource], errors.GithubError]) -> None:
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


_decode: Final = msgspec.json.Decoder(Answer).decode


async def query(
    connection: Connection,
    document: str,
    variables: Mapping[str, Any],
    now: datetime,
    operation: str | None = None,
) -> Reply:
    """Send a document; return the reply unless it is a rate limit or an overload.

    Raises:
        GithubError: There is no connection to GitHub, it failed, its answer is a rate limit, or it
            has no GraphQL API.
        Overloaded: GitHub did not answer in time, or with 502 or 504.
    """
    try:
        reply = await connection.query(document, variables, operation)
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
        answer = _decode(reply.content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        # `from None`: the original quotes the body.
        raise errors.UnusableAnswer(
            "GitHub's answer to a GraphQL query has another shape"
        ) from None
    if answer.data is None:
        if any(map(is_forbidden, answer.errors)):
            raise errors.PermissionDenied("GitHub does not let this token run the GraphQL query")
        if any(error.type or error.extensions for error in answer.errors):
            raise errors.GraphqlRefused(
                f"GitHub refused a GraphQL query as a whole{_reason(answer.errors)}"
            )
        # If a query takes too long, the error has no type.
        raise Overloaded(_timed_out)
    return answer


def _reason(found: Sequence[Error]) -> str:
    reasons = (str(error.type or error.extensions.get("code")) for error in found)
    return next((f": `{each}`" for each in reasons if _REASON.fullmatch(each)), "")


def failure(target: Target | Resource, error: Error) -> errors.GithubError:
    """Return the error of a target from an error in an answer."""
    if error.type == "NOT_FOUND":
        return responses.absence(errors.NotFound, target)
    if is_forbidden(error):
        return errors.PermissionDenied(f"GitHub does not let this token read the {target.what}")
    if error.type is not None:
        return errors.Rejected(f"GitHub rejects a part of the query for the {target.what}")
    return errors.ServerFailed(f"GitHub failed inside a GraphQL query for the {target.what}")


def is_forbidden(error: Error) -> bool:
    """Return whether data exists that the token cannot see."""
    return error.type in _FORBIDDEN


def _timed_out(target: Target | Resource) -> errors.TimedOut:
    return errors.TimedOut(f"GitHub did not answer in time for `{target}`")


async def answer(
    connection: Connection, asked: GraphqlRequest, now: datetime
) -> tuple[dict[str, Any], str | None, str]:
    """Return the data for a query, the end cursor if it has a next page, and the credential's key.

    Raises:
        GithubError: There is no connection to GitHub, or no whole answer.
    """
    variables = msgspec.json.decode(asked.variables)
    try:
        reply = await query(connection, asked.document, variables, now, asked.operation)
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, asked, now)
        found = read_answer(reply)
    except Overloaded as overloaded:
        raise overloaded.failure(asked) from overloaded
    except errors.GraphqlRefused as error:
        error.hint = (
            "Compare the query with GitHub's limits, and with its GraphQL schema, which may be "
            "older than the query."
        )
        raise
    data = found.data or {}
    if found.errors:
        raise _partial(asked, data, found.errors)
    return data, _end_cursor(data), reply.credential_key


def _partial(
    asked: GraphqlRequest, data: Mapping[str, Any], found: Sequence[Error]
) -> errors.GithubError:
    """Return the error of an answer that has data and errors."""
    forbidden = [error for error in found if is_forbidden(error)]
    if forbidden:
        return failure(asked, forbidden[0])
    others = [error for error in found if error.type != "NOT_FOUND"]
    if not others:
        if not any(value is not None for value in data.values()):
            return failure(asked, found[0])
        return errors.Rejected(
            f"GitHub found only a part of what the {asked.what} asks for",
            hint="Ask for each entity by its own call, or leave out what does not exist.",
        )
    # A mistake in the query first: it fails again, whatever else does not.
    return failure(asked, min(others, key=lambda error: error.type is None))


def _end_cursor(data: Mapping[str, Any]) -> str | None:
    """Return the end cursor of the first connection that has a `pageInfo`, if a page follows."""
    waiting = deque([data])
    while waiting:
        node = waiting.popleft()
        info = node.get("pageInfo")
        if isinstance(info, dict):
            cursor = info.get(END_CURSOR)
            return cursor if info.get("hasNextPage") is True and isinstance(cursor, str) else None
        for value in node.values():
            inner = value if isinstance(value, list) else [value]
            waiting.extend(each for each in inner if isinstance(each, dict))
    return None


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


# The first hundred: GitHub allows ten links by hand, but a text may name any number of issues.
_CLOSING: Final = f"""fragment closing on PullRequest {{
    closingIssuesReferences(first: 100) {{ nodes {{
        fullDatabaseId number createdAt
        author {AUTHOR}
        repository {{ databaseId name nameWithOwner createdAt updatedAt owner {OWNER} }}
    }} }}
}}
"""

Json = dict[str, Any]


def closing_document(pulls: Sequence[Target]) -> Document:
    """Return the query for the issues that pull requests of one repository close.

    Example:
        >>> made = closing_document([Target(Kind.PULL_REQUEST, "octocat", "Hello-World", 7)])
        >>> made.variables, list(made.places.values())
        ({'owner': 'octocat', 'name': 'Hello-World', 'number0': 7}, [('repository', 'k0')])
    """
    numbers = {f"number{index}": pull.number for index, pull in enumerate(pulls)}
    declared = "".join(f", ${name}: Int!" for name in numbers)
    fields = " ".join(
        f"k{index}: pullRequest(number: ${name}) {{ ...closing }}"
        for index, name in enumerate(numbers)
    )
    text = f"""query($owner: String!, $name: String!{declared}) {{
    repository(owner: $owner, name: $name) {{ {fields} }}
}}
{_CLOSING}"""
    variables = {"owner": pulls[0].owner, "name": pulls[0].repo, **numbers}
    places: dict[Target, tuple[str, ...]] = {
        pull: ("repository", f"k{index}") for index, pull in enumerate(pulls)
    }
    return Document(text, variables, places)


async def closing_references(
    connection: Connection, pulls: Sequence[Target], now: datetime
) -> list[list[tuple[Json, Json]]]:
    """Fetch the issues that pull requests close and their repositories, in the shape of REST.

    The pull requests are of one repository. A query that overloads GitHub is split in half. Issues
    that the token cannot see are left out.

    Raises:
        GithubError: There is no connection to GitHub, no such pull request, or no usable answer.
    """
    made = closing_document(pulls)
    try:
        reply = await query(connection, made.text, made.variables, now)
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, pulls[0], now)
        answer = read_answer(reply)
    except Overloaded as overloaded:
        middle = len(pulls) // 2
        if not middle:
            raise overloaded.failure(pulls[0]) from overloaded
        halves = pulls[:middle], pulls[middle:]
        return [
            found for half in halves for found in await closing_references(connection, half, now)
        ]
    return [_references(answer, pull, place) for pull, place in made.places.items()]


def _references(answer: Answer, pull: Target, place: tuple[str, ...]) -> list[tuple[Json, Json]]:
    references = (*place, "closingIssuesReferences")
    nodes_at = (*references, "nodes")
    unseen = set()
    for error in answer.errors:
        if tuple(error.path[: len(place)]) != place[: len(error.path)]:
            continue
        if len(error.path) > len(nodes_at):
            unseen.add(error.path[len(nodes_at)])
        elif len(error.path) < len(references) or not is_forbidden(error):
            raise failure(pull, error)
    if nested(answer.data, *place) is None:
        raise responses.absence(errors.NotFound, pull)
    nodes = enumerate(nested(answer.data, *nodes_at) or [])
    try:
        return [
            reference(node) for index, node in nodes if node is not None and index not in unseen
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise errors.UnusableAnswer(
            f"GitHub's GraphQL answer for the {pull.what} has another shape"
        ) from None
