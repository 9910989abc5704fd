"""Appending events to a run: one writer at a time, each event once, with the next number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Final, LiteralString

from sidecypher import Context, DateTime
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import (
    EventTaken,
    RunsError,
    SequenceConflict,
    TooManyParents,
    UnknownParent,
    UnknownReference,
)
from sidecypher_procedures.runs.event import Event, nanoseconds
from sidecypher_procedures.runs.lock import Lock, StoredEvent, lock, to_stored_event
from sidecypher_procedures.runs.model import DIGEST_VERSION, FINAL, RunStatus, Signer, sha256
from sidecypher_procedures.runs.options import MOST_IDS, RESULT_BYTES
from sidecypher_procedures.runs.settings import Configuration

INLINE_BYTES: Final = RESULT_BYTES
"""The longest text in an event. A longer one is stored in a `Payload`, shared by its events."""

INITIATED: Final = "initiated"
"""The status of a call of a tool until something else is known."""

_WRITE: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    SET r += $run
    WITH r
    UNWIND $events AS event
    CREATE (e:Event)-[:PART_OF]->(r)
    SET e = event.properties, e:$(event.labels)
    WITH e, event
    UNWIND event.parentIds AS parentId
    MATCH (p:Event {id: parentId})
    CREATE (p)-[:NEXT]->(e)
"""
_LINK_FIRST: Final = """
    MATCH (r:WorkflowRun {id: $runId}), (e:Event {id: $id})
    CREATE (r)-[:STARTS_WITH]->(e)
"""
_WRITE_PAYLOADS: Final = """
    UNWIND $payloads AS payload
    MATCH (e:Event {id: payload.id})
    MERGE (p:Payload {sha256: payload.sha256}) SET p.content = payload.content
    CREATE (e)-[:HAS_PAYLOAD]->(p)
"""
_LEAVES: Final = """
    UNWIND $parts AS part
    MATCH (e:Event)
    WHERE e.runId = part.runId AND e.seq > part.after AND e.seq <= part.upTo
    AND NOT EXISTS {
        MATCH (e)-[:NEXT]->(n:Event)
        WHERE any(other IN $parts WHERE n.runId = other.runId AND n.seq <= other.upTo)
    }
    RETURN e {.id, .runId, .seq, .contentDigest, .digest} AS event ORDER BY e.seq
"""


@dataclass(frozen=True, slots=True)
class Appended:
    """An event in its run, as passed and as stored.

    Attributes:
        run_status: The status of the run after it.
        duplicate: Whether it was there before; `parents` and `sealed` are empty then.
        sealed: Properties that its digest covers besides its content, and how it was computed.
    """

    event: Event
    known: StoredEvent
    run_status: RunStatus
    duplicate: bool
    parents: tuple[StoredEvent, ...] = ()
    sealed: Mapping[str, Any] = field(default_factory=dict)


def append(
    ctx: Context, run_id: str, events: Sequence[Event], expected_seq: int | None = None
) -> list[Appended]:
    """Append events to a run under one lock. Existing events are not changed.

    `expected_seq` is the expected place of the run's latest event; None accepts any.

    Raises:
        UnknownRun: No run has this id.
        EventTaken: An id belongs to an event with other content, or to another run.
        SequenceConflict: The run's latest event is at another place.
        UnknownParent: A parent is not an event of this run.
        IllegalState: The run cannot enter the state that an event sets.
    """
    named = {name for event in events for name in (event.id, *(event.parent_ids or ()))}
    held = lock(ctx, run_id, sorted(named))
    signer = ctx.resource(Configuration).signer
    done = list(_Appender(ctx, held, signer, expected_seq).place(events))
    new = [each for each in done if not each.duplicate]
    if new:
        _write(ctx, held, new)
        numbers = {event.id: number for number, event in enumerate(events)}
        link(ctx, held, [each.event for each in new], numbers)
    return done


def _numbered(error: RunsError, number: int, events: Sized) -> RunsError:
    """Return the error with the number of its event, unless there is only one."""
    if len(events) == 1:
        return error
    return type(error)(f"`events[{number}]`: {error.message}", hint=error.hint)


class _Appender:
    """Assigns places and parents to events, one after the other, without writing."""

    def __init__(self, ctx: Context, held: Lock, signer: Signer, expected_seq: int | None) -> None:
        self._ctx = ctx
        self._signer = signer
        self._held = held
        self._expected = expected_seq
        self._events = dict(held.events)
        self._seq = held.last_seq
        self._new: list[StoredEvent] = []
        self._run_status = held.run_status
        self._followed: set[str] = set()
        self._leaves: list[StoredEvent] | None = None

    def place(self, events: Sequence[Event]) -> Iterator[Appended]:
        for number, event in enumerate(events):
            known = self._events.get(event.id)
            try:
                placed = self._duplicate(event, known) if known else self._new_event(event)
            except RunsError as error:
                raise _numbered(error, number, events) from None
            yield placed

    def _duplicate(self, event: Event, known: StoredEvent) -> Appended:
        if not self._held.holds(known):
            raise EventTaken(f"The id `{shown_id(event.id)}` belongs to an event of another run")
        if known.content_digest != event.content_digest:
            raise EventTaken(f"The id `{shown_id(event.id)}` belongs to an event of other content")
        return Appended(event, known, self._run_status, duplicate=True)

    def _new_event(self, event: Event) -> Appended:
        if self._expected not in {None, self._held.last_seq}:
            raise SequenceConflict(
                f"The latest event of the run is at {self._held.last_seq}, not {self._expected}"
            )
        parents = self._parents(event)
        self._run_status = self._run_status.after(event.type.storage, event.state)
        self._seq += 1
        content_digest = event.content_digest
        created_at = event.created_at or _after(self._held.now, len(self._new))
        agent = None if event.agent is None else self._signer.digest(event.agent)
        known = StoredEvent(
            id=event.id,
            run_id=self._held.run_id,
            seq=self._seq,
            content_digest=content_digest,
            digest=self._signer.chained(
                content_digest,
                self._seq,
                (parent.digest for parent in parents),
                nanoseconds(created_at),
                agent,
            ),
        )
        self._events[event.id] = known
        self._new.append(known)
        self._followed.update(parent.id for parent in parents)
        sealed = {
            "createdAt": created_at,
            "agentDigest": agent,
            "digestVersion": DIGEST_VERSION,
            "digestKey": self._signer.key_name,
        }
        return Appended(
            event, known, self._run_status, duplicate=False, parents=parents, sealed=sealed
        )

    def _parents(self, event: Event) -> tuple[StoredEvent, ...]:
        if event.join:
            return self._joined()
        if event.parent_ids is not None:
            return tuple(self._parent(name) for name in event.parent_ids)
        if self._new:
            return (self._new[-1],)
        return () if self._held.last_id is None else (self._parent(self._held.last_id),)

    def _parent(self, name: str) -> StoredEvent:
        parent = self._events.get(name)
        if parent is None:
            raise UnknownParent(f"There is no event `{shown_id(name)}` that could be a parent")
        if not self._held.holds(parent):
            raise UnknownParent(f"The event `{shown_id(name)}` belongs to another run")
        return parent

    def _joined(self) -> tuple[StoredEvent, ...]:
        leaves = tuple(self._open_leaves())
        if len(leaves) > MOST_IDS:
            raise TooManyParents(
                f"The event joins {len(leaves)} others",
                hint=f"At most {MOST_IDS} can be joined.",
            )
        return leaves

    def _open_leaves(self) -> Iterator[StoredEvent]:
        if self._leaves is None:
            found = self._ctx.run(_LEAVES, parts=self._held.parts)
            self._leaves = [to_stored_event(record["event"]) for record in found]
        for leaf in (*self._leaves, *self._new):
            if leaf.id not in self._followed:
                yield leaf


def _write(ctx: Context, held: Lock, new: Sequence[Appended]) -> None:
    payloads = {
        each.known.id: {"sha256": sha256(each.event.content), "content": each.event.content}
        for each in new
        if each.event.content is not None and _is_long(each.event.content)
    }
    ctx.run(
        _WRITE,
        runId=held.run_id,
        run=_run_properties(held, new),
        events=[
            {
                "properties": _properties(each) | _text(each, payloads),
                "labels": list(each.event.type.labels),
                "parentIds": [parent.id for parent in each.parents],
            }
            for each in new
        ],
    )
    if held.last_seq == 0:
        ctx.run(_LINK_FIRST, runId=held.run_id, id=new[0].known.id)
    if payloads:
        kept = [{"id": name, **payload} for name, payload in payloads.items()]
        # A fixed order, so that two writers of the same texts cannot deadlock.
        ctx.run(_WRITE_PAYLOADS, payloads=sorted(kept, key=itemgetter("sha256")))


def _is_long(content: str) -> bool:
    return len(content.encode("utf-8", "surrogatepass")) > INLINE_BYTES


def _text(each: Appended, payloads: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the property with the text of an event, or with the key of its payload."""
    payload = payloads.get(each.known.id)
    if payload is not None:
        return {"payloadSha256": payload["sha256"]}
    return {} if each.event.content is None else {"content": each.event.content}


def _run_properties(held: Lock, new: Sequence[Appended]) -> dict[str, Any]:
    last = new[-1]
    properties: dict[str, Any] = {
        "lastSeq": last.known.seq,
        "lastEventId": last.known.id,
        "touchedAt": _after(held.now, len(new) - 1),
        "state": last.run_status.state,
        "status": last.run_status.state,
    }
    for each in new:
        result = each.run_status.result or _result(each.event)
        if result is not None:
            properties["result"] = result
    if not held.started and any(each.run_status.state == "running" for each in new):
        properties["startedAt"] = held.now
    changes = [each.run_status for each in new if each.run_status != held.run_status]
    if changes:
        properties["completedAt"] = held.now if last.run_status.state in FINAL else None
    return properties


def _result(event: Event) -> str | None:
    """Return the result of the run that an event completes, None if it has none."""
    if event.type.storage != "workflowCompleted" or event.content is None:
        return None
    return None if _is_long(event.content) else event.content


def _after(moment: datetime, nanoseconds: int) -> DateTime:
    """Return a time plus nanoseconds, so that each event of a batch has its own time."""
    whole, extra = divmod(getattr(moment, "nanosecond", 0) % 1000 + nanoseconds, 1000)
    return DateTime.of(moment + timedelta(microseconds=whole), extra)


def _properties(each: Appended) -> dict[str, Any]:
    event, known = each.event, each.known
    properties = {
        "status": INITIATED if event.type.storage == "toolCall" else None,
        **event.stored,
        "id": known.id,
        "runId": known.run_id,
        "seq": known.seq,
        **each.sealed,
        "timestamp": each.sealed["createdAt"],
        "given": event.given or None,
        "contentDigest": known.content_digest,
        "digest": known.digest,
        "runState": each.run_status.state,
        "runResult": each.run_status.result,
    }
    if event.type.role is not None:
        properties["role"] = event.type.role
    return properties


# Each statement returns the ids that it has found; an agent is always found.
_AGENTS: Final = """
    UNWIND $links AS link
    MATCH (e:Event {id: link.from})
    MERGE (a:AIAgent {id: link.to})
    CREATE (e)-[:EXECUTED_BY]->(a)
    RETURN a.id AS id
"""


def _to(label: LiteralString, relationship: LiteralString) -> LiteralString:
    return f"""
        UNWIND $links AS link
        MATCH (e:Event {{id: link.from}}), (t:{label} {{id: link.to}})
        CREATE (e)-[:{relationship}]->(t)
        RETURN t.id AS id
    """


_LINK: Final[dict[str, LiteralString]] = {
    "EXECUTED_BY": _AGENTS,
    "RESPONDS_TO": _to("Message", "RESPONDS_TO"),
    "REFERENCES": _to("Issue", "REFERENCES"),
    "SUGGESTS_EDIT_TO": _to("Plan", "SUGGESTS_EDIT_TO"),
}
_TARGET: Final = {
    "RESPONDS_TO": "message",
    "REFERENCES": "issue",
    "SUGGESTS_EDIT_TO": "plan",
}
# A result belongs to the latest call with its id: ids of calls repeat in long runs. A call in
# the run that this one was forked from is not changed.
_ANSWER: Final = """
    UNWIND $answers AS answer
    MATCH (result:Event {id: answer.from})
    CALL (answer, result) {
        MATCH (call:ToolCall)
        WHERE call.runId = $runId AND call.toolCallId = answer.to AND call.seq < result.seq
        RETURN call ORDER BY call.runId DESC, call.toolCallId DESC, call.seq DESC LIMIT 1
    }
    CREATE (call)-[:HAS_RESULT]->(result), (result)-[:RESULT_OF]->(call)
    SET call.status = CASE WHEN result.isError THEN 'failed' ELSE 'completed' END
"""


def link(ctx: Context, held: Lock, events: Sequence[Event], numbers: Mapping[str, int]) -> None:
    """Write the references of new events, whose ids have numbers in the call.

    Raises:
        UnknownReference: A referenced node does not exist.
    """
    for kind, statement in _LINK.items():
        links = [
            {"from": event.id, "to": target}
            for event in events
            for target in event.links.get(kind, ())
        ]
        if links:
            # A fixed order, so that two writers of the same nodes cannot deadlock.
            links.sort(key=itemgetter("to"))
            found = {record["id"] for record in ctx.run(statement, links=links)}
            for each in links:
                if each["to"] not in found:
                    raise _numbered(_unknown(kind, each["to"]), numbers[each["from"]], numbers)
    answers = [
        {"from": event.id, "to": event.tool_call_id}
        for event in events
        if event.type.storage == "toolCallResult" and event.tool_call_id
    ]
    if answers:
        ctx.run(_ANSWER, answers=answers, runId=held.run_id)


def _unknown(kind: str, name: str) -> UnknownReference:
    return UnknownReference(
        f"There is no {_TARGET[kind]} `{shown_id(name)}` that the event could refer to",
        hint="Write it first, or leave the reference out.",
    )


# A writer of the same text sets it under the same lock, so each sees what the other did. The node
# stays, since that writer may have found it already.
_RELEASE: Final = """
    UNWIND $payloads AS sha256
    MATCH (p:Payload {sha256: sha256})
    SET p.content = p.content
    WITH p WHERE NOT EXISTS { (p)<-[:HAS_PAYLOAD]-() }
    REMOVE p.content
"""


def release(ctx: Context, payloads: Iterable[str]) -> None:
    """Erase the texts, given by their SHA-256, that no event uses any more."""
    names = sorted(set(payloads))
    if names:
        # A fixed order, so that two writers of the same texts cannot deadlock.
        ctx.run(_RELEASE, payloads=names)
