"""Statements of the engine, and a session as they read and write it, under its lock."""

import json
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, LiteralString, Protocol

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import StepFailed, UnknownSession
from sidecypher_procedures.session.references import NOTHING, Reference, to_json
from sidecypher_procedures.session.workflow import Step, read_step

Status = Literal["active", "awaiting_input", "completed", "error", "cancelled"]

OUTPUT_BYTES: Final = 1024 * 1024
"""The largest output of a step, in bytes of JSON."""

INPUT: Final = "input"
"""The name by which references find what a session was started with."""


class Tx(Protocol):
    """A transaction: that of a call, or one over Bolt."""

    def run(
        self, cypher: LiteralString, /, **params: Any
    ) -> Awaitable[Iterable[Mapping[str, Any]]]:
        """Run a statement."""


# The statements of each round begin at a unique index whatever the graph holds. To plan them again
# while it grows took most of Neo4j's time.
_ONCE: Final = "CYPHER replan=skip"

# What the engine must know of a step `t` of the session `s`. The order lets the index find the
# latest output without reading the others.
_STEP: Final = """{
        node: elementId(t),
        properties: properties(t),
        edges: COLLECT {
            MATCH (t)-[n:NEXT]->(u:STEP)
            RETURN {properties: properties(n), to: u.id, node: elementId(u)}
        },
        last: COLLECT {
            MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.stepId = t.id AND o.cycle >= 0
            RETURN o.cycle ORDER BY o.sessionId DESC, o.stepId DESC, o.cycle DESC LIMIT 1
        }[0],
        claim: COLLECT {
            MATCH (c:StepClaim {sessionId: s.id, stepId: t.id}) RETURN c {.*}
        }[0],
        request: COLLECT {
            MATCH (s)-[:AWAITS]->(r:InputRequest) WHERE r.stepId = t.id RETURN r {.*}
        }[0]
    }"""

_STEPS: Final = f"COLLECT {{ MATCH (s)-[:CURRENT]->(t:STEP) RETURN {_STEP} }}"
# Each by its own element id: for a list of them, Neo4j reads all nodes where they are few, and
# keeps that plan.
_NAMED_STEPS: Final = f"""COLLECT {{
        UNWIND $current AS node MATCH (t) WHERE elementId(t) = node RETURN {_STEP}
    }}"""

# A read in the SET itself would be computed before the lock is held.
_LOCK: Final = f"""
    {_ONCE}
    MATCH (s:SESSION {{id: $id}})
    SET s.updated_at = datetime.realtime()
    WITH s
    RETURN properties(s) AS session, s.updated_at AS now, {_STEPS} AS steps
"""
IN_WORKFLOW: Final = """
    CASE WHEN s.workflow IS NULL THEN t.workflow IS NULL
        ELSE t.workflow = s.workflow AND coalesce(t.version, 0) = coalesce(s.workflow_version, 0)
    END
"""
"""Condition of Cypher: whether a step `t` is in the workflow of a session `s`."""

# Whoever writes `next_steps` without the relationships, as older engines do.
_FOLLOW_NAMES: Final = f"""
    MATCH (s:SESSION {{id: $id}})
    CALL (s) {{
        MATCH (s)-[c:CURRENT]->(t) WHERE NOT t.id IN s.next_steps DELETE c
    }}
    CALL (s) {{
        UNWIND s.next_steps AS name
        MATCH (t:STEP {{id: name}}) WHERE {IN_WORKFLOW}
        MERGE (s)-[:CURRENT]->(t)
    }}
    RETURN {_STEPS} AS steps
"""
_WRITE: Final = f"""
    {_ONCE}
    MATCH (s:SESSION {{id: $id}})
    SET s += $session
    WITH s
    CALL (s) {{
        UNWIND $outputs AS each
        MATCH (t) WHERE elementId(t) = each.node
        CREATE (s)-[:HAS_OUTPUT]->(o:OUTPUT)-[:OF_STEP]->(t)
        SET o = each.properties, o.createdAt = s.updated_at
    }}
    RETURN {_NAMED_STEPS} AS steps
"""
_MOVE: Final = f"""
    {_ONCE}
    MATCH (s:SESSION {{id: $id}})
    CALL (s) {{
        MATCH (s)-[c:CURRENT]->(t) WHERE NOT elementId(t) IN $current DELETE c
    }}
    CALL (s) {{
        UNWIND $current AS node
        MATCH (t) WHERE elementId(t) = node
        MERGE (s)-[:CURRENT]->(t)
    }}
    FINISH
"""
_WRITE_REST: Final = """
    CYPHER replan=skip
    MATCH (s:SESSION {id: $id})
    CALL (s) {
        UNWIND $messages AS each
        CREATE (s)-[:HAS_MESSAGE]->(m:ChatMessage)
        SET m = each, m.sessionId = s.id, m.createdAt = s.updated_at
    }
    CALL (s) {
        UNWIND $errors AS each
        CREATE (s)-[:HAS_ERROR]->(e:StepError)
        SET e = each, e.sessionId = s.id, e.createdAt = s.updated_at
    }
    CALL (s) {
        UNWIND $released AS name
        MATCH (c:StepClaim {sessionId: s.id, stepId: name})
        DETACH DELETE c
    }
    CALL (s) {
        UNWIND $claims AS each
        MERGE (c:StepClaim {sessionId: s.id, stepId: each.stepId})
        SET c += each
        MERGE (s)-[:HAS_CLAIM]->(c)
    }
    CALL (s) {
        UNWIND $requests AS each
        MATCH (t) WHERE elementId(t) = each.node
        CREATE (s)-[:AWAITS]->(r:InputRequest)-[:OF_STEP]->(t)
        SET r = each.properties, r.sessionId = s.id, r.createdAt = s.updated_at
    }
    CALL (s) {
        UNWIND $closed AS each
        MATCH (s)-[a:AWAITS]->(r:InputRequest {id: each.id})
        SET r += each
        DELETE a
    }
    FINISH
"""
_OUTPUTS: Final = """
    CYPHER replan=skip
    UNWIND $wanted AS wanted
    CALL (wanted) {
        MATCH (o:OUTPUT)
        WHERE o.sessionId = wanted.session AND o.stepId = wanted.step AND o.cycle >= 0
        RETURN o.cycle AS last
        ORDER BY o.sessionId DESC, o.stepId DESC, o.cycle DESC LIMIT 1
    }
    MATCH (o:OUTPUT)
    WHERE o.sessionId = wanted.session AND o.stepId = wanted.step
    AND o.cycle = CASE WHEN wanted.cycle < 0 THEN last + 1 + wanted.cycle ELSE wanted.cycle END
    RETURN wanted.session AS session, wanted.step AS step, wanted.cycle AS cycle,
        o.value AS value
"""
_MESSAGES: Final = """
    MATCH (m:ChatMessage) WHERE m.sessionId = $id AND m.seq >= 0
    RETURN m.role AS role, m.content AS content ORDER BY m.sessionId, m.seq
"""
_VERSION: Final = "MATCH (s:SESSION {id: $id}) RETURN coalesce(s.version, 0) AS version"


@dataclass(slots=True)
class Pending:
    """A step that a session has to run.

    Attributes:
        cycle: The cycle of its next output.
        claim: Who runs it, or until when it waits; None if nobody has begun.
        request: The open request that it waits for, or None.
    """

    step: Step
    cycle: int
    claim: Mapping[str, Any] | None = None
    request: Mapping[str, Any] | None = None

    @property
    def is_begun(self) -> bool:
        """Whether it runs or waits, so that another branch that arrives runs it once more."""
        return self.claim is not None or self.request is not None


@dataclass(slots=True)
class Session:
    """A session that is locked by this transaction.

    Attributes:
        properties: Those of its node.
        now: The time of Neo4j.
        pending: Its next steps, in order, each once.
        names: Its next steps as they are stored: a step that runs, and has to run again, is twice.
        current: Element ids of the steps that its relationships `CURRENT` lead to.
    """

    id: str
    properties: dict[str, Any] = field(repr=False)
    now: datetime
    pending: list[Pending]
    names: list[str]
    current: set[str]

    @property
    def lost(self) -> list[str]:
        """Next steps that are not in its workflow."""
        found = {each.step.id for each in self.pending}
        return [name for name in self.names if name not in found]

    @property
    def status(self) -> Status:
        """Its status."""
        found: Status = self.properties.get("status") or "active"
        return found

    @property
    def version(self) -> int:
        """How often it was written."""
        return int(self.properties.get("version") or 0)

    @property
    def seq(self) -> int:
        """The number of its latest output, message or error."""
        return int(self.properties.get("seq") or 0)

    @property
    def failed(self) -> list[str]:
        """Ids of the steps that ended a branch by an error."""
        return list(self.properties.get("failed_steps") or [])


async def lock(tx: Tx, session_id: str) -> Session:
    """Lock a session until the transaction ends, and read its next steps.

    Raises:
        UnknownSession: No session has this id.
    """
    record = next(iter(await tx.run(_LOCK, id=session_id)), None)
    if record is None:
        raise unknown_session(session_id)
    properties = dict(record["session"])
    names = list(properties.get("next_steps") or [])
    pending = await _pending(tx, session_id, record["steps"], names)
    current = {each["node"] for each in record["steps"]}
    return Session(session_id, properties, record["now"], pending, names, current)


async def _pending(
    tx: Tx, session_id: str, records: Iterable[Mapping[str, Any]], names: list[str]
) -> list[Pending]:
    if {each["properties"]["id"] for each in records} != {*names}:
        [followed] = await tx.run(_FOLLOW_NAMES, id=session_id)
        records = followed["steps"]
    found = {}
    for each in records:
        step = read_step(each)
        last = -1 if each["last"] is None else each["last"]
        found[step.id] = Pending(step, last + 1, each["claim"], each["request"])
    return [found[name] for name in dict.fromkeys(names) if name in found]


@dataclass(slots=True)
class Changes:
    """What a round writes.

    Attributes:
        session: Properties of the session.
        outputs, requests: Properties, and the element id of the step they are of.
        closed: Properties of requests that are open no more, by their `id`.
        released: Ids of steps whose claim ends.
        names: The next steps, and in `current` their element ids.
    """

    session: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    closed: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)


async def write(tx: Tx, session: Session, changes: Changes) -> None:
    """Write a round, and bring the session up to date with it."""
    rest = ("messages", "errors", "claims", "released", "requests", "closed")
    if any(getattr(changes, name) for name in rest):
        # First, so that the steps below are read with their claims and requests.
        await tx.run(_WRITE_REST, id=session.id, **{name: getattr(changes, name) for name in rest})
    properties = {**changes.session, "next_steps": changes.names, "version": session.version + 1}
    [record] = await tx.run(
        _WRITE,
        id=session.id,
        session=properties,
        outputs=changes.outputs,
        current=changes.current,
    )
    session.properties |= properties
    session.names = changes.names
    session.pending = await _pending(tx, session.id, record["steps"], changes.names)


async def move(tx: Tx, session: Session) -> None:
    """Let `CURRENT` lead to the next steps of a session.

    The last write of a transaction: others cannot leave or reach the same steps from then on.
    """
    current = {each.step.node for each in session.pending}
    if current != session.current:
        await tx.run(_MOVE, id=session.id, current=[*current])
        session.current = current


class Memory:
    """The outputs of steps, read when they are needed.

    Args:
        is_foreign_allowed: Whether references may name other sessions.
    """

    def __init__(self, tx: Tx, session_id: str, *, is_foreign_allowed: bool) -> None:
        self._tx = tx
        self._session_id = session_id
        self._is_foreign_allowed = is_foreign_allowed
        self._known: dict[tuple[str, str, int], Any] = {}

    async def fetch(self, references: Iterable[Reference]) -> None:
        """Read what these references refer to, unless it is known."""
        wanted = {
            (each.session or self._session_id, each.step, each.cycle) for each in references
        } - self._known.keys()
        if not self._is_foreign_allowed:
            wanted = {each for each in wanted if each[0] == self._session_id}
        if not wanted:
            return
        named = [dict(zip(("session", "step", "cycle"), each, strict=True)) for each in wanted]
        self._known.update(dict.fromkeys(wanted, NOTHING))
        for record in await self._tx.run(_OUTPUTS, wanted=named):
            place = record["session"], record["step"], record["cycle"]
            self._known[place] = json.loads(record["value"])

    def add(self, step: str, cycle: int, value: Any) -> None:
        """Add a new output of the session."""
        for place in [*self._known]:
            if place[:2] == (self._session_id, step) and place[2] < 0:
                del self._known[place]
        self._known[self._session_id, step, cycle] = value
        self._known[self._session_id, step, -1] = value

    def lookup(self, session: str | None, step: str, cycle: int) -> Any:
        """Return an output that was fetched or added, or `NOTHING`."""
        return self._known.get((session or self._session_id, step, cycle), NOTHING)


def output_text(value: Any, step_id: str) -> str:
    """Return an output as JSON text.

    Raises:
        StepFailed: JSON does not have it, or it is too large.
    """
    try:
        text = to_json(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise StepFailed(
            f"The output of the step `{shown_id(step_id)}` has a value that JSON does not have",
            hint="Return texts, numbers, booleans, lists and maps.",
        ) from None
    if size > OUTPUT_BYTES:
        raise StepFailed(
            f"The output of the step `{shown_id(step_id)}` has {size} bytes",
            hint=f"Keep it below {OUTPUT_BYTES}; store larger things elsewhere, and their address "
            "here.",
        )
    return text


async def version_of(tx: Tx, session_id: str) -> int | None:
    """Return how often a session was written; None if it does not exist."""
    return next((each["version"] for each in await tx.run(_VERSION, id=session_id)), None)


async def chat_history(tx: Tx, session_id: str) -> list[dict[str, Any]]:
    """Return the messages of a session, the oldest first."""
    return [dict(each) for each in await tx.run(_MESSAGES, id=session_id)]


def unknown_session(session_id: str) -> UnknownSession:
    """Return the error for a session that does not exist."""
    return UnknownSession(f"There is no session `{shown_id(session_id)}`")
