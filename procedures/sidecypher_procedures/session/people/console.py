"""The page of the console about sessions: open requests, one session, and answers."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from sidecypher import (
    BoltClient,
    CypherError,
    PanelAnswer,
    PanelBlock,
    PanelPicture,
    PanelQuestion,
    PanelRequest,
    PanelTable,
    PanelText,
    panel,
    split_code,
)
from sidecypher_procedures.session.errors import InvalidAnswer
from sidecypher_procedures.session.people.terminal import json_in

_LONGEST_VALUE: Final = 500
_REQUESTS: Final = """
    CALL session.awaiting({limit: 100})
    YIELD sessionId, requestId, stepId, statement, options, since
    RETURN sessionId, requestId, stepId, statement, options, toString(since) AS since
"""
_LATEST: Final = """
    CALL session.list({limit: 50}) YIELD id, workflow, status, createdAt
    RETURN id, workflow, status, createdAt
"""
_SESSION: Final = """
    CALL session.get($id) YIELD session
    CALL session.picture($id) YIELD svg
    RETURN session.workflow AS workflow, session.status AS status,
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


async def answer_request(given: PanelAnswer) -> str:
    """Answer a request of a session; read the answer as JSON if it does not accept the text."""
    client = given.resource(BoltClient)
    run = partial(client.run, _INPUT, id=given.id, request=given.question)
    try:
        [row] = await run(value=given.text)
    except CypherError as error:
        value = json_in(given.text)
        if split_code(error.message)[0] != InvalidAnswer.code or value is None:
            raise
        [row] = await run(value=value)
    return f"Answered. The session is {row['status']} now."


@panel("sessions", "Sessions", thing="Session", refresh=2.0, answer=answer_request)
async def show_sessions(request: PanelRequest) -> list[PanelBlock]:
    """Return the requests that wait for an answer and the latest sessions, or one session."""
    client = request.resource(BoltClient)
    waiting = await client.run(_REQUESTS)
    if request.id is not None:
        found = await client.run(_SESSION, id=request.id)
        if not found:
            return [PanelText(text="There is no session of this id.", tone="bad")]
        own = (each for each in waiting if each["sessionId"] == request.id)
        return [*map(_question, own), *_session(found[0])]
    latest = await client.run(_LATEST)
    return [
        *map(_question, waiting),
        *([] if waiting else [PanelText(text="No request is open.")]),
        PanelTable(
            title="Latest sessions",
            columns=["Session", "Workflow", "Status", "Started"],
            rows=[
                (each["id"], each["workflow"], each["status"], each["createdAt"]) for each in latest
            ],
            ids=[each["id"] for each in latest],
            empty="No session was started.",
        ),
    ]


def _question(row: Mapping[str, Any]) -> PanelQuestion:
    since = row["since"][:19].replace("T", " ")
    return PanelQuestion(
        id=row["requestId"],
        about=row["sessionId"],
        text=row["statement"],
        options=row["options"],
        note=f"step {row['stepId']} · {since}",
    )


def _session(found: Mapping[str, Any]) -> list[PanelBlock]:
    steps = ", ".join(found["nextSteps"])
    state = f"{found['workflow'] or 'No workflow'}: {found['status']}"
    return [
        PanelText(text=f"{state}. Next: {steps}" if steps else state),
        PanelPicture(title="Workflow", svg=found["picture"]),
        PanelTable(
            title="Latest executions",
            columns=["Step", "Cycle", "State", "Output or error"],
            rows=[
                (each["step"], each["cycle"], each["state"], each["error"] or _cut(each["value"]))
                for each in found["executions"]
            ],
            empty="No step has run.",
        ),
    ]


def _cut(value: Any) -> str:
    """Return the start of an output as text."""
    text = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return f"{text[:_LONGEST_VALUE]}…" if len(text) > _LONGEST_VALUE else text
