"""The asynchronous client of the memory: what a caller on an event loop may rely on."""

import asyncio
import contextlib
import gc
import threading
import time

import pytest
from fix_proxy import deaf_listener
from fix_waiting import awaited, promised, wait_until

from sidecypher_procedures.rules.client import AsyncMemoryClient, ClientSettings, MemoryUnavailable

SOURCE = {"method": "rule"}
SLEEP = "CALL apoc.util.sleep(600000)"


@pytest.fixture
def connect(server, session):
    """Make clients of the shared Neo4j, or of a port; the test closes them."""

    def make(*, port=None, **settings):
        address = server.facts["bolt"] if port is None else f"bolt://127.0.0.1:{port}"
        # Neo4j plans a statement when it is first asked it, which may take a while.
        slow = {"timeout": 60.0, "write_timeout": 60.0}
        given = {"uri": address, "password": server.password, **slow, **settings}
        return AsyncMemoryClient(ClientSettings(mode="REQUIRED", **given))

    return make


def is_running(session, text):
    """Return whether a transaction runs a statement with this text."""
    return session.run(
        "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS $text "
        "RETURN count(*) > 0",
        text=text,
    ).value()[0]


def is_blocked(session):
    """Return whether a transaction waits for a lock."""
    return session.run(
        "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN count(*) > 0"
    ).value()[0]


@contextlib.contextmanager
def locked(driver, user):
    """Hold the lock of a user's global scope while the block runs."""
    with driver.session() as session, session.begin_transaction() as held:
        held.run("MATCH (s:RuleScope {user: $user}) SET s.held = true", user=user).consume()
        yield
        held.rollback()


async def ticks(done):
    """Count the turns of the event loop until `done` is set."""
    count = 0
    while not done.is_set():
        count += 1
        await asyncio.sleep(0)
    return count


@awaited
async def test_many_tasks_share_a_client(connect, rules):
    """Several tasks state and read rules at once, each those of its own user."""
    users = [f"{rules.user}-{number}" for number in range(8)]
    async with connect() as memory:

        async def use(user):
            await memory.add({"userId": user, "text": f"write like {user}"}, SOURCE)
            context = await memory.context({"userId": user})
            return [each["text"] for each in context["styleRules"]]

        told = await asyncio.gather(*map(use, users))

    assert told == [[f"write like {user}"] for user in users]


@awaited
async def test_the_calls_of_the_blocking_client_work(connect, rules):
    """What is remembered can be judged by a model, and forgotten."""
    first = rules.add("write like Hemingway", 1)["id"]
    found = {
        "userId": rules.user,
        "rules": [{"text": "write like Proust"}],
        "extraction": {"method": "llm"},
    }
    async with connect() as memory:
        [second] = (await memory.remember(found))["rules"]
        status = await memory.judge(first, one_doubt)
        gone = await memory.forget({"userId": rules.user})

    assert status == {"id": first, "status": "contested", "reason": "suspected"}
    assert {first, second["id"]} <= {each["id"] for each in gone}


async def one_doubt(pairs):
    return [{"score": 0.9, "model": "some-model", "reason": "two styles"} for _ in pairs]


@awaited
async def test_a_cancelled_call_ends_its_transaction(connect, session):
    """Neo4j stops working for a task that was cancelled, and the client goes on working."""
    async with connect(timeout=600) as memory:
        asked = asyncio.create_task(memory.read(SLEEP))
        await asyncio.to_thread(wait_until, lambda: is_running(session, SLEEP))

        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

        await asyncio.to_thread(wait_until, lambda: not is_running(session, SLEEP))
        assert await memory.read("RETURN 1 AS one") == [{"one": 1}]


@awaited
async def test_a_cancelled_write_is_not_committed(connect, rules, driver):
    """A task that is cancelled while its write waits for a lock leaves nothing behind."""
    rules.add("formal tone", 1)
    async with connect(write_timeout=600) as memory:
        with locked(driver, rules.user):
            rule = {"userId": rules.user, "text": "use emojis"}
            asked = asyncio.create_task(memory.add(rule, SOURCE))
            await asyncio.to_thread(wait_until, lambda: is_blocked(rules.session))
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await asyncio.to_thread(wait_until, lambda: not is_blocked(rules.session))
        context = await memory.context({"userId": rules.user})

    assert [each["text"] for each in context["styleRules"]] == ["formal tone"]


@awaited
async def test_a_peer_that_never_answers_holds_up_no_other_task(connect):
    """A call fails after its timeout; the event loop runs meanwhile, and no socket is left."""
    done = asyncio.Event()
    with deaf_listener() as port:
        async with connect(port=port, timeout=0.5, connect_timeout=1) as memory:
            counting = asyncio.create_task(ticks(done))
            begun = time.monotonic()
            with pytest.raises(MemoryUnavailable, match="in time"):
                await memory.context({"userId": "ann"})
            assert time.monotonic() - begun < promised(3)
        # A socket that was left open warns when it is collected, which fails this test.
        gc.collect()
    done.set()

    assert await counting > 10


@awaited
async def test_a_callers_own_timeout_ends_a_call(connect, session):
    """`asyncio.timeout` of the caller ends the call and its transaction."""
    async with connect(timeout=600) as memory:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await memory.read(SLEEP)

        await asyncio.to_thread(wait_until, lambda: not is_running(session, SLEEP))


@awaited
async def test_a_call_that_close_overtakes_fails_at_once(connect, session):
    """A call that runs while the client is closed has no answer, and its transaction ends."""
    memory = connect(timeout=600)
    asked = asyncio.create_task(memory.read(SLEEP))
    await asyncio.to_thread(wait_until, lambda: is_running(session, SLEEP))
    await memory.close()

    with pytest.raises(MemoryUnavailable, match="closed"):
        await asked
    await asyncio.to_thread(wait_until, lambda: not is_running(session, SLEEP))


@awaited
async def test_an_extractor_that_blocks_holds_up_no_other_task(connect, rules):
    """A function that blocks runs on another thread, so that other tasks go on."""
    done, released = asyncio.Event(), threading.Event()

    def extractor(_texts):
        assert released.wait(30)
        return {"rules": [{"text": "formal tone"}]}

    async def release():
        released.set()
        done.set()

    async with connect() as memory:
        remembered, _ = await asyncio.gather(
            memory.remember({"userId": rules.user, "text": "Formal."}, extractor=extractor),
            release(),
        )

    assert [each["status"] for each in remembered["rules"]] == ["active"]


def test_one_client_serves_several_event_loops(connect):
    """A client is bound to no event loop, and goes on after it was closed."""
    memory = connect()

    assert asyncio.run(memory.read("RETURN 1 AS one")) == [{"one": 1}]
    assert asyncio.run(memory.read("RETURN 2 AS two")) == [{"two": 2}]
    asyncio.run(memory.close())
    assert asyncio.run(memory.read("RETURN 3 AS three")) == [{"three": 3}]
    asyncio.run(memory.close())
