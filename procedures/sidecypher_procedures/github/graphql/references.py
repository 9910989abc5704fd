"""The issues that GitHub has linked to a pull request, by its text or by hand: GraphQL's alone."""

from datetime import datetime
from typing import Any, Final

import httpx

from sidecypher_procedures.github import outcomes
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.errors import NotFound, UnusableAnswer
from sidecypher_procedures.github.graphql.answers import (
    Answer,
    Overloaded,
    at,
    failure,
    is_forbidden,
    query,
    read_answer,
)
from sidecypher_procedures.github.graphql.documents import AUTHOR, OWNER
from sidecypher_procedures.github.graphql.reading import reference
from sidecypher_procedures.github.names import Target

_PULL_REQUEST: Final = ("repository", "pullRequest")
_REFERENCES: Final = (*_PULL_REQUEST, "closingIssuesReferences")
_NODES: Final = (*_REFERENCES, "nodes")

# The first hundred: GitHub links by hand no more than ten, and by a text whatever it names.
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
    """Fetch the issues that a pull request closes, each with its repository, as REST writes them.

    Those that the token may not see are left out.

    Args:
        connection: Where to ask.
        pull: The pull request.
        now: The time, for telling when a rate limit ends.

    Raises:
        GithubError: There is no connection to GitHub, no such pull request, or no usable answer.

    Example:
        >>> [(issue, home)] = await closing_references(connection, pull, now)  # doctest: +SKIP
        >>> home["name"], issue["number"]  # doctest: +SKIP
        ('Hello-World', 7)
    """
    variables = {"owner": pull.owner, "name": pull.repo, "number": pull.number}
    try:
        reply = await query(connection, CLOSING_REFERENCES, variables, now)
        if reply.status != httpx.codes.OK:
            raise outcomes.failure(reply, pull, now)
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
    if at(answer.data, *_PULL_REQUEST) is None:
        raise outcomes.absence(NotFound, pull)
    nodes = enumerate(at(answer.data, *_NODES) or [])
    try:
        return [
            reference(node) for index, node in nodes if node is not None and index not in unseen
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UnusableAnswer(
            f"GitHub's GraphQL answer for the {pull.kind.value} `{pull}` has another shape"
        ) from None
