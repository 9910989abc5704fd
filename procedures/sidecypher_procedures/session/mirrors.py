"""What is written beside a session: its run of `runs.*`, and properties for older engines."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from sidecypher_procedures.names import LONGEST_NAME
from sidecypher_procedures.session.references import to_json
from sidecypher_procedures.session.store import OUTPUT_BYTES, Changes, Session, Tx, write
from sidecypher_procedures.session.views import session_map

TOOLS: Final = frozenset({"api", "cypher", "procedure"})
"""Functions whose outputs are results of tools in a run."""

_ENDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "completed": {"type": "workflowCompleted"},
    "error": {"type": "workflowState", "state": "error"},
    "cancelled": {"type": "workflowCancelled"},
}
_CREATE_RUN: Final = """
    CALL runs.create($type, {id: $id}) YIELD id
    CALL runs.append(id, {id: $eventId, type: 'workflowStarted'}) YIELD seq
    MATCH (s:SESSION {id: $id}), (r:WorkflowRun {id: $id})
    MERGE (s)-[:RECORDED_AS]->(r)
    FINISH
"""
_APPEND: Final = "CALL runs.appendMany($run, $events) YIELD seq RETURN count(seq) AS events"
_EXPORT: Final = """
    MATCH (s:SESSION {id: $id})
    SET s.memory = $memory, s.errors = $errors, s.chat_history = $messages
"""
_TOO_LARGE: Final = """
    MATCH (s:SESSION {id: $id})
    SET s.status = 'error', s.lease_until = null, s.seq = s.seq + 1
    CREATE (s)-[:HAS_ERROR]->(:StepError {
        sessionId: s.id, seq: s.seq, stepId: '', cycle: 0, severity: 'error', tries: 1,
        createdAt: s.updated_at, error: $reason
    })
"""


async def begin_run(tx: Tx, session_id: str, workflow: str | None) -> None:
    """Create the run that a session is recorded as; it has the session's id."""
    event_id = _id_of(session_id, "start")
    await tx.run(_CREATE_RUN, id=session_id, type=workflow or "session", eventId=event_id)


async def write_mirrored(tx: Tx, session: Session, changes: Changes) -> None:
    """Write a round, and what is written beside the session."""
    before = session.status
    functions = {each.step.id: each.step.function for each in session.pending}
    await write(tx, session, changes)
    if session.properties.get("recorded"):
        events = [*_events(session, changes, functions)]
        changed = _id_of(session.id, f"v{session.version}")
        if session.status != before and session.status in _ENDS:
            events.append({"id": changed, **_ENDS[session.status]})
        elif before == "error":
            events.append({"id": changed, **_RESUMED})
        if events:
            await tx.run(_APPEND, run=session.id, events=events)
    if session.properties.get("export"):
        await _export(tx, session)


_RESUMED: Final[Mapping[str, Any]] = {"type": "workflowState", "state": "running"}


def _events(
    session: Session, changes: Changes, functions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the events of a round in order."""
    found: list[tuple[int, list[dict[str, Any]]]] = []
    answered = {each["stepId"]: each for each in changes.closed if "answer" in each}
    for output in changes.outputs:
        each = output["properties"]
        function = functions.get(each["stepId"], "")
        found.append((each["seq"], _of_output(session, each, function, answered)))
    for error in changes.errors:
        event = {"type": "error", "content": error["error"]}
        found.append((error["seq"], [_event(session, error, event)]))
    for request in changes.requests:
        each = request["properties"]
        event = {"type": "status", "content": each["statement"]}
        found.append((each["seq"], [_event(session, each, event)]))
    for _, events in sorted(found, key=lambda each: each[0]):
        yield from events


def _of_output(
    session: Session,
    output: Mapping[str, Any],
    function: str,
    answered: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    content = output["value"]
    if function in TOOLS:
        call = {"toolName": function, "toolCallId": _id_of(output["stepId"], output["cycle"])}
        return [
            _event(session, output, {"type": "toolCall", **call}, "call"),
            _event(session, output, {"type": "toolCallResult", "content": content, **call}),
        ]
    if output["stepId"] in answered:
        content = answered[output["stepId"]]["answer"]
        return [_event(session, output, {"type": "userMessage", "content": content})]
    kind = "llmResponse" if function == "generate" else "status"
    return [_event(session, output, {"type": kind, "content": content})]


def _event(
    session: Session, of: Mapping[str, Any], event: Mapping[str, Any], *suffix: str
) -> dict[str, Any]:
    metadata = {"stepId": of["stepId"], "cycle": of["cycle"]}
    return {"id": _id_of(session.id, of["seq"], *suffix), "metadata": metadata, **event}


def _id_of(*parts: object) -> str:
    """Return the id with these parts; its digest if it is too long for an id."""
    text = "/".join(map(str, parts))
    return text if len(text) <= LONGEST_NAME else sha256(text.encode()).hexdigest()


async def _export(tx: Tx, session: Session) -> None:
    """Write the outputs as the older engines do, or end a session that has become too large."""
    found = await session_map(tx, session.id)
    assert found is not None  # noqa: S101 - it is locked
    names = {"memory": "memory", "errors": "errors", "messages": "chat_history"}
    texts = {name: to_json(found[key]) for name, key in names.items()}
    size = max(len(text.encode()) for text in texts.values())
    if size > OUTPUT_BYTES:
        reason = f"`exportProperties` cannot hold {size} bytes, more than {OUTPUT_BYTES}"
        await tx.run(_TOO_LARGE, id=session.id, reason=reason)
        session.properties["status"] = "error"
    else:
        await tx.run(_EXPORT, id=session.id, **texts)
