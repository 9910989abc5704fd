"""Many things in one GraphQL call, and in smaller ones when GitHub cannot answer that many."""

from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx

from sidecypher_procedures.github import outcomes
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.errors import GithubError, NotFound, UnusableAnswer
from sidecypher_procedures.github.graphql.answers import (
    Answer,
    Error,
    Overloaded,
    at,
    failure,
    query,
    read_answer,
)
from sidecypher_procedures.github.graphql.documents import Document, document
from sidecypher_procedures.github.graphql.reading import AS_REST
from sidecypher_procedures.github.names import Kind, Target

Thing = dict[str, Any] | GithubError | None
"""A thing as the REST API gives it, or why there is none; None where only the REST API can tell."""

# One thing that GitHub cannot answer for is told from ninety-nine others by fifteen calls.
_MAX_CALLS: Final = 16


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one thing that was asked for.

    Attributes:
        thing: The thing, or why there is none.
        credential_key: Whose answer it is.
    """

    thing: Thing
    credential_key: str


async def fetch_all(
    connection: Connection, targets: Sequence[Target], now: datetime
) -> AsyncIterator[dict[Target, Found]]:
    """Fetch things of one kind by one call; one that is too much for GitHub is halved.

    No more than sixteen calls are made. What each gave is given at once, so that the caller has it
    when a later one fails.

    Args:
        connection: Where to ask.
        targets: What to fetch.
        now: The time, for telling when a rate limit ends.

    Raises:
        GithubError: There is no connection to GitHub, its answer cannot be read, or is a limit.

    Example:
        >>> async for part in fetch_all(connection, targets, now):  # doctest: +SKIP
        ...     print(part[targets[0]].thing["title"])
        Found a bug
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
        things = {target: outcomes.failure(reply, target, now) for target in targets}
    else:
        things = dict(_rows(made, read_answer(reply)))
    return {target: Found(thing, reply.credential_key) for target, thing in things.items()}


def _rows(made: Document, answer: Answer) -> Iterator[tuple[Target, Thing]]:
    data = answer.data or {}
    depth = max(map(len, made.places.values()))
    errors: dict[tuple[str | int, ...], Error] = {}
    for error in answer.errors:
        errors.setdefault(tuple(error.path[:depth]), error)
    for target, place in made.places.items():
        # An error below a thing is that thing's, and one of a repository that of all in it.
        found = errors.get(place) or errors.get(place[:1])
        yield target, failure(target, found) if found else _thing(target, at(data, *place))


def _thing(target: Target, node: Any) -> Thing:
    if node is None:
        return outcomes.absence(NotFound, target)
    try:
        if target.kind is Kind.ISSUE and node["__typename"] != "Issue":
            return None
        return AS_REST[target.kind](node)
    except (AttributeError, KeyError, TypeError, ValueError):
        return UnusableAnswer(
            f"GitHub's GraphQL answer for the {target.kind.value} `{target}` has another shape"
        )
