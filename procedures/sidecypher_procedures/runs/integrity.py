"""Verifying the history of a run, and deleting the content of an event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import UnknownEvent
from sidecypher_procedures.runs.event import content_digest, instant, nanoseconds
from sidecypher_procedures.runs.event_log import release
from sidecypher_procedures.runs.lock import lock
from sidecypher_procedures.runs.model import DIGEST_VERSION, Signer, chained, sha256
from sidecypher_procedures.runs.rows import Deleted, Verified
from sidecypher_procedures.runs.settings import PREFIX, Configuration
from sidecypher_procedures.runs.store import extent_of

_EVENTS: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    WITH e ORDER BY e.runId, e.seq
    RETURN properties(e) AS event, [(p)-[:NEXT]->(e) | p.id] AS parentIds,
        [(e)-[:EXECUTED_BY]->(a) | a.id] AS agents,
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
    chain = _Chain(ctx.resource(Configuration).signer)
    seq = 0
    for part in extent.parts:
        for record in ctx.run(_EVENTS, **part):
            seq += 1
            reason = chain.fault(record, seq)
            if reason is not None:
                return _invalid(run_id, seq, reason, chain.signed)
    # Others may append meanwhile, so `last_seq` is read again: the count must lie between both.
    if not extent.last_seq <= seq <= extent_of(ctx, run_id).last_seq:
        reason = f"the run says that it has {extent.last_seq} events"
        return _invalid(run_id, seq + 1, reason, chain.signed)
    return Verified(id=run_id, ok=True, first_bad_seq=None, reason=None, signed=chain.signed)


def fault_of(ctx: Context, run_id: str) -> str | None:
    """Return what is wrong with the history of a run; None if it is unchanged."""
    found = verify_run(ctx, run_id)
    return "the run is missing" if found is None else found.reason


def _invalid(run_id: str, seq: int, reason: str, signed: int) -> Verified:
    return Verified(id=run_id, ok=False, first_bad_seq=seq, reason=reason, signed=signed)


class _Chain:
    """Verifies the events of a run, one after the other.

    Attributes:
        signed: How many of them are signed by the key of the settings.
    """

    def __init__(self, signer: Signer) -> None:
        self.signed = 0
        self._signer = signer
        self._digests: dict[str, str] = {}

    def fault(self, record: Mapping[str, Any], seq: int) -> str | None:
        """Return what is wrong with the next event, None if nothing is."""
        event = record["event"]
        reason = (
            _place_fault(event, seq, record["parentIds"], self._digests)
            or self._key_fault(event)
            or self._digest_fault(event, record["parentIds"])
            or self._agent_fault(event, record["agents"])
            or _content_fault(event, record["parentIds"], record["payload"])
        )
        if reason is None:
            self._digests[event["id"]] = event["digest"]
            self.signed += event.get("digestKey") is not None
        return reason

    def _key_fault(self, event: Mapping[str, Any]) -> str | None:
        name = event.get("digestKey")
        if event.get("digestVersion") not in {None, DIGEST_VERSION}:
            return "this version of sidecypher does not know how its digest was computed"
        if name is None:
            return "it is not signed, but an event before it is" if self.signed else None
        if self._signer.key_name is None:
            return f"it is signed, and the setting `{PREFIX}SIGNING_KEY_FILE` is missing"
        if name != self._signer.key_name:
            return f"it is signed by another key than that of `{PREFIX}SIGNING_KEY_FILE`"
        return None

    def _digest_fault(self, event: Mapping[str, Any], parent_ids: list[str]) -> str | None:
        parents = [self._digests[parent] for parent in parent_ids]
        content_digest, seq = event["contentDigest"], event["seq"]
        if event.get("digestVersion") is None:
            if event["digest"] == chained(content_digest, seq, parents):
                return None
            return "its digest does not fit its place and its parents"
        if instant(event.get("createdAt")) is None:
            return "its content is not what was written"
        expected = self._signer_of(event).chained(
            content_digest,
            seq,
            parents,
            nanoseconds(event["createdAt"]),
            event.get("agentDigest"),
        )
        if event["digest"] == expected:
            return None
        return "its digest does not fit its place, its time, its agent and its parents"

    def _agent_fault(self, event: Mapping[str, Any], agents: list[str]) -> str | None:
        # The agent of a deleted event is erased, and only its digest stays.
        if event.get("digestVersion") is None or "deletedAt" in event:
            return None
        expected = [] if event.get("agentDigest") is None else [event["agentDigest"]]
        signer = self._signer_of(event)
        if [signer.digest(str(agent)) for agent in agents] == expected:
            return None
        return "its agent is not the one that was written"

    def _signer_of(self, event: Mapping[str, Any]) -> Signer:
        return Signer() if event.get("digestKey") is None else self._signer


def _place_fault(
    event: Mapping[str, Any], seq: int, parents: list[str], digests: Mapping[str, str]
) -> str | None:
    if not all(isinstance(event.get(name), str) for name in _TEXTS):
        return "it lacks what every event has"
    if event["seq"] != seq:
        return "an event is missing before it"
    if any(parent not in digests for parent in parents):
        return "it follows an event that is not before it in this run"
    if seq > 1 and not parents:
        return "it follows no event"
    return None


def _content_fault(event: Mapping[str, Any], parents: list[str], payload: str | None) -> str | None:
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
        .digestVersion, .digestKey, .agentDigest, .runState, .runResult,
        .inputTokens, .outputTokens, .cost, deletedAt: $now,
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
