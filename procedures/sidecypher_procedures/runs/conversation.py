"""Messages and tool calls of a run."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from sidecypher import Context, EncodedRow, Row, SidecypherError
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import IllegalStatus, UnknownEvent
from sidecypher_procedures.runs.event import decoded
from sidecypher_procedures.runs.lock import lock
from sidecypher_procedures.runs.model import stored_type
from sidecypher_procedures.runs.options import CallsOptions, ConversationOptions
from sidecypher_procedures.runs.rows import MarkedCall, MessageRow, ToolCallRow
from sidecypher_procedures.runs.store import extent_of, records_in_run

_MESSAGES: Final = """
    MATCH (e:Event:Message)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    AND e.role IN $roles AND e.deletedAt IS NULL
    WITH e ORDER BY e.runId, e.seq LIMIT $limit
    RETURN e {.seq, .role, .toolName, .metadata, .id, .type, .toolCallId} AS message,
        coalesce(e.content, head([(e)-[:HAS_PAYLOAD]->(p) | p.content])) AS content
"""


def conversation_of(
    ctx: Context, run_id: str, options: ConversationOptions
) -> Iterator[MessageRow]:
    """Yield the messages of a run in order, without deleted ones."""
    found = records_in_run(
        ctx, run_id, _MESSAGES, options.cursor, options.most, roles=options.wanted
    )
    for record in found:
        message = record["message"]
        yield MessageRow(
            seq=message["seq"],
            role=message["role"],
            content=record["content"],
            tool_name=message["toolName"],
            metadata=decoded(message["metadata"]),
            id=message["id"],
            type=stored_type(message["type"]).storage,
            tool_call_id=message["toolCallId"],
        )


_FIND_CALL: Final = """
    MATCH (c:Event {id: $id}) WHERE c:ToolCall AND c.deletedAt IS NULL RETURN c.runId AS runId
"""
_MARK: Final = """
    MATCH (r:WorkflowRun {id: $runId}), (c:Event {id: $id})
    WHERE c:ToolCall AND c.deletedAt IS NULL AND NOT EXISTS { (c)-[:HAS_RESULT]->() }
    SET c.status = $status, r.touchedAt = $now
    RETURN c.id AS id
"""


def mark_call(ctx: Context, event_id: str, status: str) -> MarkedCall:
    """Set the status of a call that has no result yet.

    Raises:
        UnknownEvent: No call of a tool has this id.
        IllegalStatus: The call has a result.
    """
    found = next(iter(ctx.run(_FIND_CALL, id=event_id)), None)
    if found is None:
        raise UnknownEvent(f"There is no call of a tool `{shown_id(event_id)}`")
    held = lock(ctx, found["runId"])
    if not len(ctx.run(_MARK, id=event_id, runId=held.run_id, status=status, now=held.now)):
        raise IllegalStatus(
            f"The call `{shown_id(event_id)}` has its result, or was deleted meanwhile",
            hint="Its status is what its result says.",
        )
    return MarkedCall(id=event_id, run_id=held.run_id, status=status)


_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)

# Neo4j orders equal instants of different zones as different values. The index search includes
# both; the exact comparison uses one zone, after a WITH, so that no plan starts with it.
_BETWEEN: Final = """
    c.toolName = $toolName AND c.id IS NOT NULL
    AND c.createdAt > $after - duration({nanoseconds: 1})
    AND c.createdAt < datetime($before) + duration({nanoseconds: 1})
"""
# A shared call may have a result in the other run only; then it has no result in this run.
_IS_OF_RUN: Final = """($runId IS NULL OR any(
        each IN $parts WHERE e.runId = each.runId AND e.seq > each.after AND e.seq <= each.upTo
    ))"""
_WANTED: Final = f"""
    WITH c, datetime({{datetime: c.createdAt, timezone: 'Z'}}) AS at,
        CASE
            WHEN c.runId <> $runId AND EXISTS {{ (c)-[:HAS_RESULT]->() }}
            AND NOT EXISTS {{ MATCH (c)-[:HAS_RESULT]->(e:ToolResult) WHERE {_IS_OF_RUN} }}
            THEN 'initiated'
            ELSE coalesce(c.status, 'initiated')
        END AS status
    WHERE at > datetime({{datetime: $after, timezone: 'Z'}})
    AND (c.id < $beforeId OR at < datetime($before))
    AND ($status IS NULL OR status = $status)
    AND c.deletedAt IS NULL
"""
# If a call has several results, the latest one counts.
_RETURN_CALL: Final = f"""
    RETURN c {{.id, .runId, .toolName, .createdAt}} AS call, status,
        toString(datetime({{datetime: c.createdAt, timezone: 'Z'}})) + ' ' + c.id AS cursor,
        coalesce(c.content, head([(c)-[:HAS_PAYLOAD]->(p) | p.content])) AS args,
        head(COLLECT {{
            MATCH (c)-[:HAS_RESULT]->(e:ToolResult)
            WHERE e.deletedAt IS NULL AND {_IS_OF_RUN}
            RETURN e {{
                .id, isError: coalesce(e.isError, false),
                content: coalesce(e.content, head([(e)-[:HAS_PAYLOAD]->(p) | p.content]))
            }} ORDER BY e.seq DESC LIMIT 1
        }}) AS result
"""
_ALL: Final = f"""
    MATCH (c:ToolCall) WHERE {_BETWEEN} {_WANTED}
    WITH c, status ORDER BY c.toolName DESC, c.createdAt DESC, c.id DESC LIMIT $limit
    {_RETURN_CALL}
"""
_OF_RUN: Final = f"""
    UNWIND $parts AS part
    CALL (part) {{
        MATCH (c:ToolCall)
        WHERE c.runId = part.runId AND c.seq > part.after AND c.seq <= part.upTo AND {_BETWEEN}
        RETURN c
    }}
    {_WANTED}
    WITH c, status ORDER BY c.createdAt DESC, c.id DESC LIMIT $limit
    {_RETURN_CALL}
"""


def calls_of(ctx: Context, tool_name: str, options: CallsOptions) -> Iterator[ToolCallRow]:
    """Yield the calls of a tool, newest first, without deleted ones."""
    run_id = options.run_id
    wanted = {
        "toolName": tool_name,
        "runId": run_id,
        "parts": [] if run_id is None else extent_of(ctx, run_id).parts,
        "status": options.status or None,
        "after": options.created_after or _EARLIEST,
        **options.place,
    }
    # No reference to the result, so that only one page of it is in memory at a time.
    for record in ctx.run(_ALL if run_id is None else _OF_RUN, **wanted):
        yield _row(record)


def _row(record: Mapping[str, Any]) -> ToolCallRow:
    call, result = record["call"], record["result"] or {}
    return ToolCallRow(
        id=call["id"],
        run_id=call["runId"],
        tool_name=call["toolName"],
        args=_encodable(decoded(record["args"])),
        status=record["status"],
        result_id=result.get("id"),
        content=result.get("content"),
        is_error=result.get("isError"),
        created_at=call["createdAt"],
        cursor=record["cursor"],
    )


class _Arguments(Row):
    args: dict[str, Any] | None


def _encodable(args: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return arguments, None if Cypher cannot hold one of them, such as a huge integer."""
    try:
        EncodedRow.of(_Arguments(args=args))
    except SidecypherError:
        return None
    return args
