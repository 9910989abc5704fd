"""A round of a session: what each of its next steps comes to, and what is written of it."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sidecypher import CypherError
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.conditions import Evaluation, referenced
from sidecypher_procedures.session.errors import SessionError, StepFailed
from sidecypher_procedures.session.functions import OUTSIDE, Functions, Place, check_input
from sidecypher_procedures.session.mirrors import write_mirrored
from sidecypher_procedures.session.outcomes import (
    Asked,
    Delegated,
    Done,
    Failed,
    Message,
    Outcome,
    StepCall,
    Waiting,
)
from sidecypher_procedures.session.references import (
    DIALECTS,
    STRICT,
    Missing,
    Reference,
    references_in,
    resolve,
)
from sidecypher_procedures.session.store import (
    Changes,
    Memory,
    Pending,
    Session,
    Tx,
    chat_history,
    output_text,
    version_of,
)
from sidecypher_procedures.session.workflow import Step

MOST_ROUNDS: Final = 100
"""How many rounds a session may take without an answer of a person."""

LEASE_SECONDS: Final = 5.0
"""How long after the time of its body a claim ends, and another sidecar may run the step."""

LOST_TRIES: Final = 5
"""How often a step is begun that ends together with its sidecar each time, beside its retries."""

LONGEST_BACKOFF: Final = 3600.0
"""The longest time in seconds between two tries."""

# A list of next steps grows where branches meet at a step that runs.
_MOST_NEXT: Final = 1000


ENDED: Final = frozenset({"completed", "error", "cancelled"})
"""Statuses of sessions that have ended."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A step that whoever has this may run, outside of any transaction, and then record.

    Attributes:
        token: No other claim has it, so a claim that has passed to another records nothing.
        given: The input of the step, with what its references refer to.
        seconds: How long its body may take.
    """

    session_id: str
    step_id: str
    cycle: int
    token: str
    function: str
    given: Mapping[str, Any] = field(repr=False)
    seconds: float
    history: list[dict[str, Any]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one transaction may do with a session.

    Attributes:
        places: Where functions may run: those of other places are left.
        owner: Who claims the steps that run outside of a transaction; None claims none.
        steps: How many steps at most.
    """

    places: frozenset[Place]
    owner: str | None = None
    steps: int | None = None


class StepBroken(StepFailed):
    """A statement of a step failed, and with it the transaction.

    Attributes:
        step_id, cycle: Of the execution.
        reason: What a session records of it in another transaction.
    """

    def __init__(self, step_id: str, cycle: int, reason: str) -> None:
        super().__init__(f"The step `{shown_id(step_id)}` failed: {reason}")
        self.step_id = step_id
        self.cycle = cycle
        self.reason = reason


class Round:
    """One round: what each of the next steps comes to, and what is written of it."""

    def __init__(
        self,
        functions: Functions,
        tx: Tx,
        session: Session,
        memory: Memory,
        limits: Limits,
    ) -> None:
        self.claims: list[Claim] = []
        self.sessions: list[str] = []
        self.taken = 0
        self.is_cut = False
        self.is_blocked = False
        self._blocked: set[str] = set()
        self._functions = functions
        self._tx = tx
        self._session = session
        self._memory = memory
        self._limits = limits
        self._changes = Changes()
        self._seq = session.seq
        self._begun = {each.step.id for each in session.pending if each.is_begun}
        self._moved: dict[str, list[tuple[str, str | None]]] = {}
        self._failed = session.failed
        self._is_over = False
        self._dialect = DIALECTS.get(session.properties.get("compat") or "", STRICT)

    async def run(self, left: int | None, *, has_written: bool) -> bool:
        """Run each step that can be run here, `left` at most; return whether any could.

        `has_written` says that this transaction has written something before.
        """
        if self._session.lost:
            for name in self._session.lost:
                self._give_up(name, 0, "It is not in the workflow of the session")
            return True
        able = [each for each in self._session.pending if self._can(each)]
        ready = await self._unblocked(able)
        self._blocked = {each.step.id for each in able if each not in ready}
        due = self._session.properties.get("lease_until")
        # Else whoever looks for due sessions would find it again and again.
        self.is_blocked = not ready and bool(able) and due is not None and due <= self._session.now
        if self._limits.owner is not None:
            ready = self._before_graph(ready, has_written=has_written)
        if not ready:
            return False
        rounds = int(self._session.properties.get("rounds") or 0) + 1
        most = int(self._session.properties.get("max_rounds") or MOST_ROUNDS)
        if rounds > most:
            reason = f"The session has taken {most} rounds without an answer"
            self._give_up(ready[0].step.id, ready[0].cycle, reason)
            return True
        self._changes.session["rounds"] = rounds
        ready = ready[:left]
        await self._fetch(ready)
        for each in ready:
            outcome = await self._outcome(each)
            if outcome is not None:
                self._apply(each, outcome)
            self.taken += 1
        return True

    def _can(self, pending: Pending) -> bool:
        """Return whether a step can be run now, and here."""
        claim = pending.claim
        if pending.request is not None and claim is None:
            return False
        if claim is not None and claim["kind"] == "session":
            return claim.get("ended") is not None
        if claim is not None and claim["leaseUntil"] > self._session.now:
            return False
        place = self._functions.place(pending.step.function)
        return place in self._limits.places or (
            place == "outside" and self._limits.owner is not None
        )

    def _before_graph(self, ready: list[Pending], *, has_written: bool) -> list[Pending]:
        """Return the steps before the first whose statements may fail; that one if it is alone.

        With its transaction everything would be lost that is in it.
        """
        for index, each in enumerate(ready):
            if self._functions.place(each.step.function) == "graph":
                self.is_cut = True
                return ready[:1] if index == 0 and not has_written else ready[:index]
        return ready

    async def _unblocked(self, ready: list[Pending]) -> list[Pending]:
        """Return those that are no joins which another branch can still reach."""
        joins = [each for each in ready if each.step.is_join]
        if not joins or len(self._session.pending) == 1:
            return ready
        reached = await reachable(
            self._tx, [each.step.node for each in self._session.pending if each not in joins]
        )
        free = [each for each in ready if each not in joins or each.step.node not in reached]
        others = [each for each in self._session.pending if each not in joins]
        # Joins that wait for each other only: one has to be the first.
        return free or ([] if others else joins[:1])

    async def _fetch(self, ready: Iterable[Pending]) -> None:
        references: list[Reference] = []
        for each in ready:
            references += _of_edges(each)
            try:
                references += references_in(each.step.input)
            except SessionError:
                # Told where the step is run.
                continue
        await self._memory.fetch(references)

    async def _outcome(self, pending: Pending) -> Outcome | None:
        """Run a step; None if it was claimed, to be run outside of the transaction."""
        step, claim = pending.step, pending.claim
        most = self._session.properties.get("max_outputs")
        if most is not None and pending.cycle >= most:
            reason = f"The step has {most} outputs, the `maxOutputsPerStep` of the session"
            self._give_up(step.id, pending.cycle, reason)
            return None
        if pending.request is not None:
            self._changes.closed.append({"id": pending.request["id"], "status": "cancelled"})
            return Failed("Nobody has answered in time", is_final=True)
        if claim is not None and claim["kind"] in {"wait", "session"}:
            return await self._functions.ended(self._tx, claim)
        if claim is not None and claim["kind"] == "run":
            tries = claim["tries"]
            if tries >= step.retries + LOST_TRIES:
                return Failed(f"No sidecar that has run it was there at its end, {tries} times")
        try:
            for edge in step.edges:
                edge.condition  # noqa: B018 - none follows a step whose edges cannot be read
            check_input(step.function, step.input)
            given = resolve(step.input, self._memory.lookup, self._dialect)
        except Missing as error:
            return Failed(f"`{error.reference}` is not there, and has no default", is_final=True)
        except SessionError as error:
            return Failed(error.message, is_final=True)
        if self._functions.place(step.function) == "outside":
            await self._claim(pending, given)
            return None
        return await self._run(pending, given)

    async def _run(self, pending: Pending, given: dict[str, Any]) -> Outcome:
        step = pending.step
        call = StepCall(self._tx, self._session, step, pending.cycle, given)
        try:
            outcome = await self._functions.run(call)
            if self._functions.place(step.function) == "graph" and (
                await version_of(self._tx, self._session.id) != self._session.version
            ):
                reason = "It has changed its own session, which only the engine may"
                raise StepBroken(step.id, pending.cycle, reason)
        except CypherError as error:
            if error.neo4j_code.startswith(_TRY_AGAIN):
                raise
            # Not Neo4j's text, which may hold data.
            reason = f"Its statement failed: {error.neo4j_code}"
            raise StepBroken(step.id, pending.cycle, reason) from error
        return outcome

    async def _claim(self, pending: Pending, given: Mapping[str, Any]) -> None:
        step = pending.step
        claim = Claim(
            self._session.id,
            step.id,
            pending.cycle,
            uuid4().hex,
            step.function,
            given,
            step.seconds,
            await self._history(step, given),
        )
        self.claims.append(claim)
        self._hold(pending, "run", step.seconds + LEASE_SECONDS, token=claim.token)

    async def _history(self, step: Step, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        if step.function in OUTSIDE and given.get("include_history") is not True:
            return []
        return await chat_history(self._tx, self._session.id)

    def _hold(
        self,
        pending: Pending,
        kind: str,
        seconds: float | None = None,
        until: datetime | None = None,
        **more: Any,
    ) -> None:
        """Keep a step among the next ones, and others from running it before a time."""
        now = self._session.now
        tries = (pending.claim or {}).get("tries", 0) + (kind == "run")
        properties = {
            "stepId": pending.step.id,
            "cycle": pending.cycle,
            "kind": kind,
            "owner": self._limits.owner,
            "token": None,
            "tries": tries,
            "startedAt": (pending.claim or {}).get("startedAt") or now,
            "leaseUntil": until if seconds is None else now + timedelta(seconds=seconds),
            **more,
        }
        self._changes.claims.append(properties)
        self._begun.add(pending.step.id)

    async def settle(self, pending: Pending, outcome: Outcome) -> None:
        """Take up what a step came to that this round has not run."""
        await self._memory.fetch(_of_edges(pending))
        self._apply(pending, outcome)

    def _apply(self, pending: Pending, outcome: Outcome) -> None:
        match outcome:
            case Done():
                self._done(pending, outcome)
            case Failed():
                self._fail(pending, outcome)
            case Asked(request, messages):
                self._say(pending, messages)
                self._seq += 1
                properties = {
                    **request,
                    "id": str(uuid4()),
                    "stepId": pending.step.id,
                    "cycle": pending.cycle,
                    "seq": self._seq,
                    "status": "open",
                }
                self._changes.requests.append({"node": pending.step.node, "properties": properties})
                self._begun.add(pending.step.id)
                if pending.step.has_time:
                    self._hold(pending, "request", pending.step.seconds)
            case Waiting(until):
                self._hold(pending, "wait", until=until)
            case Delegated(child):
                self._hold(pending, "session", child=child, ended=None)
                self.sessions.append(child)

    async def answer(self, pending: Pending, closed: dict[str, Any], done: Done) -> None:
        """Take up the answer to the request that a step waits for."""
        await self._memory.fetch(_of_edges(pending))
        self._changes.closed.append(closed)
        self._changes.session["rounds"] = 0
        self._done(pending, done)

    def _done(self, pending: Pending, done: Done) -> None:
        step = pending.step
        try:
            text = output_text(done.value, step.id)
        except StepFailed as error:
            self._fail(pending, Failed(f"{error.message}. {error.hint}", is_final=True))
            return
        self._say(pending, done.messages)
        self._seq += 1
        claim = pending.claim or {}
        properties = {
            "sessionId": self._session.id,
            "stepId": step.id,
            "cycle": pending.cycle,
            "value": text,
            "seq": self._seq,
            "tries": claim.get("tries") or 1,
            "startedAt": claim.get("startedAt") or self._session.now,
        }
        self._changes.outputs.append({"node": step.node, "properties": properties})
        self._memory.add(step.id, pending.cycle, done.value)
        self._release(pending)
        self._move(pending)
        properties["next"] = self._targets(step.id)

    def _move(self, pending: Pending) -> None:
        """Follow the edges of a step whose conditions hold."""
        evaluation = Evaluation(self._memory.lookup, self._dialect)
        targets: list[tuple[str, str | None]] = []
        for edge in pending.step.edges:
            before = len(evaluation.missing)
            if evaluation.holds(edge.condition):
                targets.append((edge.to, edge.node))
            for name in evaluation.missing[before:]:
                reason = f"`{name}` is not there, so a condition to `{edge.to}` is false"
                self._tell(pending.step.id, pending.cycle, reason, severity="warning")
        self._moved[pending.step.id] = targets

    def _fail(self, pending: Pending, failed: Failed) -> None:
        step = pending.step
        tries = max(1, (pending.claim or {}).get("tries", 0))
        if not failed.is_final and tries <= step.retries:
            # Half of it to one and a half, so that what failed together is not tried together.
            factor = 2 ** min(tries - 1, 20) * random.uniform(0.5, 1.5)  # noqa: S311
            seconds = min(step.backoff * factor, LONGEST_BACKOFF)
            is_outside = self._functions.place(step.function) == "outside"
            self._hold(pending, "retry", seconds, tries=tries if is_outside else tries + 1)
            return
        self._tell(step.id, pending.cycle, failed.reason, tries=tries)
        error = self._changes.errors[-1]
        self._release(pending)
        match step.on_error.partition(":"):
            case ("continue", _, _):
                self._move(pending)
            case ("step", _, name):
                self._moved[step.id] = [(name, None)]
            case _:
                self._failed.append(step.id)
                self._moved[step.id] = []
        error["next"] = self._targets(step.id)

    def _targets(self, step_id: str) -> list[str]:
        """Return the ids of the steps that a step has led to, for pictures of the way taken."""
        return [name for name, _ in self._moved[step_id]]

    def _give_up(self, step_id: str, cycle: int, reason: str) -> None:
        """End the session by an error."""
        self._tell(step_id, cycle, reason)
        self._is_over = True

    def _tell(
        self, step_id: str, cycle: int, reason: str, *, severity: str = "error", tries: int = 1
    ) -> None:
        self._seq += 1
        self._changes.errors.append(
            {
                "seq": self._seq,
                "stepId": step_id,
                "cycle": cycle,
                "error": reason,
                "severity": severity,
                "tries": tries,
            }
        )

    def _say(self, pending: Pending, messages: Iterable[Message]) -> None:
        for each in messages:
            self._seq += 1
            self._changes.messages.append(
                {
                    "seq": self._seq,
                    "stepId": pending.step.id,
                    "cycle": pending.cycle,
                    "role": each.role,
                    "content": each.content,
                }
            )

    def _release(self, pending: Pending) -> None:
        if pending.claim is not None:
            self._changes.released.append(pending.step.id)

    async def write(self) -> None:
        """Write what the round came to."""
        changes, session = self._changes, self._session
        if self._is_over:
            self._failed = list(dict.fromkeys([*self._failed, *session.names]))
            self._close_requests()
        else:
            self._follow()
        changes.session |= {"seq": self._seq, "failed_steps": self._failed, **self._status()}
        await write_mirrored(self._tx, session, changes)
        if session.status in ENDED:
            self.sessions += await tell_parent(self._tx, session)

    def _close_requests(self) -> None:
        """Ask nothing more, and end the time that answers had: a retried session asks again."""
        changes, pending = self._changes, self._session.pending
        changes.closed += cancelled(self._session)
        changes.released += [
            each.step.id for each in pending if each.claim and each.claim["kind"] == "request"
        ]
        changes.requests.clear()
        changes.claims = [each for each in changes.claims if each["kind"] != "request"]

    def _follow(self) -> None:
        """Work out the next steps."""
        names: list[str] = []
        nodes = {each.step.id: each.step.node for each in self._session.pending}
        seen: set[str] = set()
        arriving: list[str] = []
        for name in self._session.names:
            if name in self._moved and name not in seen:
                arriving += [target for target, _ in self._moved[name]]
                nodes |= {target: node for target, node in self._moved[name] if node is not None}
            else:
                names.append(name)
            seen.add(name)
        for name in arriving:
            # Whoever arrives where a step already runs lets it run once more.
            if name not in names or (name in self._begun and name not in self._moved):
                names.append(name)
        self._changes.names = names[:_MOST_NEXT]
        self._changes.current = [nodes[name] for name in dict.fromkeys(names) if name in nodes]

    def _status(self) -> dict[str, Any]:
        """Return the status of the session, and when somebody has to look at it."""
        names = self._changes.names
        if self._is_over or (not names and self._failed):
            return {"status": "error", "lease_until": None}
        if not names:
            return {"status": "completed", "lease_until": None}
        asked = {each["properties"]["stepId"] for each in self._changes.requests}
        asked |= {each.step.id for each in self._session.pending if each.request is not None}
        held = {
            each.step.id: each.claim for each in self._session.pending if each.claim is not None
        }
        held |= {each["stepId"]: each for each in self._changes.claims}
        # A step that has moved and is there again begins anew.
        begun = {name for name in {*names} if name not in self._moved}
        waiting = {name for name in names if name in asked and name in begun}
        times = [
            held[name].get("leaseUntil") if name in held and name in begun else self._session.now
            for name in names
            # Without a claim, only an answer lets a request go on; and only others let a join.
            if name in held or not (name in waiting or name in self._blocked)
        ]
        due = min((each for each in times if each is not None), default=None)
        is_asking = bool(waiting) and waiting | self._blocked >= {*names}
        return {"status": "awaiting_input" if is_asking else "active", "lease_until": due}


def _of_edges(pending: Pending) -> list[Reference]:
    """Return the references in the conditions behind a step, as far as they can be read."""
    try:
        conditions = [edge.condition for edge in pending.step.edges]
    except SessionError:
        return []
    return [
        reference
        for condition in conditions
        for value in referenced(condition)
        for reference in references_in(value)
    ]


_TRY_AGAIN: Final = ("Neo.TransientError.", "Neo.ClientError.Transaction.")

_REACHABLE: Final = """
    UNWIND $nodes AS node
    MATCH (t:STEP) WHERE elementId(t) = node
    MATCH (t)-[:NEXT]->(u:STEP)
    RETURN DISTINCT elementId(u) AS node
"""
_TELL_PARENT: Final = """
    MATCH (p:SESSION {id: $parent})
    SET p.lease_until = datetime.realtime()
    WITH p
    MATCH (c:StepClaim {sessionId: p.id, stepId: $step}) WHERE c.child = $id
    SET c.ended = $status
    RETURN p.id AS id
"""


async def reachable(tx: Tx, nodes: Iterable[str]) -> set[str]:
    """Return the element ids of the steps that edges lead to from these, over any others."""
    found: set[str] = set()
    layer = [*nodes]
    while layer:
        records = await tx.run(_REACHABLE, nodes=layer)
        layer = [each["node"] for each in records if each["node"] not in found]
        found.update(layer)
    return found


async def tell_parent(tx: Tx, session: Session) -> list[str]:
    """Let the session that waits for this one go on; return its id."""
    parent = session.properties.get("parent")
    if parent is None:
        return []
    step = session.properties.get("parent_step")
    told = await tx.run(
        _TELL_PARENT, parent=parent, step=step, id=session.id, status=session.status
    )
    return [each["id"] for each in told]


def cancelled(session: Session) -> list[dict[str, Any]]:
    """Return what closes the open requests of a session."""
    return [
        {"id": each.request["id"], "status": "cancelled"}
        for each in session.pending
        if each.request is not None
    ]
