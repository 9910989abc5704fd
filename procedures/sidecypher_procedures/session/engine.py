"""The engine: rounds over the next steps of a session, each in one transaction."""

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sidecypher import CypherError
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.answers import answered
from sidecypher_procedures.session.conditions import (
    Condition,
    Evaluation,
    read_conditions,
    referenced,
)
from sidecypher_procedures.session.errors import RequestClosed, SessionError, StepFailed
from sidecypher_procedures.session.functions import (
    OUTSIDE,
    Functions,
    Place,
    check_input,
)
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
    is_missing,
    parse,
    references_in,
    resolve,
    to_json,
)
from sidecypher_procedures.session.store import (
    Changes,
    Memory,
    Pending,
    Session,
    Tx,
    chat_history,
    lock,
    move,
    output_text,
    unknown_session,
)
from sidecypher_procedures.session.workflow import Edge, Step

MOST_ROUNDS: Final = 100
"""How many rounds a session may take without an answer of a person."""

LEASE_SECONDS: Final = 5.0
"""How long after the time of its body a claim ends, and another sidecar may run the step."""

LONGEST_BACKOFF: Final = 3600.0
"""The longest time in seconds between two tries."""

# A list of next steps grows where branches meet at a step that runs.
_MOST_NEXT: Final = 1000


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


@dataclass(slots=True)
class Progress:
    """What a transaction came to.

    Attributes:
        claims: Steps to be run outside of a transaction.
        sessions: Sessions that can go on now: those it started, and the one that waits for it.
        steps: How many steps it ran.
        is_cut: Whether more can be run, in another transaction.
    """

    session: Session
    claims: list[Claim] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    steps: int = 0
    is_cut: bool = False


class Engine:
    """The engine of a sidecar.

    Args:
        functions: What steps can name.
        is_foreign_allowed: Whether references may name other sessions.
    """

    def __init__(self, functions: Functions, *, is_foreign_allowed: bool) -> None:
        self._functions = functions
        self._is_foreign_allowed = is_foreign_allowed

    async def advance(self, tx: Tx, session_id: str, limits: Limits) -> Progress:
        """Run what can be run of a session, round by round, and record it.

        Raises:
            UnknownSession: No session has this id.
            CypherError: A statement of a step failed; the transaction is lost.
        """
        return await self._go_on(tx, await lock(tx, session_id), limits)

    async def record(self, tx: Tx, claim: Claim, outcome: Outcome, limits: Limits) -> Progress:
        """Record what a claimed step came to, and go on; nothing if the claim has passed on."""
        session = await lock(tx, claim.session_id)
        pending = next((each for each in session.pending if _holds(each, claim)), None)
        if pending is None or session.status not in {"active", "awaiting_input"}:
            return Progress(session)
        return await self.settle(tx, session, pending, outcome, limits)

    async def answer(
        self, tx: Tx, session_id: str, value: Any, request_id: str | None, limits: Limits
    ) -> Progress:
        """Give the answer to an open request, and go on; nothing if it is the answer already.

        Raises:
            UnknownSession: No session has this id.
            RequestClosed: The request has another answer, none is open, or several are.
            InvalidAnswer: It is not what the request asks for.
        """
        session = await lock(tx, session_id)
        open_ones = [each for each in session.pending if each.request is not None]
        if request_id is None and len(open_ones) == 1:
            [pending] = open_ones
        else:
            named = [each for each in open_ones if _request_id(each) == request_id]
            if not named:
                await _check_answered(tx, session_id, value, request_id, len(open_ones))
                return Progress(session)
            [pending] = named
        request = pending.request
        assert request is not None  # noqa: S101 - only those with a request are among them
        done = answered(request, value)
        round_ = self._round(tx, session, limits)
        await round_.memory.fetch(_of_edges(pending))
        closed = {
            "id": request["id"],
            "stepId": pending.step.id,
            "status": "answered",
            "answer": to_json(value),
            "answeredAt": session.now,
        }
        round_.answer(pending, closed, done)
        return await self._finish(round_, tx, session, limits)

    async def follow(self, tx: Tx, progress: Progress, limits: Limits) -> Session:
        """Advance in this transaction what can go on after a session; return the session."""
        waiting = [*progress.sessions]
        while waiting:
            further = await self.advance(tx, waiting.pop(0), limits)
            waiting += further.sessions
        return await lock(tx, progress.session.id) if progress.sessions else progress.session

    async def resolve(self, tx: Tx, session_id: str, text: str) -> tuple[Any, list[str]]:
        """Return what a text becomes for a session, and the references to what is not there.

        Raises:
            UnknownSession: No session has this id.
            InvalidReference: A reference cannot be read.
        """
        found = next(iter(await tx.run(_COMPAT, id=session_id)), None)
        if found is None:
            raise unknown_session(session_id)
        dialect = DIALECTS.get(found["compat"] or "", STRICT)
        memory = Memory(tx, session_id, is_foreign_allowed=self._is_foreign_allowed)
        references = list(references_in(text))
        await memory.fetch(references)
        missing = [
            str(part)
            for part in parse(text)
            if isinstance(part, Reference) and is_missing(part, memory.lookup, dialect)
        ]
        return (None if missing else resolve(text, memory.lookup, dialect)), missing

    async def record_broken(
        self, tx: Tx, session_id: str, broken: "StepBroken", limits: Limits
    ) -> Progress:
        """Record the failure of a step whose transaction was lost, unless it has gone on."""
        session = await lock(tx, session_id)
        for pending in session.pending:
            is_there = (pending.step.id, pending.cycle) == (broken.step_id, broken.cycle)
            if is_there and session.status == "active":
                return await self.settle(tx, session, pending, Failed(broken.reason), limits)
        return Progress(session)

    async def settle(
        self, tx: Tx, session: Session, pending: Pending, outcome: Outcome, limits: Limits
    ) -> Progress:
        """Record the outcome of one step of a locked session, and go on."""
        round_ = self._round(tx, session, limits)
        await round_.memory.fetch(_of_edges(pending))
        round_.apply(pending, outcome)
        return await self._finish(round_, tx, session, limits)

    async def _finish(self, round_: "_Round", tx: Tx, session: Session, limits: Limits) -> Progress:
        await round_.write()
        progress = await self._go_on(tx, session, limits, has_written=True)
        progress.sessions[:0] = round_.sessions
        return progress

    async def _go_on(
        self, tx: Tx, session: Session, limits: Limits, *, has_written: bool = False
    ) -> Progress:
        progress = await self._rounds(tx, session, limits, has_written=has_written)
        await move(tx, session)
        return progress

    async def _rounds(
        self, tx: Tx, session: Session, limits: Limits, *, has_written: bool
    ) -> Progress:
        progress = Progress(session)
        memory = self._memory(tx, session)
        while session.status not in ENDED and progress.steps != limits.steps:
            round_ = _Round(self._functions, tx, session, memory, limits)
            left = None if limits.steps is None else limits.steps - progress.steps
            if not await round_.run(left, has_written=has_written):
                progress.is_cut = round_.is_cut
                if round_.is_blocked:
                    await round_.write()
                return progress
            await round_.write()
            has_written = True
            progress.claims += round_.claims
            progress.sessions += round_.sessions
            progress.steps += round_.taken
        progress.is_cut = session.status not in ENDED
        return progress

    def _memory(self, tx: Tx, session: Session) -> Memory:
        return Memory(tx, session.id, is_foreign_allowed=self._is_foreign_allowed)

    def _round(self, tx: Tx, session: Session, limits: Limits) -> "_Round":
        return _Round(self._functions, tx, session, self._memory(tx, session), limits)


def _request_id(pending: Pending) -> str | None:
    return None if pending.request is None else pending.request["id"]


async def _check_answered(
    tx: Tx, session_id: str, value: Any, request_id: str | None, count: int
) -> None:
    """Check that a request, or the latest one, has this answer already.

    Raises:
        RequestClosed: It has not.
    """
    if request_id is None and count:
        raise RequestClosed(
            f"The session `{shown_id(session_id)}` has {count} open requests",
            hint="Name one by the option `requestId`; `session.awaiting` lists them.",
        )
    found = next(iter(await tx.run(_ANSWERED, id=session_id, request=request_id)), None)
    if found is None:
        raise RequestClosed(f"The session `{shown_id(session_id)}` has no such open request")
    if found["status"] != "answered" or json.loads(found["answer"]) != value:
        raise RequestClosed(
            f"A request of the session `{shown_id(session_id)}` is closed: {found['status']}"
        )


_COMPAT: Final = "MATCH (s:SESSION {id: $id}) RETURN s.compat AS compat"
_ANSWERED: Final = """
    MATCH (r:InputRequest)
    WHERE r.sessionId = $id AND r.seq >= 0 AND r.id = coalesce($request, r.id)
    RETURN r.status AS status, r.answer AS answer
    ORDER BY r.sessionId DESC, r.seq DESC LIMIT 1
"""


def _holds(pending: Pending, claim: Claim) -> bool:
    return pending.claim is not None and pending.claim.get("token") == claim.token


def _of_edges(pending: Pending) -> list[Reference]:
    """Return the references in the conditions behind a step, as far as they can be read."""
    try:
        conditions = [read_conditions(edge.properties) for edge in pending.step.edges]
    except SessionError:
        return []
    return [
        reference
        for condition in conditions
        for value in referenced(condition)
        for reference in references_in(value)
    ]


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


class _Round:
    """One round: what each of the next steps comes to, and what is written of it."""

    def __init__(
        self,
        functions: Functions,
        tx: Tx,
        session: Session,
        memory: Memory,
        limits: Limits,
    ) -> None:
        self.memory = memory
        self.claims: list[Claim] = []
        self.sessions: list[str] = []
        self.taken = 0
        self.is_cut = False
        self.is_blocked = False
        self._blocked: set[str] = set()
        self._functions = functions
        self._tx = tx
        self._session = session
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
                self.apply(each, outcome)
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
                references += references_in(each.step.read_input())
            except SessionError:
                # Told where the step is run.
                continue
        await self.memory.fetch(references)

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
        try:
            for edge in step.edges:
                read_conditions(edge.properties)
            written = step.read_input()
            check_input(step.function, written)
            given = resolve(written, self.memory.lookup, self._dialect)
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
            if self._functions.place(step.function) == "graph":
                [now] = await self._tx.run(_VERSION, id=self._session.id)
                if now["version"] != self._session.version:
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

    def apply(self, pending: Pending, outcome: Outcome) -> None:
        """Take up what a step came to."""
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

    def answer(self, pending: Pending, closed: dict[str, Any], done: Done) -> None:
        """Take up the answer to the request that a step waits for."""
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
        self.memory.add(step.id, pending.cycle, done.value)
        self._release(pending)
        self._move(pending)
        properties["next"] = self._targets(step.id)

    def _move(self, pending: Pending) -> None:
        """Follow the edges of a step whose conditions hold."""
        evaluation = Evaluation(self.memory.lookup, self._dialect)
        targets: list[tuple[str, str | None]] = []
        for edge in pending.step.edges:
            before = len(evaluation.missing)
            if evaluation.holds(_condition(edge)):
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
            changes.closed += cancelled(session)
        else:
            self._follow()
        changes.session |= {"seq": self._seq, "failed_steps": self._failed, **self._status()}
        await write_mirrored(self._tx, session, changes)
        if session.status in ENDED:
            self.sessions += await tell_parent(self._tx, session)

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


ENDED: Final = frozenset({"completed", "error", "cancelled"})
"""Statuses of sessions that have ended."""

_TRY_AGAIN: Final = ("Neo.TransientError.", "Neo.ClientError.Transaction.")

_VERSION: Final = "MATCH (s:SESSION {id: $id}) RETURN coalesce(s.version, 0) AS version"

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


def _condition(edge: Edge) -> Condition:
    return read_conditions(edge.properties)
