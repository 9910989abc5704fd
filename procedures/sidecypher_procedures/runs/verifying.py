"""Whether a run's history is as it was written."""

from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.runs.digests import chained, sha256
from sidecypher_procedures.runs.inputs import content_digest
from sidecypher_procedures.runs.reading import extent_of
from sidecypher_procedures.runs.rows import Verified

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


def verify_run(ctx: Context, run_id: str) -> Verified:
    """Compute every digest of a run anew, and compare.

    Raises:
        UnknownRun: No run has this id.
    """
    extent = extent_of(ctx, run_id)
    digests: dict[str, str] = {}
    seq = 0
    for part in extent.parts:
        for record in ctx.run(_EVENTS, **part):
            seq += 1
            event = record["event"]
            reason = _fault(event, seq, record["parentIds"], record["payload"], digests)
            if reason is not None:
                return _bad(run_id, seq, reason)
            digests[event["id"]] = event["digest"]
    # Others may append meanwhile: then the run has gone on to where its events end, or further.
    if not extent.last_seq <= seq <= extent_of(ctx, run_id).last_seq:
        return _bad(run_id, seq + 1, f"the run says that it has {extent.last_seq} events")
    return Verified(run_id=run_id, ok=True, first_bad_seq=None, reason=None)


def _bad(run_id: str, seq: int, reason: str) -> Verified:
    return Verified(run_id=run_id, ok=False, first_bad_seq=seq, reason=reason)


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
        # Nobody can give a text that is a date, or a time without zone.
        return "its content is not what was written"
    return None if found == event["contentDigest"] else "its content is not what was written"
