"""Deliveries that sidecars with different homes share in a real Redis."""

import contextlib
from functools import partial
from types import SimpleNamespace

import pytest
from fix_deliveries import Context, Graph, delivery, until
from fix_waiting import awaited, promised

from sidecypher import Neo4jUnavailable
from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.sharing import pipe
from sidecypher_procedures.github.webhooks import redis_queue, writing
from sidecypher_procedures.github.webhooks.redis_queue import RedisQueue

AWAY = Neo4jUnavailable("Neo4j cannot be reached", retryable=True)
AGAIN = Neo4jUnavailable(
    "Neo4j asks to try again", retryable=True, details={"neo4jCode": "Neo.TransientError.x"}
)


@pytest.fixture
def redis(redis_server, monkeypatch):
    """The Redis that sidecars of this test share."""
    monkeypatch.setenv("SIDECYPHER_REDIS_URL", redis_server.url)
    monkeypatch.setattr(pipe, "ANSWER_SECONDS", promised(pipe.ANSWER_SECONDS))
    for name in ("_SHORTEST_PAUSE", "POLL_SECONDS"):
        monkeypatch.setattr(writing, name, 0.01)
    return redis_server


@pytest.fixture
def sidecars(redis, tmp_path):
    """Give sidecars, each with a home and a graph of its own."""

    def make(count):
        homes = [tmp_path / str(number) for number in range(count)]
        return [Context(home, Graph()) for home in homes]

    return make


@contextlib.asynccontextmanager
async def queues(redis, count=2):
    made = [RedisQueue(redis.url) for _ in range(count)]
    yield made
    for each in made:
        await each.stop()


def is_empty(redis):
    return redis.client.keys("github:webhooks:*") in ([], ["github:webhooks:1:bytes"])


@awaited
async def test_any_sidecar_writes_what_one_has_stored(redis, sidecars):
    """A sidecar that cannot write leaves its deliveries to others, wherever their home is."""
    receiving, other = sidecars(2)
    for repository in "12":
        await receiving.put([f"{repository}a", f"{repository}b"], repository)
    async with other.writing():
        await until(lambda: len(other.graph.written) == 4)
        await until(lambda: is_empty(redis))
    await receiving.inbox.stop()

    assert [each for each in other.graph.written if each[0] == "1"] == ["1a", "1b"]
    assert [each for each in other.graph.written if each[0] == "2"] == ["2a", "2b"]
    assert int(redis.client.get("github:webhooks:1:bytes")) == 0
    assert not receiving.home.exists()


@awaited
async def test_each_delivery_is_written_by_one_sidecar_and_in_order(redis, sidecars):
    """Sidecars share the repositories; no delivery is written twice, and none too early."""
    order = []
    contexts = sidecars(3)
    for context in contexts:
        context.graph.written = order
    for number in range(20):
        for repository in "abcdefghijkl":
            await contexts[0].put([f"{repository}{number:02}"], repository)

    async with contextlib.AsyncExitStack() as stack:
        for context in contexts:
            await stack.enter_async_context(context.writing())
        await until(lambda: is_empty(redis))

    for repository in "abcdefghijkl":
        of_it = [each for each in order if each[0] == repository]
        assert of_it == [f"{repository}{number:02}" for number in range(20)]
    assert sum(len(context.graph.asked) > 0 for context in contexts) > 1


@pytest.mark.slow
@awaited
async def test_what_a_dead_sidecar_was_writing_is_written_by_another(redis, sidecars, monkeypatch):
    """Its claim ends; until then nobody else writes a delivery of that repository."""
    monkeypatch.setattr(redis_queue, "CLAIM_SECONDS", promised(1.0))
    [context] = sidecars(1)
    async with queues(redis, 1) as [dead]:
        await dead.put(delivery("a1", repository="a"))
        await dead.put(delivery("a2", repository="a"))
        assert (await dead.take()).id == "a1"
        await context.put(["b1"], "b")
        async with context.writing():
            await until(lambda: context.graph.written == ["b1"])
            await until(lambda: context.graph.written == ["b1", "a1", "a2"])


@awaited
async def test_a_claim_is_kept_while_a_write_takes_long(redis, sidecars, monkeypatch):
    """Nobody takes a delivery of a repository whose write goes on."""
    monkeypatch.setattr(redis_queue, "CLAIM_SECONDS", promised(1.0))
    slow, other = sidecars(2)
    ends = partial(redis.client.zscore, "github:webhooks:1:repositories")
    slow.graph.open.clear()
    await slow.put(["a1", "a2"], "a")
    async with slow.writing():
        await until(lambda: redis.client.hget("github:webhooks:1:claims", "a"))
        end = ends("a")
        async with other.writing():
            await until(lambda: ends("a") > end + 1000)
            assert other.graph.asked == []
            slow.graph.open.set()
            await until(lambda: is_empty(redis))
    assert "a1" in slow.graph.written
    assert "a1" not in other.graph.asked


@awaited
async def test_a_sidecar_that_stops_gives_its_claims_back(redis, sidecars):
    """Others need not wait for the end of its claims."""
    stopping, other = sidecars(2)
    stopping.graph.hanging = {"a1"}
    await stopping.put(["a1"], "a")
    async with stopping.writing():
        await until(lambda: stopping.graph.asked == ["a1"])
    async with other.writing():
        await until(lambda: other.graph.written == ["a1"])


@pytest.mark.slow
@awaited
async def test_a_claim_does_not_outlive_an_interruption_of_redis(redis, sidecars, monkeypatch):
    """A delivery that was written while Redis was away is taken again, and then removed."""
    monkeypatch.setattr(pipe, "PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(redis_queue, "CLAIM_SECONDS", promised(2.0))
    [context] = sidecars(1)
    context.graph.open.clear()
    await context.put(["a1"], "a")
    async with context.writing():
        await until(lambda: redis.client.hget("github:webhooks:1:claims", "a"))
        redis.kill()
        context.graph.open.set()
        await until(lambda: context.graph.written)
        redis.start()
        await until(lambda: is_empty(redis))
    assert {*context.graph.written} == {"a1"}


@awaited
async def test_a_sidecar_that_cannot_write_leaves_its_deliveries_to_others(
    redis, sidecars, monkeypatch
):
    """While it pauses, another sidecar takes the same delivery, and no order changes."""
    monkeypatch.setattr(writing, "_SHORTEST_PAUSE", 1000.0)
    away, other = sidecars(2)
    away.graph.blocked = {"a1": AWAY}
    await away.put(["a1", "a2"], "a")
    async with away.writing():
        await until(lambda: away.lines)
        async with other.writing():
            await until(lambda: other.graph.written[:1] == ["a1"])
            await until(lambda: is_empty(redis))
    assert away.graph.written == []
    assert other.graph.written == ["a1", "a2"]


@awaited
async def test_one_that_fails_again_and_again_lets_others_of_its_repository_go_first(
    redis, sidecars
):
    """After three failures a delivery goes behind those that wait, until it can be written."""
    [context] = sidecars(1)
    context.graph.blocked["a1"] = AGAIN
    await context.put(["a1", "a2", "a3"], "a")
    async with context.writing():
        await until(lambda: context.graph.written == ["a2", "a3"])
        assert context.graph.asked[:3] == ["a1", "a1", "a1"]
        await context.put(["a4"], "a")
        await until(lambda: context.graph.written == ["a2", "a3", "a4"])
        del context.graph.blocked["a1"]
        await until(lambda: is_empty(redis))
    assert context.graph.written[-1] == "a1"


@awaited
async def test_a_delivery_keeps_all_that_is_known_of_it(redis):
    """Each field comes back as it was, with the failures that any sidecar has counted."""
    async with queues(redis) as [first, second]:
        await first.put(given := delivery("a", repository="1"))
        await first.put(given)
        assert await second.take() == given
        assert await first.take() is None
        await second.put_off(given, 0.0)
        await second.release(given)
        found = await first.take()
        assert (found.failures, found.failed_at > 0) == (1, True)
        await first.put_off(found, 30.0)
        await first.release(found)
        assert await second.take() is None


@awaited
async def test_the_user_of_the_page_may_keep_deliveries(redis_users):
    """The rights that the page names for a sidecar are enough."""
    async with queues(SimpleNamespace(url=redis_users["sidecar"]), 1) as [queue]:
        for name in "ab":
            await queue.put(delivery(name, repository="1"))
        first = await queue.take()
        await queue.keep()
        await queue.put_off(first, 0.001)
        await queue.release(first)
        await queue.remove(first)
        assert (await queue.take()).id == "b"


@pytest.mark.slow
@awaited
async def test_while_redis_is_away_the_file_of_the_home_takes_deliveries(redis, sidecars):
    """None is refused; they are written, and so is what waits in Redis when it is back."""
    [context] = sidecars(1)
    await context.put(["before"], "a")
    redis.kill()
    try:
        await context.put(["away"], "a")
        assert context.stored() == ["away"]
        async with context.writing():
            await until(lambda: context.graph.written == ["away"])
            redis.start()
            await until(lambda: context.graph.written == ["away", "before"])
    finally:
        if redis.process.poll() is not None:
            redis.start()


@awaited
async def test_a_full_redis_gives_its_deliveries_back(redis, sidecars, monkeypatch):
    """What waits in it is written and removed, although it takes no other delivery."""
    monkeypatch.setattr(pipe, "PAUSE_SECONDS", 1000.0)
    [context] = sidecars(1)
    await context.put(["a1", "a2"], "a")
    redis.client.config_set("maxmemory", "1")
    try:
        await context.put(["b1"], "b")
        assert context.stored() == ["b1"]
        async with context.writing():
            await until(lambda: is_empty(redis))
            await until(lambda: {*context.graph.written} == {"a1", "a2", "b1"})
    finally:
        redis.client.config_set("maxmemory", "0")


@pytest.mark.parametrize("is_full", [False, True])
@awaited
async def test_what_redis_has_no_room_for_stays_in_the_file(redis, sidecars, monkeypatch, is_full):
    """The payloads in it are bounded, and its own limit is one, too."""
    [context] = sidecars(1)
    if is_full:
        redis.client.config_set("maxmemory", "1")
    else:
        monkeypatch.setattr(redis_queue, "MOST_BYTES", 1)
    try:
        async with queues(redis, 1) as [queue]:
            with pytest.raises(WebhooksUnstored):
                await queue.put(delivery("a"))
        await context.put(["a"], "a")
        assert context.stored() == ["a"]
    finally:
        redis.client.config_set("maxmemory", "0")
        await context.inbox.stop()
