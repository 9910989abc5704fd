"""Deleting an event: its content goes, its place and digests stay."""

from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import UnknownEvent
from sidecypher_procedures.runs.locking import lock
from sidecypher_procedures.runs.payloads import release
from sidecypher_procedures.runs.rows import Deleted

_PLACE: Final = """
    MATCH (e:Event {id: $id}) WHERE e.runId IS NOT NULL AND e.seq IS NOT NULL
    RETURN e.runId AS runId, e.seq AS seq
"""
# What stays is listed, so that nothing else does. The status of a plan is a step of its life, that
# of a call came with its content.
_ERASE: Final = """
    MATCH (e:Event {id: $id}) WHERE e.deletedAt IS NULL
    WITH e, e.payloadSha256 AS payload
    SET e = e {
        .id, .runId, .seq, .type, .role, .createdAt, .timestamp, .given, .contentDigest, .digest,
        .runState, .runResult, deletedAt: $now,
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


def delete_event(ctx: Context, event_id: str) -> Deleted:
    """Erase what an event says, and what it refers to, unless that was done before.

    Raises:
        UnknownEvent: No event of a run has this id.
        UnknownRun: Its run is not there.
    """
    found = ctx.run(_PLACE, id=event_id)
    if not len(found):
        raise UnknownEvent(f"There is no event `{shown_id(event_id)}` of a run")
    place = found.single()
    held = lock(ctx, place["runId"])
    erased = [record["payload"] for record in ctx.run(_ERASE, id=event_id, now=held.now)]
    release(ctx, [payload for payload in erased if payload is not None])
    return Deleted(id=event_id, seq=place["seq"], run_id=place["runId"], deleted=bool(erased))
