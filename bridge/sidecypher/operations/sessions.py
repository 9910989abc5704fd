"""Sessions of workflows over HTTP, for the console: open requests, one session, and answers."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.errors import CypherError, DeadlineExceeded, Neo4jUnavailable, SidecypherError
from sidecypher.operations.statements import Statements, described, json_response
from sidecypher.transport.http.problems import RequestRefused
from sidecypher.transport.http.request_bodies import read_body
from sidecypher.transport.http.server import SESSIONS
from sidecypher.transport.http.tokens import TokenCheck

ANSWER_BYTES: Final = 1_000_000
"""Largest body of a request that answers."""

_LONGEST_VALUE: Final = 500
_REFUSED: Final = "SC-958"
"""The code of `session.input` for an answer that a request does not accept."""

_REQUESTS: Final = """
    CALL session.awaiting({limit: 100})
    YIELD sessionId, requestId, stepId, statement, options, since
    RETURN sessionId, requestId, stepId, statement, options, toString(since) AS since
"""
_SESSION: Final = """
    CALL session.get($id) YIELD session
    CALL session.picture($id) YIELD svg
    RETURN session.id AS id, session.workflow AS workflow, session.status AS status,
        session.next_steps AS nextSteps, svg AS picture,
        COLLECT {
            CALL session.history($id) YIELD seq, stepId, cycle, state, error
            RETURN {
                step: stepId, cycle: cycle, state: state, error: error,
                value: CASE state WHEN 'done' THEN session.memory[stepId][cycle] END
            } ORDER BY coalesce(seq, 2 ^ 62) DESC LIMIT 20
        } AS executions
"""
_INPUT: Final = """
    CALL session.input($id, $value, {requestId: $request}) YIELD status RETURN status
"""


class _Answer(msgspec.Struct, rename="camel"):
    """The body of a request that answers."""

    session_id: str
    request_id: str
    answer: str


class SessionApi:
    """The routes under `/v1/sessions`; each request must carry the token."""

    NEEDS: Final = "session.awaiting"
    """The procedure without which the console shows no sessions."""

    def __init__(self, statements: Statements, authorize: TokenCheck) -> None:
        self._statements = statements
        self._authorize = authorize

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/sessions", self._list, methods=["GET"]),
            Route(SESSIONS + "one", self._show, methods=["GET"]),
            Route(SESSIONS + "answer", self._answer, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        self._authorize(request)
        content: dict[str, Any] = {"requests": None, "problem": None}
        try:
            content["requests"] = await self._statements.run(_REQUESTS)
        except (CypherError, Neo4jUnavailable, DeadlineExceeded) as error:
            # The console asks every other second, also while Neo4j is not running.
            content["problem"] = error.message
        return json_response(content)

    async def _show(self, request: Request) -> Response:
        self._authorize(request)
        found = await self._statements.run(_SESSION, id=request.query_params.get("id", ""))
        if not found:
            raise SidecypherError("There is no session of this id", code="SC-955")
        [session] = found
        content = {
            "executions": [_shown(each) for each in session["executions"]],
            "description": described(session["picture"]),
        }
        return json_response({**session, **content})

    async def _answer(self, request: Request) -> Response:
        self._authorize(request)
        body = await read_body(request, ANSWER_BYTES)
        try:
            given = msgspec.json.decode(body, type=_Answer)
        except (msgspec.MsgspecError, UnicodeError):
            raise RequestRefused("The request's body is not an answer") from None
        parameters = {"id": given.session_id, "request": given.request_id}
        run = partial(self._statements.run, _INPUT, **parameters)
        try:
            [row] = await run(value=given.answer)
        except SidecypherError as error:
            value = _json_in(given.answer)
            if error.code != _REFUSED or value is None:
                raise
            [row] = await run(value=value)
        return json_response(row)


def _shown(execution: Mapping[str, Any]) -> dict[str, Any]:
    """Return an execution with the start of its output as text."""
    value = execution["value"]
    text = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    is_long = len(text) > _LONGEST_VALUE
    return {**execution, "value": f"{text[:_LONGEST_VALUE]}…" if is_long else text}


def _json_in(text: str) -> Any:
    """Return the JSON in a text; None if it has none, or one that is a text."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return None if isinstance(value, str) else value
