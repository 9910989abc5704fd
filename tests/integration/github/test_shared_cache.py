"""Two sidecars that share answers in a real Redis, against a real HTTP server."""

import asyncio
import contextlib
import hashlib
import itertools
import json
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
import structlog
from fix_graphql import Graph
from fix_waiting import awaited, promised, wait_until
from redis import Redis

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing import pipe, shared

TOKEN = "github_pat_secretsecretsecretsecret"
ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)


def issue(number=7, title="A", **more):
    """Give the JSON of an issue."""
    return {
        "id": number,
        "node_id": f"I_{number}",
        "number": number,
        "title": title,
        "body": None,
        "milestone": None,
        "html_url": f"https://github.com/octocat/Hello-World/issues/{number}",
        "state": "open",
        "user": {"login": "octocat", "type": "User", "id": 583231},
        "repository_url": "https://api.github.com/repos/octocat/Hello-World",
        "comments": 0,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-02T00:00:00Z",
        **more,
    }


@pytest.fixture
def sidecars_of(github, redis_server, monkeypatch):
    """Give what runs as many clients as are wanted, all with one Redis."""
    monkeypatch.setattr(pipe, "ANSWER_SECONDS", promised(pipe.ANSWER_SECONDS))

    @contextlib.asynccontextmanager
    async def running(count=2, redis=redis_server, clocks=(), **settings):
        monkeypatch.setenv("SIDECYPHER_REDIS_URL", redis.url)
        given = GithubSettings(base_url=github.url, **{"token": TOKEN, **settings})
        async with contextlib.AsyncExitStack() as stack:
            clients = []
            for clock, _ in itertools.zip_longest(clocks, range(count)):
                clients.append(GithubClient(given, clock))
                stack.push_async_callback(clients[-1].stop)
            yield clients

    return running


MISSING = Target(Kind.ISSUE, "octocat", "Hello-World", 8)
INVALIDATED = "github:1:invalidated"


def keys(redis, kind):
    """Return the keys of a kind, sorted."""
    found = redis.client.keys("github:1:*")
    return sorted(key for key in found if not kind or f":{kind}:" in key)


def dump(redis, key):
    """Return what is at a key."""
    readers = {
        "string": lambda: raw.get(key),
        "hash": lambda: raw.hgetall(key),
        "zset": lambda: raw.zrange(key, 0, -1),
        "stream": lambda: raw.xrange(key),
    }
    with Redis.from_url(redis.url) as raw:
        return readers[redis.client.type(key)]()


async def becomes(client, *titles):
    """Wait until the client returns one of these titles."""
    async with asyncio.timeout(30):
        while (await client.get(ISSUE)).fields["title"] not in titles:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@awaited
async def test_a_thousand_cold_rows_of_two_sidecars_are_one_call(github, answering, sidecars_of):
    """What both ask for at the same time is asked of GitHub once."""
    github.answer = lambda _: answering.of(issue(), ETag='"1"')

    async with sidecars_of() as (one, other):
        asked = [client.get(ISSUE) for _ in range(1000) for client in (one, other)]
        found = await asyncio.gather(*asked)

    assert {each.fields["title"] for each in found} == {"A"}
    assert len(github.requests) == 1


@awaited
async def test_the_user_of_the_page_may_share_answers(github, answering, sidecars_of, redis_users):
    """The rights that the page names for a sidecar are enough, also to forget an answer."""
    titles = iter(["old", "new"])
    github.answer = lambda _: answering.of(issue(title=next(titles)))

    async with sidecars_of(redis=SimpleNamespace(url=redis_users["sidecar"])) as (one, other):
        await one.get(ISSUE)
        await other.get(ISSUE)
        one.invalidate(ISSUE.owner, ISSUE.repo, ISSUE.number)
        assert (await one.get(ISSUE)).fields["title"] == "new"
        await becomes(other, "new")
        assert not one._shared.failures
        assert not other._shared.failures

    assert len(github.requests) == 2


# Single flight


@pytest.mark.slow
@awaited
async def test_a_thousand_cold_keys_of_two_sidecars_are_asked_for_once(
    github, answering, sidecars_of, github_schema, monkeypatch
):
    """Two batches of the same thousand issues cost the ten queries of one."""
    # GitHub computes its answers in this process, so the event loop may stand still for seconds.
    monkeypatch.setattr(pipe, "ANSWER_SECONDS", 30.0)
    monkeypatch.setattr(shared, "LOCK_SECONDS", 60.0)
    where = {
        "repository_url": "https://api.github.com/repos/o/r",
        "html_url": "https://github.com/o/r/issues/1",
    }
    objects = {f"/repos/o/r/issues/{number}": issue(number, **where) for number in range(1, 1001)}
    graph = Graph(github_schema, objects.get)

    def answer(request):
        asked = json.loads(request.body)
        return answering.of(graph.answer(asked["query"], asked["variables"]))

    github.answer = answer
    wanted = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 1001)]

    async with sidecars_of() as (one, other):
        found = await asyncio.gather(one.get_many(wanted), other.get_many(wanted))

    assert found[0] == found[1]
    assert github.paths == ["/graphql"] * 10


@awaited
async def test_a_sidecar_that_dies_holds_others_up_for_a_short_time(
    github, answering, sidecars_of, redis_server, monkeypatch
):
    """A lock that nobody releases ends, and the next sidecar asks."""
    monkeypatch.setattr(shared, "LOCK_SECONDS", 0.2)
    github.answer = lambda _: answering.of(issue())

    async with sidecars_of() as (one, other):
        scope = one._shared._scope(one._credential_key)
        await one._shared.look(one._credential_key, [ISSUE.key], lock=True)
        assert redis_server.client.pttl(f"github:1:{scope}:lock:{ISSUE.key}") > 0
        one._shared._renewer.cancel()
        assert (await other.get(ISSUE)).fields["title"] == "A"

    assert len(github.requests) == 1


@awaited
async def test_an_error_is_the_error_of_who_asked(github, answering, sidecars_of):
    """A failure is not shared: the other sidecar asks for itself at once."""
    github.answer = lambda _: answering(403, body=b"{}")

    async with sidecars_of() as (one, other):
        for client in (one, other):
            with pytest.raises(errors.PermissionDenied):
                await client.get(ISSUE)

    assert len(github.requests) == 2


# Age


@awaited
async def test_an_answer_of_the_other_is_confirmed_by_its_etag(github, answering, sidecars_of):
    """What the other has fetched and is too old costs a request that GitHub does not count."""

    def answer(request):
        if request.headers.get("if-none-match") == '"1"':
            return answering(304, {"ETag": '"1"'})
        return answering.of(issue(), ETag='"1"')

    github.answer = answer

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        assert (await other.get(ISSUE, max_age=0)).fields["title"] == "A"

    assert [each.headers.get("if-none-match") for each in github.requests] == [None, '"1"']


@awaited
async def test_an_answer_is_as_old_for_one_as_for_the_other(
    github, answering, sidecars_of, redis_server
):
    """The age of an answer does not begin anew at the sidecar that finds it."""
    github.answer = lambda _: answering.of(issue())

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        [key] = await asyncio.to_thread(wait_until, lambda: keys(redis_server, "entry"))
        kept = redis_server.client.pttl(key)
        await asyncio.to_thread(wait_until, lambda: redis_server.client.pttl(key) < kept - 200)
        await other.get(ISSUE, max_age=10)
        assert len(github.requests) == 1
        await other.get(ISSUE, max_age=0.2)

    assert len(github.requests) == 2


@awaited
async def test_what_redis_keeps_ends(github, answering, sidecars_of, redis_server):
    """An answer is kept for an hour, and that there is none for `negative_ttl`."""
    github.answer = lambda request: (
        answering.of(issue()) if request.path.endswith("7") else answering(404, body=b"{}")
    )

    async with sidecars_of(count=1) as [client]:
        await client.get(ISSUE)
        with pytest.raises(errors.NotFound):
            await client.get(MISSING)

    left = {key[-1]: redis_server.client.ttl(key) for key in keys(redis_server, "entry")}
    assert 3590 < left["7"] <= 3600
    assert 20 < left["8"] <= 30
    assert not keys(redis_server, "lock")


@awaited
async def test_what_does_not_exist_is_known_to_both(github, answering, sidecars_of):
    """That there is no such issue is asked of GitHub once."""
    github.answer = lambda _: answering(404, body=b"{}")

    async with sidecars_of() as (one, other):
        for client in (one, other):
            with pytest.raises(errors.NotFound):
                await client.get(MISSING)

    assert len(github.requests) == 1


# Invalidation


@pytest.mark.parametrize("number", [7, None])
@awaited
async def test_what_one_sidecar_invalidates_all_forget(github, answering, sidecars_of, number):
    """The other's memory and what is in Redis are dropped, also by the name of the repository."""
    titles = iter(["old", "new"])
    github.answer = lambda _: answering.of(issue(title=next(titles)))

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        await other.get(ISSUE)
        other.invalidate("octocat", "Hello-World", number)

        assert (await other.get(ISSUE)).fields["title"] == "new"
        await becomes(one, "new")

    assert len(github.requests) == 2


@awaited
async def test_an_answer_under_way_at_one_is_void_after_the_other_invalidates(
    github, answering, sidecars_of, redis_server
):
    """It is returned to its caller, and to no later one of any sidecar."""
    titles = iter(["old", "new"])
    github.answer = lambda _: answering.of(issue(title=next(titles)))
    github.open.clear()

    async with sidecars_of() as (one, other):
        before = asyncio.create_task(one.get(ISSUE))
        await asyncio.to_thread(github.arrived.wait, 10)
        other.invalidate("octocat", "Hello-World", 7)
        await asyncio.to_thread(wait_until, lambda: redis_server.client.exists(INVALIDATED))
        github.open.set()
        assert (await before).fields["title"] == "old"
        assert (await other.get(ISSUE)).fields["title"] == "new"
        await becomes(one, "new")

    assert len(github.requests) == 2


@awaited
async def test_an_invalidation_while_redis_is_away_is_made_up_for(
    github, answering, sidecars_of, own_redis, monkeypatch
):
    """Redis is told when it is back, and so are the other sidecars."""
    monkeypatch.setattr(pipe, "PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(shared, "PAUSE_SECONDS", 0.1)
    titles = iter(["old", "new", "newer"])
    github.answer = lambda _: answering.of(issue(title=next(titles)))
    redis = own_redis()

    async with sidecars_of(redis=redis) as (one, other):
        await one.get(ISSUE)
        await other.get(ISSUE)
        await asyncio.to_thread(redis.kill)
        other.invalidate("octocat", "Hello-World", 7)
        assert (await other.get(ISSUE)).fields["title"] == "new"
        assert (await one.get(ISSUE)).fields["title"] == "old"
        await asyncio.to_thread(redis.start)
        await becomes(one, "newer", "new")


# Redis away


@awaited
async def test_without_redis_each_sidecar_works_alone(
    github, answering, sidecars_of, own_redis, monkeypatch
):
    """A killed Redis costs nothing but the sharing, which comes back with it."""
    monkeypatch.setattr(pipe, "PAUSE_SECONDS", 0.1)
    github.answer = lambda request: answering.of(issue(int(request.path.rpartition("/")[2])))
    redis = own_redis()

    async with sidecars_of(redis=redis) as (one, other):
        await one.get(ISSUE)
        await asyncio.to_thread(wait_until, lambda: keys(redis, "entry"))
        with structlog.testing.capture_logs() as logged:
            await asyncio.to_thread(redis.kill)
            for number in (7, 8, 9):
                for client in (one, other):
                    await client.get(Target(Kind.ISSUE, "octocat", "Hello-World", number))
        assert [each["event"] for each in logged] == ["github.redis_away"] * 2
        assert redis.url.partition("//")[2] not in str(logged)
        assert len(github.requests) == 6
        assert measured(one)["sidecypher_github_shared_away"] == 1
        assert measured(one)["sidecypher_github_shared_failures_total"] > 0

        await asyncio.to_thread(redis.start)
        async with asyncio.timeout(30):
            while not await is_shared(one, other, github):
                pass
        assert measured(other)["sidecypher_github_shared_away"] == 0
        assert measured(other)["sidecypher_github_shared_looks_total"] > 0


def measured(client):
    """Return the metrics of a client by name; of several samples, the first."""
    return {
        sample.name: sample.value
        for metric in client.collect()
        for sample in reversed(metric.samples)
    }


async def is_shared(one, other, github):
    """Return whether an issue that was never asked for is fetched once for both."""
    target = Target(Kind.ISSUE, "octocat", "Hello-World", len(github.requests) + 10)
    before = len(github.requests)
    for client in (one, other):
        await client.get(target)
    return len(github.requests) == before + 1


@awaited
async def test_a_redis_that_hangs_holds_a_call_up_for_a_moment_and_others_not_at_all(
    github, answering, sidecars_of, own_redis, monkeypatch
):
    """After one wait of `ANSWER_SECONDS` nothing is asked of Redis for `PAUSE_SECONDS`."""
    monkeypatch.setattr(pipe, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(pipe, "PAUSE_SECONDS", 60.0)
    github.answer = lambda request: answering.of(issue(int(request.path.rpartition("/")[2])))
    redis = own_redis()

    async with sidecars_of(count=1, redis=redis) as [client]:
        await client.get(ISSUE)
        redis.process.suspend()
        try:
            taken = []
            for number in range(8, 18):
                began = time.monotonic()
                await client.get(Target(Kind.ISSUE, "octocat", "Hello-World", number))
                taken.append(time.monotonic() - began)
        finally:
            redis.process.resume()

    assert 0.4 < taken[0] < 0.5 + promised(0.5)
    assert max(taken[1:]) < promised(0.3)


@awaited
async def test_a_redis_that_was_never_there_is_no_error(github, answering, sidecars_of):
    """A sidecar whose Redis does not run yet asks GitHub."""
    github.answer = lambda _: answering.of(issue())

    async with sidecars_of(redis=SimpleNamespace(url="redis://127.0.0.1:1")) as (one, other):
        assert (await one.get(ISSUE)).fields["title"] == "A"
        assert one.invalidate("octocat", "Hello-World", 7) == 1
        await other.get(ISSUE)

    assert len(github.requests) == 2


# What is in Redis


@awaited
async def test_nothing_in_redis_shows_the_credential(github, answering, sidecars_of, redis_server):
    """Neither keys nor values hold the token or its plain hash."""
    github.answer = lambda request: answering.of(issue(int(request.path[-1])), ETag='"1"')

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        await other.get(MISSING)
        one.invalidate("octocat", "Hello-World")

    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    everything = str({key: dump(redis_server, key) for key in keys(redis_server, "")})
    assert "Hello-World".lower() in everything
    assert TOKEN not in everything
    assert digest not in everything


@awaited
async def test_another_credential_finds_nothing(github, answering, sidecars_of):
    """What one token has seen is asked for again by another one."""
    github.answer = lambda _: answering.of(issue())

    async with sidecars_of(count=1) as [one], sidecars_of(count=1, token="ghp_other") as [other]:
        await one.get(ISSUE)
        await other.get(ISSUE)

    assert len(github.requests) == 2


FOREIGN = {
    "garbage": lambda client, key: client.set(key, "garbage", keepttl=True),
    "empty": lambda client, key: client.set(key, "", keepttl=True),
    "cut off": lambda client, key: client.setrange(key, 20, "xxxxxxxxxxxxxx"),
    "another type": lambda client, key: (client.delete(key), client.rpush(key, "a")),
    "too long": lambda client, key: client.append(key, "x" * shared.MOST_BYTES),
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
@awaited
async def test_what_no_sidecar_wrote_counts_as_nothing(
    github, answering, sidecars_of, redis_server, change
):
    """A broken or foreign entry is fetched from GitHub, and replaced."""
    github.answer = lambda _: answering.of(issue())

    async with sidecars_of(count=3) as (one, other, third):
        await one.get(ISSUE)
        [key] = await asyncio.to_thread(wait_until, lambda: keys(redis_server, "entry"))
        change(redis_server.client, key)
        assert (await other.get(ISSUE)).fields["title"] == "A"
        await third.get(ISSUE)

    assert len(github.requests) == 2


@awaited
async def test_an_entry_of_another_path_is_not_believed(
    github, answering, sidecars_of, redis_server
):
    """What was copied from one key to another counts as nothing."""
    github.answer = lambda request: answering.of(issue(int(request.path.rpartition("/")[2])))

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        [key] = await asyncio.to_thread(wait_until, lambda: keys(redis_server, "entry"))
        redis_server.client.copy(key, f"{key[:-1]}8")
        assert (await other.get(MISSING)).fields["number"] == 8


@awaited
async def test_the_oldest_answers_go_when_all_are_too_large(
    github, answering, sidecars_of, redis_server
):
    """The sum of all answers stays below the setting, and the newest stay."""
    github.answer = lambda request: answering.of(issue(int(request.path.rpartition("/")[2])))

    async with sidecars_of(count=1, shared_cache_bytes=10_000) as [client]:
        for number in range(1, 101):
            await client.get(Target(Kind.ISSUE, "octocat", "Hello-World", number))

    kept = sorted(int(key.rpartition("/")[2]) for key in keys(redis_server, "entry"))
    assert 5 < len(kept) < 25
    assert kept == list(range(101 - len(kept), 101))
    sizes = redis_server.client.hgetall("github:1:sizes")
    assert int(sizes.pop("")) == sum(map(int, sizes.values())) <= 10_000
    assert redis_server.client.zcard("github:1:index") == len(kept)


# Limits


@awaited
async def test_a_limit_that_one_meets_stops_the_other(github, answering, sidecars_of):
    """The other sidecar sends nothing until the limit ends."""
    github.answer = lambda _: answering(429, {"Retry-After": "600"}, b"{}")

    async with sidecars_of() as (one, other):
        for client in (one, other):
            with pytest.raises(errors.RateLimited) as caught:
                await client.get(ISSUE)
            assert 590 < (caught.value.reset_at - datetime.now(UTC)).total_seconds() <= 600

    assert len(github.requests) == 1


@pytest.mark.parametrize("ahead", [5, -5])
@awaited
async def test_a_wrong_clock_of_one_does_not_stop_the_other(github, answering, sidecars_of, ahead):
    """A limit ends for each when it does at GitHub, whatever time the one that met it has."""
    github.answer = lambda _: answering(429, {"Retry-After": "600"}, b"{}")
    wrong = Clock(now=lambda: datetime.now(UTC) + timedelta(hours=ahead))

    async with sidecars_of(clocks=[wrong, Clock()]) as clients:
        for client, clock in zip(clients, (wrong, Clock()), strict=True):
            with pytest.raises(errors.RateLimited) as caught:
                await client.get(ISSUE)
            assert 590 < (caught.value.reset_at - clock.now()).total_seconds() <= 600

    assert len(github.requests) == 1


@awaited
async def test_two_sidecars_do_not_both_spend_the_last_of_a_limit(github, answering, sidecars_of):
    """With two requests left, the first of twenty that begin at once are sent, and no more."""
    left = iter([2, 1, 0])
    reset = str(int(time.time()) + 600)

    def answer(request):
        headers = {
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Remaining": str(next(left)),
            "X-RateLimit-Used": "1",
            "X-RateLimit-Reset": reset,
            "X-RateLimit-Resource": "core",
        }
        number = int(request.path.rpartition("/")[2])
        return answering(200, headers, json.dumps(issue(number)).encode())

    github.answer = answer

    async with sidecars_of() as (one, other):
        await one.get(ISSUE)
        targets = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 11)]
        asked = [client.get(each) for each in targets[:5] for client in [one]]
        asked += [other.get(each) for each in targets[5:]]
        found = await asyncio.gather(*asked, return_exceptions=True)

    assert [type(each) for each in found].count(errors.RateLimited) == 8
    assert len(github.requests) == 3


@awaited
async def test_requests_that_cost_nothing_do_not_use_up_a_limit(github, answering, sidecars_of):
    """After many answers that GitHub does not count, those that it has left can be sent."""
    reset = str(int(time.time()) + 600)
    told = {
        "X-RateLimit-Limit": "5000",
        "X-RateLimit-Remaining": "3",
        "X-RateLimit-Used": "1",
        "X-RateLimit-Reset": reset,
        "X-RateLimit-Resource": "core",
        "ETag": '"1"',
    }
    github.answer = lambda request: (
        answering(304, told)
        if "if-none-match" in request.headers
        else answering(200, told, json.dumps(issue()).encode())
    )

    async with sidecars_of() as (one, other):
        for _ in range(10):
            for client in (one, other):
                await client.get(ISSUE, max_age=0)

    assert len(github.requests) == 20


@pytest.mark.slow
@awaited
async def test_a_client_that_stops_leaves_no_connection(
    github, answering, sidecars_of, redis_server
):
    """However the end of a client meets what it follows, its connections to Redis are closed."""
    github.answer = lambda request: answering.of(issue(7))
    before = redis_server.client.info("clients")["connected_clients"]

    for number in range(30):
        async with sidecars_of() as (one, other):
            await one.get(ISSUE)
            await other.get(ISSUE)
            # What the other one follows wakes while it stops.
            one.invalidate("octocat", "Hello-World", 7)
            await asyncio.sleep(number % 10 / 2000)

    def left():
        return redis_server.client.info("clients")["connected_clients"] - before

    await asyncio.to_thread(wait_until, lambda: left() <= 0)
