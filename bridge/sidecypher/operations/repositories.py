"""Repositories of code over HTTP, for the console: which there are, and the graph of one."""

from itertools import groupby, islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.errors import CypherError, DeadlineExceeded, Neo4jUnavailable
from sidecypher.operations.statements import Statements, described, json_response
from sidecypher.transport.http.tokens import TokenCheck

_MOST_OF_KIND: Final = 10
"""The most statistics of one kind, such as files with unresolved calls."""

_LIST: Final = """
    CALL code.list() YIELD repoId, status, indexedAt, entities
    RETURN repoId, status, toString(indexedAt) AS indexedAt, entities
"""
_ONE: Final = """
    CALL code.map($id) YIELD svg
    RETURN svg AS picture, COLLECT {
        CALL code.stats($id) YIELD kind, key, count
        RETURN {kind: kind, key: key, count: count} ORDER BY kind, count DESC, key
    } AS statistics
"""


class RepositoryApi:
    """The routes under `/v1/repositories`; each request must carry the token."""

    NEEDS: Final = "code.list"
    """The procedure without which the console shows no repositories."""

    def __init__(self, statements: Statements, authorize: TokenCheck) -> None:
        self._statements = statements
        self._authorize = authorize

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/repositories", self._list, methods=["GET"]),
            Route("/v1/repositories/one", self._show, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        self._authorize(request)
        content: dict[str, Any] = {"repositories": None, "problem": None}
        try:
            content["repositories"] = await self._statements.run(_LIST)
        except (CypherError, Neo4jUnavailable, DeadlineExceeded) as error:
            content["problem"] = error.message
        return json_response(content)

    async def _show(self, request: Request) -> Response:
        self._authorize(request)
        repository = request.query_params.get("id", "")
        [found] = await self._statements.run(_ONE, id=repository)
        return json_response(
            {
                "id": repository,
                "statistics": _first(found["statistics"]),
                "picture": found["picture"],
                "description": described(found["picture"]),
            }
        )


def _first(statistics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the largest statistics of each kind."""
    kinds = groupby(statistics, key=lambda each: each["kind"])
    return [each for _, group in kinds for each in islice(group, _MOST_OF_KIND)]
