"""The lock of a run, which every writer acquires first, and the locked state of the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import UnknownRun
from sidecypher_procedures.runs.model import RunStatus

NOW: Final = """
    CASE WHEN r.touchedAt >= datetime.realtime()
        THEN r.touchedAt + duration({nanoseconds: 1})
        ELSE datetime.realtime()
    END
"""
"""Expression for the next `touchedAt` of the run `r`. It grows even if the clock was set back."""

# Neo4j reads committed data. Reads after the SET happen under the lock, so no other call writes.
# A value read in the SET itself would be computed before the lock is held.
_LOCK: Final = f"""
    MATCH (r:WorkflowRun {{id: $runId}})
    SET r.lock = true
    WITH r, [id IN $ids + [r.lastEventId] WHERE id IS NOT NULL] AS ids
    RETURN r {{
            .lock, .lastSeq, .lastEventId, .state, .status, .result, .lineage, .lineageSeqs
        }} AS run,
        r.startedAt IS NOT NULL AS started, {NOW} AS now,
        COLLECT {{
            UNWIND ids AS id MATCH (e:Event {{id: id}})
            RETURN e {{.id, .runId, .seq, .contentDigest, .digest}}
        }} AS events
"""

_NO_END: Final = 2**62


class Part(TypedDict):
    """A range of events in one run: after one place, up to and including another."""

    runId: str
    after: int
    upTo: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event in the graph.

    Attributes:
        seq: Its place in the run that it was written to.
        content_digest: Digest of the caller's input.
        digest: Its digest in the chain.
    """

    id: str
    run_id: str
    seq: int
    content_digest: str
    digest: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A run that is locked by this transaction.

    Attributes:
        last_seq: The place of its latest event, 0 without events.
        last_id: The id of its latest event, None without events.
        parts: Ranges of its events, in order: those shared with other runs, then its own.
        now: The time of the lock, later than every earlier `touchedAt`.
        started: Whether it has been running.
        events: The requested events and the latest one, by id.
    """

    run_id: str
    last_seq: int
    last_id: str | None
    run_status: RunStatus
    parts: list[Part]
    now: datetime
    started: bool
    events: dict[str, StoredEvent]

    def holds(self, event: StoredEvent) -> bool:
        """Return whether an event is in this run, including the events shared with other runs."""
        return any(
            part["runId"] == event.run_id and part["after"] < event.seq <= part["upTo"]
            for part in self.parts
        )


def lock(ctx: Context, run_id: str, ids: Iterable[str] = ()) -> Lock:
    """Lock a run until the transaction ends, and read the existing events among `ids`.

    Raises:
        UnknownRun: No run has this id.
    """
    record = next(iter(ctx.run(_LOCK, runId=run_id, ids=list(ids))), None)
    # The SET does nothing if the run was deleted while this call waited for the lock.
    if record is None or not record["run"]["lock"]:
        raise unknown_run(run_id)
    run = record["run"]
    return Lock(
        run_id=run_id,
        last_seq=run["lastSeq"] or 0,
        last_id=run["lastEventId"],
        run_status=RunStatus.read(run["state"] or run["status"], run["result"]),
        parts=parts_of(run_id, run["lineage"], run["lineageSeqs"]),
        now=record["now"],
        started=record["started"],
        events={each["id"]: to_stored_event(each) for each in record["events"]},
    )


def parts_of(run_id: str, lineage: list[str] | None, seqs: list[int] | None) -> list[Part]:
    """Return the ranges of a run's events, in order.

    It shares events with the runs of its lineage, oldest first, up to a place in each.

    Example:
        >>> parts_of("fork", ["origin"], [7])[0]
        {'runId': 'origin', 'after': 0, 'upTo': 7}
    """
    shared = list(zip(lineage or [], seqs or [], strict=True))
    parts: list[Part] = []
    after = 0
    for name, up_to in (*shared, (run_id, _NO_END)):
        parts.append({"runId": name, "after": after, "upTo": up_to})
        after = up_to
    return parts


def to_stored_event(event: Mapping[str, Any]) -> StoredEvent:
    """Return an event from the map that a statement returns."""
    return StoredEvent(
        id=event["id"],
        run_id=event["runId"],
        seq=event["seq"],
        content_digest=event["contentDigest"],
        digest=event["digest"],
    )


def unknown_run(run_id: str) -> UnknownRun:
    """Return the error for a run that does not exist."""
    return UnknownRun(f"There is no run `{shown_id(run_id)}`")
