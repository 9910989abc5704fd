"""Several who advance one session: claims, crashes, races, workers."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_waiting import awaited, wait_until
from neo4j.exceptions import ClientError

from sidecypher import BoltClient, Steps
from sidecypher.host.address import Address
from sidecypher.sdk.resources import Resources
from sidecypher_procedures.session.driving import Drive
from sidecypher_procedures.session.engine import Engine
from sidecypher_procedures.session.functions import Functions
from sidecypher_procedures.session.outcomes import Done, Failed
from sidecypher_procedures.session.rounds import LOST_TRIES, Limits
from sidecypher_procedures.session.service import EVERYWHERE

SLOW = {"root": ("", {}), "slow": ("generate", {"user": "x"}), "end": ("set", {})}
EDGES = [("root", "slow"), ("slow", "end")]


class Crash(Exception):
    """The process ends here."""


class Bodies:
    """Runs bodies: counts them, and gives what it is told."""

    def __init__(self):
        self.keys = []

    async def run(self, claim):
        self.keys.append(f"{claim.session_id}/{claim.step_id}/{claim.cycle}")
        return Done({"n": len(self.keys)})


class Process:
    """What a sidecar has of the engine, in this process, so that it can crash anywhere."""

    def __init__(self, client, bodies=None, owner="me"):
        self.client = client
        self.bodies = bodies or Bodies()
        self.engine = Engine(Functions(Steps(dict, Resources())), is_foreign_allowed=False)
        self.limits = Limits(EVERYWHERE, owner)

    async def claim(self, session):
        async with self.client.transaction() as tx:
            progress = await self.engine.advance(tx, session, self.limits)
        [claim] = progress.claims
        return claim

    async def record(self, claim, outcome, crash=None):
        async with self.client.transaction() as tx:
            progress = await self.engine.record(tx, claim, outcome, self.limits)
            if crash is not None:
                raise crash
        return progress

    async def drive(self, session, seconds=30.0):
        drive = Drive(self.client, self.engine, self.bodies, places=EVERYWHERE, seconds=seconds)
        await drive.run(session)


@pytest.fixture
def process(server):
    """Make such processes; each test runs them on one event loop."""

    @contextlib.asynccontextmanager
    async def make(count=1):
        found = []
        for _ in range(count):
            address = Address(server.facts["bolt"], ("neo4j", server.password))
            found.append(Process(BoltClient(lambda address=address: address)))
        try:
            yield found
        finally:
            for each in found:
                await each.client.stop()

    return make


def end_leases(session, name):
    """Let the time of all claims of a session be over."""
    session.run(
        "MATCH (c:StepClaim {sessionId: $id}) SET c.leaseUntil = datetime() - duration('PT1S') "
        "WITH c MATCH (s:SESSION {id: $id}) SET s.lease_until = c.leaseUntil",
        id=name,
    ).consume()


def outputs(session, name):
    found = "MATCH (o:OUTPUT {sessionId: $id}) RETURN o.stepId AS step, count(*) AS count"
    return {row["step"]: row["count"] for row in session.run(found, id=name).data()}


@awaited
async def test_a_crash_after_the_claim_loses_nothing(sessions, session, process):
    """A claimed step is run by another once its lease is over, and not before."""
    name = sessions.begin(SLOW, EDGES)
    async with process(2) as (first, second):
        await first.claim(name)
        await second.drive(name)
        assert second.bodies.keys == []
        end_leases(session, name)
        await second.drive(name)

    assert second.bodies.keys == [f"{name}/slow/0"]
    assert (sessions.status(name), outputs(session, name)) == (
        "completed",
        {"root": 1, "slow": 1, "end": 1},
    )


@awaited
async def test_a_crash_after_the_body_runs_it_again_under_the_same_key(sessions, session, process):
    """A body that ended before its output was recorded runs again, with its idempotency key."""
    name = sessions.begin(SLOW, EDGES)
    async with process(2) as (first, second):
        claim = await first.claim(name)
        await first.bodies.run(claim)
        end_leases(session, name)
        await second.drive(name)

    assert first.bodies.keys == second.bodies.keys
    assert outputs(session, name) == {"root": 1, "slow": 1, "end": 1}


@awaited
async def test_a_step_that_ends_its_sidecar_each_time_fails(sessions, session, process):
    """It is begun `LOST_TRIES` times, so that no step ends one sidecar after the other for ever."""
    name = sessions.begin(SLOW, EDGES)
    async with process() as (one,):
        for _ in range(LOST_TRIES):
            await one.claim(name)
            end_leases(session, name)
        await one.drive(name)

    assert one.bodies.keys == []
    assert sessions.status(name) == "error"
    assert sessions.errors(name) == [
        f"No sidecar that has run it was there at its end, {LOST_TRIES} times"
    ]


@awaited
async def test_a_crash_before_the_commit_records_nothing(sessions, session, process):
    """Output and move are one transaction: neither is there without the other."""
    name = sessions.begin(SLOW, EDGES)
    async with process(2) as (first, second):
        claim = await first.claim(name)
        with pytest.raises(Crash):
            await first.record(claim, Done({"n": 7}), Crash())
        assert outputs(session, name) == {"root": 1}
        assert sessions.get(name)["next_steps"] == ["slow"]
        end_leases(session, name)
        await second.drive(name)

    assert outputs(session, name) == {"root": 1, "slow": 1, "end": 1}


@awaited
async def test_a_crash_after_the_commit_repeats_nothing(sessions, session, process):
    """Who does not know whether its record was committed records it again, without effect."""
    name = sessions.begin(SLOW, EDGES)
    async with process() as (one,):
        claim = await one.claim(name)
        await one.record(claim, Done({"n": 1}))
        await one.record(claim, Done({"n": 2}))

    assert sessions.memory(name)["slow"] == [{"n": 1}]


@awaited
async def test_a_claim_that_has_passed_on_records_nothing(sessions, session, process):
    """Who comes back after its lease finds the step with another, and its output is dropped."""
    name = sessions.begin(SLOW, EDGES)
    async with process(2) as (first, second):
        late = await first.claim(name)
        end_leases(session, name)
        claim = await second.claim(name)
        await first.record(late, Done({"n": "late"}))
        assert outputs(session, name) == {"root": 1}
        await second.record(claim, Done({"n": "second"}))
        await first.record(late, Done({"n": "late"}))

    assert sessions.memory(name)["slow"] == [{"n": "second"}]


@awaited
async def test_who_is_late_finds_a_step_that_is_tried_again(sessions, session, process):
    """A step that another has failed, and will try again, takes no output of an earlier claim."""
    steps = {**SLOW, "slow": ("generate", {"user": "x"}, {"retries": 3, "backoffMs": 600_000})}
    name = sessions.begin(steps, EDGES)
    async with process(2) as (first, second):
        late = await first.claim(name)
        end_leases(session, name)
        claim = await second.claim(name)
        await second.record(claim, Failed("no"))
        await first.record(late, Done({"n": "late"}))

    assert outputs(session, name) == {"root": 1}
    [row] = [row for row in sessions.call("history", name) if row["stepId"] == "slow"]
    assert (row["state"], row["tries"]) == ("retrying", 2)


@awaited
async def test_a_result_of_a_cancelled_session_is_dropped(sessions, session, process):
    """A session that is cancelled while a body runs stays cancelled."""
    name = sessions.begin(SLOW, EDGES)
    async with process() as (one,):
        claim = await one.claim(name)
        assert sessions.one("cancel", name)["cancelled"]
        await one.record(claim, Done({"n": 1}))

    assert (sessions.status(name), outputs(session, name)) == ("cancelled", {"root": 1})
    assert not sessions.one("cancel", name)["cancelled"]


@awaited
async def test_two_engines_share_a_session(sessions, session, process):
    """Two who drive one session for 200 rounds record each output once, and miss none."""
    name = sessions.start(
        sessions.define(
            {"root": ("generate", {"user": "x"}), "next": ("set", {})},
            [("root", "next"), ("next", "root")],
        ),
        maxRounds=200,
        run=False,
    )
    async with process(2) as both:
        while sessions.status(name) == "active":
            await asyncio.gather(*(each.drive(name) for each in both))

    found = sessions.get(name)
    assert found["status"] == "error"
    assert "200 rounds" in found["errors"][0]["error"]
    assert sum(outputs(session, name).values()) == 200
    keys = [key for each in both for key in each.bodies.keys]
    assert sorted(keys) == sorted(f"{name}/root/{n}" for n in range(100))


def test_answers_that_race_are_accepted_once(sessions, driver):
    """Of two answers to one request one is accepted; the same one again gets the same answer."""
    workflow = sessions.define(
        {"root": ("request", {"statement": "?"}), "end": ("set", {})}, [("root", "end")]
    )

    def answer(name, value):
        with driver.session() as session:
            try:
                [row] = session.run("CALL session.input($id, $value)", id=name, value=value).data()
            except ClientError as error:
                return str(error)
            return row["accepted"]

    for _ in range(10):
        name = sessions.start(workflow)
        with ThreadPoolExecutor(4) as pool:
            given = list(pool.map(lambda value, name=name: answer(name, value), "abab"))
        [output] = sessions.memory(name)["root"]
        assert [each is True or "SC-959" not in each for each in given] == [
            value == output["response"] for value in "abab"
        ]


@pytest.mark.slow
def test_a_worker_runs_what_is_due(sessions, outside, another_sidecar):
    """A sidecar with the setting runs sessions to their end, those of `run: false` included."""
    outside.says("x")
    another_sidecar(SIDECYPHER_SESSION_WORKER="true")
    names = [sessions.begin(SLOW, EDGES, run=n % 2 == 0) for n in range(5)]

    wait_until(lambda: {sessions.status(name) for name in names} == {"completed"})
    assert len(outside.requests) == 5


def test_a_worker_goes_on_after_an_answer(sessions, another_sidecar):
    """Answers, waits and retries of a session need nobody who calls `session.run`."""
    another_sidecar(SIDECYPHER_SESSION_WORKER="true")
    name = sessions.begin(
        {
            "root": ("request", {"statement": "?"}),
            "wait": ("wait", {"seconds": 0.3}),
            "later": ("test.later", {"text": "@{SESSION_ID}.root.response"}),
        },
        [("root", "wait"), ("wait", "later")],
    )
    sessions.input(name, "x")

    wait_until(lambda: sessions.status(name) == "completed")
    assert sessions.memory(name)["later"][0]["text"] == "x"


def test_a_worker_records_the_failure_of_a_statement(sessions, session, another_sidecar):
    """A statement that fails loses its transaction; the worker records it as the step's error."""
    another_sidecar(SIDECYPHER_SESSION_WORKER="true")
    bad = {"statement": "RETURN 1/0 AS x"}
    written = {"statement": "CREATE (n:Written)", "mode": "WRITE"}
    name = sessions.begin(
        {
            "root": ("cypher", written),
            "bad": ("cypher", bad, {"onError": "step:mend"}),
            "mend": ("set", {}),
        },
        [("root", "bad")],
        run=False,
    )

    wait_until(lambda: sessions.status(name) == "completed")
    assert "ArithmeticError" in sessions.errors(name)[0]
    assert {*sessions.memory(name)} == {"root", "mend"}
    assert len(session.run("MATCH (n:Written) RETURN n").data()) == 1


@pytest.mark.slow
def test_a_killed_worker_loses_and_repeats_nothing(sessions, session, outside, another_sidecar):
    """Sessions that a killed sidecar was running are ended by another one."""
    outside.says("x")
    steps = {"root": ("", {})} | {
        f"s{n}": ("generate" if n % 2 else "set", {"user": "x"}, {"timeoutMs": 1000})
        for n in range(6)
    }
    edges = [("root", "s0")] + [(f"s{n}", f"s{n + 1}") for n in range(5)]
    first = another_sidecar(SIDECYPHER_SESSION_WORKER="true")
    workflow = sessions.define(steps, edges)
    names = [sessions.start(workflow, run=False) for _ in range(20)]
    wait_until(lambda: len(outside.requests) > 10)
    first.kill()
    another_sidecar(SIDECYPHER_SESSION_WORKER="true")

    wait_until(lambda: {sessions.status(name) for name in names} == {"completed"}, 60)
    for name in names:
        assert outputs(session, name) == dict.fromkeys(steps, 1)
