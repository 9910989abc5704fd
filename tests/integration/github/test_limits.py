"""Limits against a real HTTP server: what they stop, who waits for them and who does not."""

import asyncio
import json
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from fix_graphql import Graph
from fix_waiting import wait_until

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import errors
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import rate_limit

ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
OTHER = Target(Kind.ISSUE, "octocat", "Hello-World", 8)


@pytest.fixture(autouse=True)
def _same_clock(github, time):
    """Give the stand-in the clock that its clients have when they begin."""
    github.date = format_datetime(time.start, usegmt=True)


def issue(title="A"):
    """Give the JSON of an issue."""
    return {"id": 1, "number": 7, "title": title, "state": "open"}


def test_a_limit_that_ends_in_time_is_waited_for(github, answering, client_of, time) -> None:
    """A limit that ends within the call's wait costs that wait, and then the answer comes."""
    answers = iter([answering(429, {"Retry-After": "20"}, b"{}"), answering.of(issue())])
    github.answer = lambda _: next(answers)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            assert (await client.get(ISSUE, wait=30)).fields["title"] == "A"

    asyncio.run(scenario())
    assert time.passed == 20.0


def test_a_limit_that_ends_too_late_fails_at_once(github, answering, client_of, time) -> None:
    """A limit beyond the wait fails without waiting, says until when, and stops all the rest."""
    github.answer = lambda _: answering(429, {"Retry-After": "40"}, b"{}")

    async def scenario() -> None:
        async with client_of(github.url) as client:
            for target in (ISSUE, OTHER):
                with pytest.raises(errors.RateLimited) as caught:
                    await client.get(target, wait=30)
                assert caught.value.details["resetAt"] == "2026-01-02T03:04:45+00:00"

    asyncio.run(scenario())
    assert len(github.requests) == 1
    assert time.passed == 0.0


def test_who_meets_a_limit_is_told_what_all_others_are(github, answering, client_of, time) -> None:
    """A limit that does not say when it ends is told as it stops: twice as long each time."""
    github.answer = lambda _: answering(429, body=b"{}")

    async def scenario() -> None:
        async with client_of(github.url) as client:
            for minutes in (1, 2, 4):
                told = []
                for target in (ISSUE, OTHER):
                    with pytest.raises(errors.RateLimited) as caught:
                        await client.get(target, wait=30)
                    told.append((caught.value.reset_at - time.now()).total_seconds())
                assert told == [60.0 * minutes] * 2
                time.passed += 60.0 * minutes

    asyncio.run(scenario())
    assert len(github.requests) == 3


def test_a_limit_stops_what_is_queued_too(github, answering, client_of) -> None:
    """No more than twenty requests are under way, and those behind them are not sent any more."""
    github.answer = lambda _: answering(403, {"X-RateLimit-Remaining": "0"}, b"{}")
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 101)]
            asking = [asyncio.create_task(client.get(target)) for target in many]
            await asyncio.to_thread(wait_until, lambda: len(github.requests) == 20)
            github.open.set()
            found = await asyncio.gather(*asking, return_exceptions=True)

            assert {type(error) for error in found} == {errors.RateLimited}
            assert all(error.details["resetAt"] for error in found)

    asyncio.run(scenario())
    assert len(github.requests) == 20


def test_after_its_reset_a_limit_is_over(github, answering, client_of, time) -> None:
    """Requests go out again when the limit has ended by the clock."""
    reset = str(int(time.start.timestamp()) + 1800)
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    answers = iter([answering(403, used_up, b"{}"), answering.of(issue())])
    github.answer = lambda _: next(answers)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.RateLimited) as caught:
                await client.get(ISSUE)
            assert caught.value.details == {"status": 403, "resetAt": "2026-01-02T03:34:05+00:00"}
            time.passed = 1799.0
            with pytest.raises(errors.RateLimited):
                await client.get(ISSUE, wait=1)
            time.passed = 1800.0
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    assert len(github.requests) == 2


ODD_HEADERS = {
    "milliseconds": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767323045000"},
    "garbage": {"X-RateLimit-Remaining": "none", "X-RateLimit-Reset": "\x7f", "Retry-After": "é"},
    "retry later": {"Retry-After": "600"},
    "old etag": {"ETag": 'W/"' + "x" * 5000 + '"', "Date": "yesterday", "Link": "<<<>>>; rel="},
}


@pytest.mark.parametrize("headers", ODD_HEADERS.values(), ids=ODD_HEADERS)
def test_a_good_answer_is_not_killed_by_its_headers(github, answering, client_of, headers) -> None:
    """A 200 is an answer, whatever its headers say of limits, and the next request goes out."""
    github.answer = lambda request: answering(
        200, headers, json.dumps(issue() | {"number": int(request.path[-1])}).encode()
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            for target in (ISSUE, OTHER):
                assert (await client.get(target)).fields["title"] == "A"

    asyncio.run(scenario())
    assert len(github.requests) == 2


def test_who_can_be_given_something_old_waits_for_nothing(
    github, answering, client_of, time
) -> None:
    """Under a limit an expired answer is served at once, without a request, marked stale."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            github.answer = lambda _: answering(429, {"Retry-After": "10"}, b"{}")
            for _ in range(3):
                assert (await client.get(ISSUE, max_age=0)).fields["stale"]

    asyncio.run(scenario())
    assert len(github.requests) == 2
    assert time.passed == 0.0


def test_a_failure_of_a_moment_is_not_noticed(github, answering, client_of, time) -> None:
    """A 502 and a broken connection are tried again, and the third answer is the row."""
    answers = iter([answering(502, body=b"<html>"), answering(body=b"{", length=9)])
    github.answer = lambda _: next(answers, answering.of(issue()))

    async def scenario() -> None:
        async with client_of(github.url) as client:
            assert not (await client.get(ISSUE)).fields["stale"]

    asyncio.run(scenario())
    assert len(github.requests) == 3
    assert time.passed == 0.75


def test_tries_are_bounded(github, answering, client_of) -> None:
    """A GitHub that only fails is asked three times for one thing, however long the wait."""
    github.answer = lambda _: answering(500)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.ServerFailed):
                await client.get(ISSUE, wait=3000)

    asyncio.run(scenario())
    assert len(github.requests) == 3


LIMITS = {
    "core": {"limit": 5000, "used": 1, "remaining": 4999, "reset": 1767324245},
    "graphql": {"limit": 5000, "used": 0, "remaining": 5000, "reset": 1767324245},
    "search": {"limit": 30, "used": 0, "remaining": 30, "reset": 1767324245},
    "scim": {"limit": 15000, "used": 0, "remaining": 15000, "reset": 1767324245},
}


@pytest.fixture
def counting(github, answering):
    """A stand-in that tells its limits, by headers too."""

    def answer(request):
        if request.path == "/rate_limit":
            return answering.of({"resources": LIMITS, "rate": LIMITS["core"]})
        told = {name.title(): str(value) for name, value in LIMITS["core"].items()}
        headers = {f"X-RateLimit-{name}": value for name, value in told.items()}
        headers |= {"X-RateLimit-Remaining": "4990", "X-RateLimit-Resource": "core"}
        return answering(200, headers, json.dumps(issue()).encode())

    github.answer = answer
    return github


def test_budgets_are_asked_for_when_they_are_unknown(counting, client_of, time) -> None:
    """What headers told within a minute costs no call; what is older is asked for."""

    async def scenario() -> None:
        async with client_of(counting.url) as client:
            first = await client.budgets()
            await client.get(ISSUE)
            second = await client.budgets()
            assert [budget.resource for budget in second] == ["core", "graphql", "search"]
            assert [first[0].remaining, second[0].remaining] == [4999, 4990]
            assert counting.paths.count("/rate_limit") == 1
            time.passed = 60.0
            await client.budgets()
            assert counting.paths.count("/rate_limit") == 2

    asyncio.run(scenario())


def test_a_used_up_limit_can_still_be_looked_at(counting, answering, client_of) -> None:
    """The hourly limit does not stop the request that shows it, and a secondary one does."""
    showing = counting.answer
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767324245"}
    refusals = iter([answering(403, spent, b"{}"), answering(429, {"Retry-After": "600"}, b"{}")])
    counting.answer = lambda request: (
        showing(request) if request.path == "/rate_limit" else next(refusals)
    )

    async def scenario() -> None:
        async with client_of(counting.url) as client:
            with pytest.raises(errors.RateLimited):
                await client.get(ISSUE)
            assert len(await client.budgets()) == 3
        async with client_of(counting.url) as client:
            with pytest.raises(errors.RateLimited):
                await client.get(ISSUE)
            with pytest.raises(errors.RateLimited):
                await client.budgets()

    asyncio.run(scenario())
    assert counting.paths.count("/rate_limit") == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 401, "body": b"{}"}, errors.BadCredentials),
        ({"status": 500}, errors.ServerFailed),
        ({"status": 200, "body": b"<html>"}, errors.UnusableAnswer),
        ({"status": 200, "body": b'{"resources": '}, errors.UnusableAnswer),
        ({"status": 429}, errors.RateLimited),
    ],
)
def test_budgets_that_cannot_be_had_are_an_error(
    github, answering, client_of, answer, error
) -> None:
    """What `/rate_limit` answers has the outcomes of any other request."""
    github.answer = lambda _: answering(**answer)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(error, match="rate limit"):
                await client.budgets()

    asyncio.run(scenario())


def test_the_procedure_gives_a_row_for_each_resource(counting, monkeypatch) -> None:
    """`github.rateLimit` gives core, graphql and search with their numbers."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", counting.url)
    with ProcedureEnvironment(rate_limit) as environment:
        rows = environment.call("github.rateLimit")

    reset = datetime.fromtimestamp(1767324245, UTC)
    assert [tuple(row.values()) for row in rows] == [
        ("core", 5000, 4999, 1, reset),
        ("graphql", 5000, 5000, 0, reset),
        ("search", 30, 30, 0, reset),
    ]


def test_a_server_without_limits_gives_no_row(github, answering, monkeypatch) -> None:
    """GitHub Enterprise Server with its limits off has none to tell."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url + "/api/v3")
    github.answer = lambda _: answering(404, body=b'{"message": "Rate limiting is not enabled."}')
    with ProcedureEnvironment(rate_limit) as environment:
        assert environment.call("github.rateLimit") == []

    assert github.paths == ["/api/v3/rate_limit"]


def whole_issue(path):
    """Give an issue as the REST API does, in full, and nothing else."""
    if "/issues/" not in path:
        return None
    number = int(path.rpartition("/")[2])
    return {
        **issue(),
        "id": 10**10 + number,
        "node_id": f"I_{number}",
        "number": number,
        "body": None,
        "user": {"login": "octocat", "type": "User"},
        "milestone": None,
        "comments": 0,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-02T00:00:00Z",
        "html_url": f"https://github.com/o/r/issues/{number}",
        "repository_url": "https://api.github.com/repos/o/r",
    }


def test_a_limit_of_graphql_is_waited_for_once_for_all(
    github, answering, client_of, time, github_schema
) -> None:
    """A limit inside a 200 is waited for by the query as a whole, and then every row is there."""
    graph = Graph(github_schema, whole_issue)
    limited = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    refusals = iter([answering.of(limited, Retry_After="20")])

    def answer(request):
        asked = json.loads(request.body)
        return next(refusals, None) or answering.of(
            graph.answer(asked["query"], asked["variables"])
        )

    github.answer = answer

    async def scenario() -> None:
        async with client_of(github.url, token="ghp_token") as client:
            many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 51)]
            found = await client.get_many(many, wait=30)
            assert {snapshot.fields["title"] for snapshot in found} == {"A"}

    asyncio.run(scenario())
    assert github.paths == ["/graphql", "/graphql"]
    assert time.passed == 20.0


def test_a_limit_of_graphql_that_ends_too_late_is_told_in_every_row(
    github, answering, client_of, time
) -> None:
    """Each row says until when, in its own name, and the next batch asks nothing."""
    limited = {"errors": [{"type": "RATE_LIMIT", "message": "API rate limit exceeded"}]}
    reset = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": "1767324245"}
    github.answer = lambda _: answering.of(limited, X_RateLimit_Resource="graphql", **reset)

    async def scenario() -> None:
        async with client_of(github.url, token="ghp_token") as client:
            many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 51)]
            for _ in range(2):
                found = await client.get_many(many, wait=30)
                assert {type(error) for error in found} == {errors.RateLimited}
                assert {error.reset_at.timestamp() for error in found} == {1767324245}
                assert "`o/r#50`" in found[-1].message
            github.answer = lambda _: answering.of(issue())
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    assert github.paths == ["/graphql", ISSUE.path]
    assert time.passed == 0.0
