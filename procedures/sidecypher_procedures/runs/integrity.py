"""Verifying the history of a run, and deleting the content of an event."""

from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import UnknownEvent
from sidecypher_procedures.runs.event import content_digest
from sidecypher_procedures.runs.event_log import release
from sidecypher_procedures.runs.lock import lock
from sidecypher_procedures.runs.model import chained, sha256
from sidecypher_procedures.runs.rows import Deleted, Verified
from sidecypher_procedures.runs.store import extent_of

_EVENTS: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    WITH e ORDER BY e.runId, e.seq
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | p.id] AS parentIds,
        CASE WHEN e.payloadSha256 IS NOT NULL
            THEN [(e)-[:HAS_PAYLOAD]->(p) | p.content][0]
        END AS payload
"""
_TEXTS: Final = ("id", "type", "digest", "contentDigest")


def verify_run(ctx: Context, run_id: str) -> Verified | None:
    """Recompute and compare every digest of a run; return None if the run does not exist."""
    extent = extent_of(ctx, run_id)
    if not extent.parts:
        return None
    digests: dict[str, str] = {}
    seq = 0
    for part in extent.parts:
        for record in ctx.run(_EVENTS, **part):
            seq += 1
            event = record["event"]
            reason = _fault(event, seq, record["parentIds"], record["payload"], digests)
            if reason is not None:
                return _invalid(run_id, seq, reason)
            digests[event["id"]] = event["digest"]
    # Others may append meanwhile, so `last_seq` is read again: the count must lie between both.
    if not extent.last_seq <= seq <= extent_of(ctx, run_id).last_seq:
        return _invalid(run_id, seq + 1, f"the run says that it has {extent.last_seq} events")
    return Verified(id=run_id, ok=True, first_bad_seq=None, reason=None)


def is_intact(ctx: Context, run_id: str) -> bool:
    """Return whether a run exists with an unchanged history."""
    found = verify_run(ctx, run_id)
    return found is not None and found.ok


def _invalid(run_id: str, seq: int, reason: str) -> Verified:
    return Verified(id=run_id, ok=False, first_bad_seq=seq, reason=reason)


def _fault(
    event: dict[str, Any],
    seq: int,
    parents: list[str],
    payload: str | None,
    digests: dict[str, str],
) -> str | None:
    if not all(isinstance(event.get(name), str) for name in _TEXTS):
        return "it lacks what every event has"
    if event["seq"] != seq:
        return "an event is missing before it"
    if any(parent not in digests for parent in parents):
        return "it follows an event that is not before it in this run"
    if seq > 1 and not parents:
        return "it follows no event"
    if event["digest"] != chained(event["contentDigest"], seq, (digests[p] for p in parents)):
        return "its digest does not fit its place and its parents"
    if "deletedAt" in event:
        return None
    content = event.get("content") if payload is None else payload
    if not isinstance(payload, str | None) or (
        event.get("payloadSha256") not in {None, sha256(payload or "")}
    ):
        return "its payload is not what was written"
    given = event.get("given", [])
    created_at = event.get("createdAt")
    if not (isinstance(given, list) and isinstance(created_at, datetime)):
        return "its content is not what was written"
    try:
        found = content_digest(
            event,
            content,
            created_at if "createdAt" in given else None,
            tuple(parents) if "parentIds" in given else None,
        )
    except (TypeError, ValueError):
        # No caller can pass a date as text, or a time without zone.
        return "its content is not what was written"
    return None if found == event["contentDigest"] else "its content is not what was written"


_PLACE: Final = """
    MATCH (e:Event {id: $id}) WHERE e.runId IS NOT NULL AND e.seq IS NOT NULL
    RETURN e.runId AS runId, e.seq AS seq
"""
# An allow-list of the properties that stay. The status of a plan is part of its history; that of a
# tool call belongs to its content.
_ERASE: Final = """
    MATCH (e:Event {id: $id}) WHERE e.deletedAt IS NULL
    WITH e, e.payloadSha256 AS payload
    SET e = e {
        .id, .runId, .seq, .type, .role, .createdAt, .timestamp, .given, .contentDigest, .digest,
        .runState, .runResult, .inputTokens, .outputTokens, .cost, deletedAt: $now,
        .version, .originalVersion, .editedAt, .editedBy, .parentId, .updatedAt,
        status: CASE WHEN e:Plan THEN e.status END
    }
    WITH e, payload
    CALL (e) {
        MATCH (e)-[l:EXECUTED_BY|RESPONDS_TO|REFERENCES|SUGGESTS_EDIT_TO|COMMENTS_ON]->()
        DELETE l
    }
    CALL (e) { MATCH (e)-[l:HAS_RESULT|RESULT_OF]-() DELETE l }
    CALL (e) { MATCH (e)-[l:HAS_PAYLOAD]->() DELETE l }
    CALL (e) { MATCH (e)<-[l:EDITS|REVIEWS|APPROVES|REJECTS]-() REMOVE l.message }
    RETURN payload
"""

_FORGET_RESULT: Final = """
    MATCH (e:Event {id: $id, type: 'workflowCompleted'})
    MATCH (:WorkflowRun {id: e.runId})<-[:FORKED_FROM*0..]-(r:WorkflowRun)
    WHERE r.result = e.content
    REMOVE r.result
"""


def delete_event(ctx: Context, event_id: str) -> Deleted:
    """Delete the content and references of an event unless they were deleted before.

    Raises:
        UnknownEvent: No event of a run has this id.
        UnknownRun: Its run does not exist.
    """
    found = ctx.run(_PLACE, id=event_id)
    if not len(found):
        raise UnknownEvent(f"There is no event `{shown_id(event_id)}` of a run")
    place = found.single()
    held = lock(ctx, place["runId"])
    ctx.run(_FORGET_RESULT, id=event_id)
    erased = [record["payload"] for record in ctx.run(_ERASE, id=event_id, now=held.now)]
    release(ctx, [payload for payload in erased if payload is not None])
    return Deleted(id=event_id, seq=place["seq"], run_id=place["runId"], deleted=bool(erased))
