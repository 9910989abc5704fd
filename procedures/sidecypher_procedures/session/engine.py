"""The engine: rounds over the next steps of a session, each in one transaction."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.answers import answered
from sidecypher_procedures.session.errors import RequestClosed
from sidecypher_procedures.session.functions import Functions
from sidecypher_procedures.session.outcomes import Failed, Outcome
from sidecypher_procedures.session.references import (
    DIALECTS,
    STRICT,
    Reference,
    is_missing,
    parse,
    references_in,
    resolve,
    to_json,
)
from sidecypher_procedures.session.rounds import ENDED, Claim, Limits, Round, StepBroken
from sidecypher_procedures.session.store import (
    Memory,
    Pending,
    Session,
    Tx,
    lock,
    move,
    unknown_session,
)


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
        closed = {
            "id": request["id"],
            "stepId": pending.step.id,
            "status": "answered",
            "answer": to_json(value),
            "answeredAt": session.now,
        }
        await round_.answer(pending, closed, done)
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
        self, tx: Tx, session_id: str, broken: StepBroken, limits: Limits
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
        await round_.settle(pending, outcome)
        return await self._finish(round_, tx, session, limits)

    async def _finish(self, round_: Round, tx: Tx, session: Session, limits: Limits) -> Progress:
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
            round_ = Round(self._functions, tx, session, memory, limits)
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

    def _round(self, tx: Tx, session: Session, limits: Limits) -> Round:
        return Round(self._functions, tx, session, self._memory(tx, session), limits)


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
