"""Whether a run's history is as it was written."""

from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.runs.digests import chained, sha256
from sidecypher_procedures.runs.inputs import content_digest
from sidecypher_procedures.runs.reading import parts_named, run_named
from sidecypher_procedures.runs.rows import Verified

_EVENTS: Final = """
    UNWIND $parts AS part
    MATCH (e:Event)
    WHERE e.runId = part.runId AND e.seq > part.after AND e.seq <= part.upTo
    WITH e ORDER BY e.seq
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | p.id] AS parentIds,
        CASE WHEN e.payloadSha256 IS NOT NULL
            THEN [(e)-[:HAS_PAYLOAD]->(p) | p.content][0]
        END AS payload
"""


def verify_run(ctx: Context, run_id: str) -> Verified:
    """Compute every digest of a run anew, and compare.

    Raises:
        UnknownRun: No run has this id.
    """
    last_seq = run_named(ctx, run_id)["lastSeq"]
    digests: dict[str, str] = {}
    seq = 0
    for record in ctx.run(_EVENTS, parts=parts_named(ctx, run_id)):
        seq += 1
        event = record["event"]
        reason = _fault(event, seq, record["parentIds"], record["payload"], digests)
        if reason is not None:
            return Verified(run_id=run_id, ok=False, first_bad_seq=seq, reason=reason)
        digests[event["id"]] = event["digest"]
    if seq != last_seq:
        reason = f"the run says that it has {last_seq} events"
        return Verified(run_id=run_id, ok=False, first_bad_seq=seq + 1, reason=reason)
    return Verified(run_id=run_id, ok=True, first_bad_seq=None, reason=None)


def _fault(
    event: dict[str, Any],
    seq: int,
    parents: list[str],
    payload: str | None,
    digests: dict[str, str],
) -> str | None:
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
    if event.get("payloadSha256") not in {None, sha256(content or "")}:
        return "its payload is not what was written"
    given = event.get("given") or []
    found = content_digest(
        event,
        content,
        event["createdAt"] if "createdAt" in given else None,
        tuple(parents) if "parentIds" in given else None,
    )
    return None if found == event["contentDigest"] else "its content is not what was written"
