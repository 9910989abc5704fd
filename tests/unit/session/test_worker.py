"""The worker goes on, whatever happens to one session."""

import asyncio
import contextlib

import pytest
from fix_waiting import awaited

from sidecypher import BoltClient, CypherError, Steps
from sidecypher_procedures.session import service


class Sidecar:
    """The context of a function in the background, whose Neo4j answers what it is told.

    Args:
        answers: What statements outside of transactions give, each an exception or records.
    """

    def __init__(self, answers):
        self.answers = [*answers]
        self.asked = 0
        self.begun = 0
        self.warnings = []
        self.shared = service.Shared()

    @property
    def log(self):
        return self

    def warning(self, message, **fields):
        self.warnings.append((message, fields))

    def resource(self, kind):
        return {service.Shared: self.shared, BoltClient: self, Steps: None}[kind]

    async def run(self, _statement, **_parameters):
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

    def transaction(self, *, seconds):
        self.begun += 1
        raise RuntimeError(f"no transaction of {seconds} s")


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setenv("SIDECYPHER_SESSION_WORKER", "true")
    monkeypatch.setattr(service, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(service, "_TROUBLE_SECONDS", 0.001)


async def works_until(sidecar, condition):
    """Let the worker run until something holds."""
    task = asyncio.create_task(service.work(sidecar))
    async with asyncio.timeout(10):
        while not condition():
            assert not task.done()
            await asyncio.sleep(0.001)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@awaited
async def test_it_looks_again_after_an_error_of_neo4j():
    """A statement that fails, as before the migrations have run, does not end the worker."""
    sidecar = Sidecar([CypherError("no", neo4j_code="Neo.DatabaseError.General.UnknownError")])

    await works_until(sidecar, lambda: sidecar.asked > 2)

    assert sidecar.warnings == [("no due sessions found", {"type": "CypherError"})]


@awaited
async def test_a_session_that_fails_is_told_and_begun_again():
    """Whatever is raised, its type is logged, others go on, and the session is taken up later."""
    due = [{"id": "a"}]
    sidecar = Sidecar([due, due, due, due])

    await works_until(sidecar, lambda: sidecar.begun > 1)

    assert sidecar.warnings[0] == ("session not advanced", {"session": "a", "type": "RuntimeError"})
