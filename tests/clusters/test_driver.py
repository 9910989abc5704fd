"""What a driver does with the calls of its sidecar, with actors that are not Ray's."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

import msgspec
import pytest
import ray.exceptions
from fix_waiting import awaited, wait_until

from sidecypher.calls.executors.pool_messages import Outcome, Setup, Task
from sidecypher.calls.executors.ray import places
from sidecypher.calls.executors.ray.calls import Calls
from sidecypher.calls.executors.ray.messages import Cancel, DriverSetup, Submit
from sidecypher.protocol import envelope
from sidecypher.sdk.registry import RayOptions

MESSAGE_BYTES = 1024
TWO = {"actor": True, "max_actors": 2}


class Driver:
    """The calls of a driver, and what it has sent."""

    def __init__(self):
        setup = Setup([], None, 512, MESSAGE_BYTES, "INFO", "json", traces=False)
        self.sent = []
        self.calls = Calls(DriverSetup(setup, "", ""), self.sent.append)
        self.handle = self.calls.handle

    @property
    def codes(self):
        return {each.call_id: each.error and each.error.code for each in self.sent}


def submit(call_id, *arguments, is_batch=False, **options):
    task = Task(call_id, "procedure", "test.run", "", [*arguments], "", "", 60.0, "")
    return Submit(task, RayOptions(**options), is_batch)


async def until(condition):
    await asyncio.to_thread(wait_until, condition)


@awaited
async def test_a_call_that_is_cancelled_before_it_begins_is_told():
    """A cancellation that arrives together with its call gives that call its outcome."""
    driver = Driver()
    loop = asyncio.get_running_loop()

    loop.call_soon(driver.handle, submit("1"))
    loop.call_soon(driver.handle, Cancel("1"))

    await until(lambda: driver.sent)
    assert driver.codes == {"1": "SC-207"}


@dataclass
class FakeReference:
    outcome: bytes

    def __await__(self):
        yield from ()
        return self.outcome


class FakeGenerator:
    """The outcomes of a function, which a test puts in; an exception ends them."""

    def __init__(self, first):
        self.first = first
        self.outcomes = asyncio.Queue()

    def __aiter__(self):
        return self

    async def __anext__(self):
        outcome = await self.outcomes.get()
        if isinstance(outcome, Exception):
            raise outcome
        return FakeReference(outcome)

    def end(self):
        self.outcomes.put_nowait(StopAsyncIteration())

    def lose(self):
        self.outcomes.put_nowait(ray.exceptions.RayActorError())


class FakeActor:
    """An actor whose functions end when a test says so.

    Attributes:
        functions: The generators of all calls that it got.
        interrupts: How many functions were asked to end.
    """

    def __init__(self, made):
        self.is_lost = self.is_dead = False
        self.used = time.monotonic()
        self.functions = []
        self.interrupts = 0
        made.append(self)

    async def ping(self):
        if self.is_dead:
            raise ray.exceptions.RayActorError

    def begin(self, message, _table):
        self.functions.append(FakeGenerator(envelope.read(message, Task).first))
        if self.is_dead:
            self.functions[-1].lose()
        return self.functions[-1]

    def interrupt(self, _generator, _call_id):
        self.interrupts += 1

    def kill(self, _generator):
        self.is_lost = True


@pytest.fixture
def actors(monkeypatch):
    """The actors that were made, instead of Ray's."""
    made = []
    monkeypatch.setattr(places, "ActorPlace", lambda *_: FakeActor(made))
    # None is killed while a test looks.
    monkeypatch.setattr(places, "_GRACE_SECONDS", 600.0)
    return made


@contextlib.asynccontextmanager
async def driving(actors):
    """Make a driver, and end all its calls afterwards."""
    driver = Driver()
    try:
        yield driver
    finally:
        for function in [each for actor in actors for each in actor.functions]:
            function.end()
        for call_id in "123":
            driver.handle(Cancel(call_id))
        await until(lambda: not driver.calls._running)


@awaited
async def test_an_actor_that_dies_while_its_call_is_cancelled_is_not_lent(actors):
    """The next call has a new process, even a moment later."""
    async with driving(actors) as driver:
        driver.handle(submit("1", actor=True))
        await until(lambda: actors and actors[0].functions)
        driver.handle(Cancel("1"))
        await until(lambda: actors[0].interrupts)
        actors[0].is_dead = True
        actors[0].functions[0].lose()
        await until(lambda: driver.sent)

        driver.handle(submit("2", actor=True))

        await until(lambda: len(actors) == 2 and (actors[1].functions or "2" in driver.codes))
        assert driver.codes == {"1": "SC-207"}


async def begun_batch(driver, actors):
    """Begin a batch; return the actor of its first part and that of another one."""
    driver.handle(submit("1", [[number] for number in range(16)], is_batch=True, **TWO))
    await until(lambda: len(actors) == 2 and all(actor.functions for actor in actors))
    return sorted(actors, key=lambda actor: actor.functions[0].first)


@awaited
async def test_a_cancelled_batch_lends_no_actor_whose_part_is_still_ending(actors):
    """A cancellation waits for the parts that end because another part was lost."""
    async with driving(actors) as driver:
        first, other = await begun_batch(driver, actors)
        first.functions[0].lose()
        await until(lambda: other.interrupts)

        driver.handle(Cancel("1"))

        await no_other_runs_in(other, driver, actors)


@awaited
async def test_a_cancelled_batch_lends_no_actor_whose_part_was_too_large(actors):
    """It also waits for a part that ends already because its rows are too many."""
    async with driving(actors) as driver:
        first, other = await begun_batch(driver, actors)
        row = msgspec.Raw(b'["%b"]' % (b"x" * MESSAGE_BYTES))
        other.functions[0].outcomes.put_nowait(envelope.write(Outcome("1", [(1, row)])))
        await until(lambda: other.interrupts)
        first.functions[0].lose()
        await until(lambda: len(actors) == 3)

        driver.handle(Cancel("1"))

        await no_other_runs_in(other, driver, actors)


async def no_other_runs_in(actor, driver, actors):
    """Begin two calls, for which there is an actor when a function of the batch has ended."""
    for call_id in ("2", "3"):
        driver.handle(submit(call_id, **TWO))
    for _ in range(100):
        await asyncio.sleep(0)
    assert ([len(each.functions) for each in actors], driver.codes) == ([1, 1, 1], {})

    actor.functions[0].end()
    await until(lambda: len(actor.functions) == 2)
    for each in actors:
        each.functions[0].end()

    await until(lambda: driver.sent)
    assert driver.codes == {"1": "SC-207"}
