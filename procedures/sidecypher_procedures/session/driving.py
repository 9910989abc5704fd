"""Driving sessions over Bolt: transactions of their own, and bodies outside of any."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from uuid import uuid4

from sidecypher import BoltClient, CypherError, Neo4jUnavailable
from sidecypher_procedures.session.api_calls import ApiCalls
from sidecypher_procedures.session.engine import Engine, Progress
from sidecypher_procedures.session.errors import SessionError
from sidecypher_procedures.session.functions import Functions, Place
from sidecypher_procedures.session.generation import Generation
from sidecypher_procedures.session.outcomes import Failed, Outcome
from sidecypher_procedures.session.rounds import Claim, Limits, StepBroken
from sidecypher_procedures.session.store import Tx

TRANSACTION_SECONDS: Final = 30.0
"""The longest time of a transaction that advances a session."""

STEPS: Final = 50
"""The most steps of one transaction, since others wait meanwhile for the lock of the session."""

_TRIES: Final = 5

OWNER: Final = uuid4().hex
"""The name of this process in the claims of steps."""


class Bodies:
    """What runs bodies.

    Args:
        functions: What steps can name.
        generation: What answers `generate` steps.
        api_calls: What answers `api` steps.
    """

    def __init__(self, functions: Functions, generation: Generation, api_calls: ApiCalls) -> None:
        self._functions = functions
        self._generation = generation
        self._api_calls = api_calls

    async def run(self, claim: Claim) -> Outcome:
        """Run the body of a claimed step, for as long as it may take."""
        try:
            async with asyncio.timeout(claim.seconds):
                return await self._run(claim)
        except TimeoutError:
            return Failed(f"It did not end within {claim.seconds:g} s")
        except SessionError as error:
            return Failed(error.message, is_final=True)

    async def _run(self, claim: Claim) -> Outcome:
        key = f"{claim.session_id}/{claim.step_id}/{claim.cycle}"
        if claim.function == "generate":
            return await self._generation.run(claim.given, claim.history)
        if claim.function == "api":
            return await self._api_calls.run(claim.given, key)
        place = claim.session_id, claim.step_id, claim.cycle
        return await self._functions.author_step(claim.function, place, claim.given, claim.history)


class Drive:
    """One run of sessions: of one, of those it starts, and of the one that waits for it.

    Args:
        places: Where functions may run; those outside of a transaction always may.
        seconds: How long new steps are begun.
    """

    def __init__(
        self,
        client: BoltClient,
        engine: Engine,
        bodies: Bodies,
        *,
        places: frozenset[Place],
        seconds: float,
    ) -> None:
        self._client = client
        self._engine = engine
        self._bodies = bodies
        self._limits = Limits(places, OWNER, STEPS)
        self._end = time.monotonic() + seconds

    async def run(self, session_id: str) -> None:
        """Advance a session until it waits, ends, or has only steps of other places.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached.
            UnknownSession: No session has this id.
        """
        while time.monotonic() < self._end:
            progress = await self._transaction(
                session_id, lambda tx: self._engine.advance(tx, session_id, self._limits)
            )
            await self._follow(progress)
            if not progress.claims and not progress.is_cut:
                return

    async def _follow(self, progress: Progress) -> None:
        """Run what a transaction has claimed, and the sessions that can go on."""
        async with asyncio.TaskGroup() as group:
            for claim in progress.claims:
                group.create_task(self._finish(claim))
            for session_id in dict.fromkeys(progress.sessions):
                group.create_task(self.run(session_id))

    async def _finish(self, claim: Claim) -> None:
        outcome = await self._bodies.run(claim)
        progress = await self._transaction(
            claim.session_id,
            lambda tx: self._engine.record(tx, claim, outcome, self._limits),
        )
        await self._follow(progress)

    async def _transaction(
        self, session_id: str, work: Callable[[Tx], Awaitable[Progress]]
    ) -> Progress:
        """Run a transaction; again after a deadlock, and to record the failure of a step.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached, or asks to try again for too long.
        """
        for tries in range(_TRIES):
            try:
                async with self._client.transaction(seconds=TRANSACTION_SECONDS) as tx:
                    return await work(tx)
            except StepBroken as broken:
                work = partial(self._record_failure, session_id, broken)
            except Neo4jUnavailable as error:
                if not error.retryable:
                    raise
            except CypherError as error:
                # It waited too long for a lock, which Neo4j does not call transient.
                if not error.neo4j_code.startswith("Neo.ClientError.Transaction."):
                    raise
            await asyncio.sleep(0.05 * 2**tries * random.uniform(0.5, 1.5))  # noqa: S311
        raise Neo4jUnavailable("The session could not be written", retryable=True)

    async def _record_failure(self, session_id: str, broken: StepBroken, tx: Tx) -> Progress:
        return await self._engine.record_broken(tx, session_id, broken, self._limits)
