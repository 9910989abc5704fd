"""The lock of a run, which every writer of it takes first, and what it then finds there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import UnknownRun
from sidecypher_procedures.runs.model import RunStatus, state_of

NOW: Final = """
    CASE WHEN r.touchedAt >= datetime.realtime()
        THEN r.touchedAt + duration({nanoseconds: 1})
        ELSE datetime.realtime()
    END
"""
"""The time at which the run `r` is touched: later than any time before, also if the clock was set
back."""

# Neo4j reads what is committed; what is read after the SET has the lock, so no other call
# writes. Its own value would be computed before it has the lock.
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
    """Some events of one run, those after a place and up to another."""

    runId: str
    after: int
    upTo: int


@dataclass(frozen=True, slots=True)
class Known:
    """An event that is in the graph.

    Attributes:
        seq: Its place in the run that it was written to.
        content_digest: The digest of what its caller gave.
        digest: Its digest in the chain.
    """

    id: str
    run_id: str
    seq: int
    content_digest: str
    digest: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A run that this transaction has to itself until it ends.

    Attributes:
        last_seq: The place of its latest event, 0 without one.
        last_id: The id of its latest event, None without one.
        parts: Where its events are, in order: those it shares with other runs, then its own.
        now: The time at which the lock was had, later than the run was touched before.
        started: Whether it has run.
        events: The events that were asked for, and the latest one, by id.
    """

    run_id: str
    last_seq: int
    last_id: str | None
    standing: RunStatus
    parts: list[Part]
    now: datetime
    started: bool
    events: dict[str, Known]

    def holds(self, event: Known) -> bool:
        """Tell whether an event is one of this run, or of what it shares with another."""
        return any(
            part["runId"] == event.run_id and part["after"] < event.seq <= part["upTo"]
            for part in self.parts
        )


def lock(ctx: Context, run_id: str, ids: Iterable[str] = ()) -> Lock:
    """Lock a run until the transaction ends, and read those of the events `ids` that exist.

    Raises:
        UnknownRun: No run has this id.
    """
    record = next(iter(ctx.run(_LOCK, runId=run_id, ids=list(ids))), None)
    # Of a run that somebody has deleted while this one waited, the SET does nothing.
    if record is None or not record["run"]["lock"]:
        raise unknown_run(run_id)
    run = record["run"]
    return Lock(
        run_id=run_id,
        last_seq=run["lastSeq"] or 0,
        last_id=run["lastEventId"],
        standing=RunStatus(state_of(run["state"] or run["status"]), run["result"]),
        parts=parts_of(run_id, run["lineage"], run["lineageSeqs"]),
        now=record["now"],
        started=record["started"],
        events={each["id"]: known_as(each) for each in record["events"]},
    )


def parts_of(run_id: str, lineage: list[str] | None, seqs: list[int] | None) -> list[Part]:
    """Return where the events of a run are, in order.

    It shares events of the runs of the lineage, the oldest first, up to a place of each.

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


def known_as(event: Mapping[str, Any]) -> Known:
    """Read an event as a statement gives it."""
    return Known(
        id=event["id"],
        run_id=event["runId"],
        seq=event["seq"],
        content_digest=event["contentDigest"],
        digest=event["digest"],
    )


def unknown_run(run_id: str) -> UnknownRun:
    """Make the error that tells that there is no such run."""
    return UnknownRun(f"There is no run `{shown_id(run_id)}`")
