"""Bodies of steps that run outside of any transaction: they wait for others."""

import asyncio

from sidecypher_procedures.session.api_calls import ApiCalls
from sidecypher_procedures.session.engine import Claim
from sidecypher_procedures.session.errors import SessionError
from sidecypher_procedures.session.functions import Functions
from sidecypher_procedures.session.generation import Generation
from sidecypher_procedures.session.outcomes import Failed, Outcome


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
