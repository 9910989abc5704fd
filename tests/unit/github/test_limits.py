"""What counts as a limit, how long it lasts, and what it stops."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.errors import (
    GithubError,
    NotFound,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from sidecypher_procedures.github.rate_limits import (
    GRAPHQL,
    REST,
    UNCOUNTED,
    Budgets,
    Limit,
    Limits,
    budget_in,
    budgets_in,
    read_limit,
    retrying,
    used_up,
)
from sidecypher_procedures.github.responses import Reply, graphql_limit
from sidecypher_procedures.github.rows import RateLimit

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EPOCH = str(int(NOW.timestamp()) + 90)
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": EPOCH}
SECONDARY = b'{"message": "You have exceeded a secondary rate limit."}'


class Time:
    """Time that passes when somebody sleeps."""

    passed = 0.0

    def clock(self) -> Clock:
        """Give this time."""
        return Clock(lambda: self.passed, lambda: NOW + timedelta(seconds=self.passed), self.sleep)

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.passed += seconds


def dated(seconds: float) -> dict[str, str]:
    """Give what GitHub tells of its clock when that is so far ahead of this one."""
    return {"date": format_datetime(after(seconds), usegmt=True)}


def after(seconds: float) -> datetime:
    """Give a time from now."""
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "headers", "content", "expected"),
    [
        (429, {"retry-after": "7"}, b"", Limit(None, after(7), stated=True)),
        (403, {"retry-after": "7"}, b"", Limit(None, after(7), stated=True)),
        (403, {"retry-after": "7", **SPENT}, b"", Limit(None, after(7), stated=True)),
        (403, SPENT, b"", Limit(REST, after(90), stated=True)),
        (429, SPENT, b"", Limit(REST, after(90), stated=True)),
        (
            403,
            {**SPENT, "x-ratelimit-resource": "search"},
            b"",
            Limit("search", after(90), stated=True),
        ),
        (403, {**SPENT, "x-ratelimit-resource": "<b>"}, b"", Limit(REST, after(90), stated=True)),
        (
            403,
            {**SPENT, "x-ratelimit-reset": EPOCH + "000"},
            b"",
            Limit(REST, after(60), stated=False),
        ),
        (403, {"x-ratelimit-remaining": "4999"}, SECONDARY, Limit(None, after(60), stated=False)),
        (403, {}, b"abuse detection mechanism", Limit(None, after(60), stated=False)),
        (429, {}, b"<html>", Limit(None, after(60), stated=False)),
        (429, {"retry-after": "0"}, b"", Limit(None, NOW, stated=True)),
        (429, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, b"", Limit(None, NOW, stated=True)),
        (403, {"retry-after": "soon"}, b"", Limit(None, after(60), stated=False)),
        (429, {"retry-after": "7", **dated(-7200)}, b"", Limit(None, after(7), stated=True)),
        (403, {**SPENT, **dated(30)}, b"", Limit(REST, after(60), stated=True)),
        (403, {**SPENT, **dated(-7200)}, b"", Limit(REST, after(7290), stated=True)),
        (403, {**SPENT, **dated(7200)}, b"", Limit(REST, NOW, stated=True)),
        (403, {**SPENT, "date": "today"}, b"", Limit(REST, after(90), stated=True)),
        (429, {"retry-after": "86400"}, b"", Limit(None, after(86_400), stated=True)),
        (429, {"retry-after": "86401"}, b"", Limit(None, after(60), stated=False)),
        (403, {}, b'{"message": "Resource not accessible by integration"}', None),
        (200, {**SPENT, "retry-after": "7"}, SECONDARY, None),
        (404, SPENT, b"", None),
        (503, {"retry-after": "7"}, b"", None),
    ],
)
def test_the_wait_rule(
    status: int, headers: dict[str, str], content: bytes, expected: Limit | None
) -> None:
    """`retry-after`, else no requests left, else a minute; a 403 may say it in its body alone."""
    assert read_limit(REST, status, httpx.Headers(headers), content, NOW) == expected


GRAPHQL_LIMITS = {
    "type": {"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API"}]},
    "other type": {"errors": [{"type": "RATE_LIMIT", "message": "API"}]},
    "partial": {"data": {"a": {"id": 1}}, "errors": [{"type": "X"}, {"type": "RATE_LIMITED"}]},
    "secondary": {"errors": [{"message": "You have exceeded a secondary rate limit."}]},
}
NO_GRAPHQL_LIMITS = {
    "title": {"data": {"a": {"title": "RATE_LIMITED and a secondary rate limit"}}},
    "other error": {"data": None, "errors": [{"type": "NOT_FOUND", "message": "RATE_LIMIT"}]},
    "no errors": {"errors": None, "data": {"title": "RATE_LIMIT"}},
    "odd errors": {"errors": ["RATE_LIMITED"]},
    "text": "RATE_LIMITED",
}


@pytest.mark.parametrize("answer", GRAPHQL_LIMITS.values(), ids=GRAPHQL_LIMITS)
def test_graphql_says_it_in_a_200(answer: object) -> None:
    """GraphQL's limit is an error in a 200, and ends when the headers say."""
    reply = Reply(200, httpx.Headers(SPENT), json.dumps(answer).encode())

    error = graphql_limit(reply, NOW)

    assert error is not None
    assert error.reset_at == after(90)


@pytest.mark.parametrize("answer", NO_GRAPHQL_LIMITS.values(), ids=NO_GRAPHQL_LIMITS)
def test_data_that_speaks_of_limits_is_none(answer: object) -> None:
    """What somebody wrote into an issue is no limit, and neither is what cannot be read."""
    content = json.dumps(answer).encode()

    assert graphql_limit(Reply(200, httpx.Headers(SPENT), content), NOW) is None
    assert graphql_limit(Reply(200, httpx.Headers(SPENT), content[:-1]), NOW) is None


@given(
    status=st.sampled_from([200, 301, 304, 403, 404, 429, 500]),
    headers=st.dictionaries(
        st.sampled_from(
            [
                "retry-after",
                "x-ratelimit-limit",
                "x-ratelimit-remaining",
                "x-ratelimit-used",
                "x-ratelimit-reset",
                "x-ratelimit-resource",
            ]
        ),
        st.text(st.characters(max_codepoint=255)) | st.integers().map(str) | st.just("0"),
    ),
    content=st.binary(max_size=50),
    resource=st.sampled_from([REST, GRAPHQL]),
)
def test_no_header_kills_an_answer(
    status: int, headers: dict[str, str], content: bytes, resource: str
) -> None:
    """Whatever the headers hold, a limit lasts a day at most, and nothing raises."""
    pairs = [(name, value.encode("latin-1")) for name, value in headers.items()]
    received = httpx.Headers([(name.encode(), value) for name, value in pairs])

    limit = read_limit(resource, status, received, content, NOW)
    budget_in(received)
    Limits(Time().clock()).note(resource, status, received, content)

    assert limit is None or limit.until - NOW <= timedelta(days=1)
    assert limit is None or status in {200, 403, 429}


def limited(limits: Limits, headers: dict[str, str], content: bytes = b"") -> None:
    """Tell of a limit."""
    limits.note(REST, 403, httpx.Headers(headers), content)


def stopped(limits: Limits) -> set[str]:
    """Return which of the resources are stopped."""
    found = set()
    for resource in (REST, GRAPHQL, UNCOUNTED):
        try:
            limits.check(resource, "`o/r`")
        except RateLimited:
            found.add(resource)
    return found


def test_a_used_up_resource_stops_its_own_requests() -> None:
    """The hourly limit of REST stops REST until its reset, and neither GraphQL nor its display."""
    time = Time()
    limits = Limits(time.clock())
    limited(limits, SPENT)

    assert stopped(limits) == {REST}
    time.passed = 89.0
    assert stopped(limits) == {REST}
    time.passed = 90.0
    assert stopped(limits) == set()


def test_a_secondary_limit_stops_everything() -> None:
    """A limit that is not about an hour's requests stops all of the credential."""
    time = Time()
    limits = Limits(time.clock())
    limited(limits, {"retry-after": "30"})

    assert stopped(limits) == {REST, GRAPHQL, UNCOUNTED}
    time.passed = 30.0
    assert stopped(limits) == set()


def test_the_later_of_two_ends_counts() -> None:
    """An error tells the end of the last of the stops that hold a request."""
    limits = Limits(Time().clock())
    limited(limits, SPENT)
    limited(limits, {"retry-after": "30"})

    with pytest.raises(RateLimited) as caught:
        limits.check(REST, "`o/r`")
    assert caught.value.reset_at == after(90)
    assert "`o/r`" in caught.value.message


def test_a_limit_without_an_end_lasts_ever_longer() -> None:
    """One minute, then two, four and eight; answers that were under way together count once."""
    time = Time()
    limits = Limits(time.clock())
    for minutes in (1, 2, 4, 8):
        for _ in range(20):
            limited(limits, {}, SECONDARY)
        time.passed += minutes * 60 - 1
        assert stopped(limits)
        time.passed += 1
        assert not stopped(limits)


def test_a_good_answer_ends_the_series() -> None:
    """After an answer that is none a limit lasts a minute again; an earlier answer is no proof."""
    time = Time()
    limits = Limits(time.clock())
    limited(limits, {}, SECONDARY)
    limits.note(REST, 200, httpx.Headers(), b"{}")
    assert stopped(limits)

    time.passed = 60.0
    limits.note(REST, 200, httpx.Headers(), b"{}")
    limited(limits, {}, SECONDARY)
    time.passed = 120.0
    assert not stopped(limits)


def test_a_reset_in_the_past_is_not_tried_at_once() -> None:
    """Where the clocks differ the pause is a second, and then ever longer."""
    time = Time()
    limits = Limits(time.clock())
    past = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) - 100)}
    for seconds in (1, 2, 4):
        limited(limits, past)
        assert stopped(limits)
        time.passed += seconds
        assert not stopped(limits)


def outcome_of(errors: list[GithubError], wait: float) -> tuple[object, int, float]:
    """Return what came of trying, how often it was tried, and how long it took."""
    time = Time()
    tried = []

    async def work() -> str:
        tried.append(time.passed)
        if errors:
            raise errors.pop(0)
        return "done"

    async def trying() -> object:
        try:
            return await retrying(work, wait=wait, clock=time.clock())
        except GithubError as error:
            return type(error)

    return asyncio.run(trying()), len(tried), time.passed


@pytest.mark.parametrize("error", [ServerFailed, Unreachable, TimedOut])
def test_transient_errors_are_tried_three_times(error: type[GithubError]) -> None:
    """A failure is tried again after short and growing pauses, three times in all."""
    assert outcome_of([error("x")], 30.0) == ("done", 2, 0.25)
    assert outcome_of([error("x"), error("x")], 30.0) == ("done", 3, 0.75)
    assert outcome_of([error("x")] * 9, 30.0) == (error, 3, 0.75)
    assert outcome_of([error("x")] * 9, 0.25) == (error, 1, 0.0)


def test_an_error_for_good_is_not_tried_again() -> None:
    """What will not change is raised at once."""
    assert outcome_of([NotFound("x")], 30.0) == (NotFound, 1, 0.0)


def test_a_limit_is_waited_for_only_inside_the_wait() -> None:
    """A caller waits for the reset if it has the time, and else not at all."""
    assert outcome_of([used_up("x", after(29))], 30.0) == ("done", 2, 29.0)
    assert outcome_of([used_up("x", after(30))], 30.0) == (RateLimited, 1, 0.0)
    assert outcome_of([used_up("x", after(10))] * 9, 3600.0) == (RateLimited, 3, 10.5)


def budget(resource: str, limit: int, remaining: int, used: int, ends: float) -> RateLimit:
    """Make a row that ends in so many seconds."""
    counts = {"limit": limit, "remaining": remaining, "used": used}
    return RateLimit(resource=resource, **counts, reset_at=after(ends))


def test_budgets_come_with_every_answer() -> None:
    """The headers tell the budget of their resource; `used` is computed where it is not told."""
    headers = {
        "x-ratelimit-resource": "core",
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "4990",
        "x-ratelimit-reset": EPOCH,
    }

    assert budget_in(httpx.Headers(headers)) == budget("core", 5000, 4990, 10, 90)
    assert budget_in(httpx.Headers({**headers, "x-ratelimit-used": "12"})).used == 12
    for name in headers.keys() - {"x-ratelimit-resource"}:
        for bad in ("", "-1", "1.5", "x", "9" * 30):
            assert budget_in(httpx.Headers({**headers, name: bad})) is None


def test_odd_lists_of_budgets_are_left_out() -> None:
    """What cannot be a budget is no row."""
    good = {"limit": 60, "remaining": 50, "used": 10, "reset": int(EPOCH)}

    assert budgets_in({"resources": {"core": good, "search": 1, "graphql": {}, "x": good}}) == [
        budget("core", 60, 50, 10, 90)
    ]
    assert budgets_in({"resources": []}) == budgets_in({}) == []


def test_budgets_are_fresh_for_a_minute_and_a_period() -> None:
    """They are given again only while none is unknown, older than a minute, or of a past period."""
    time = Time()
    budgets = Budgets(time.clock())
    some = [budget(name, 60, 50, 10, 30) for name in ("core", "graphql")]
    budgets.note(some)
    assert budgets.fresh() is None
    budgets.note([budget("search", 30, 30, 0, 90)])
    assert [budget.resource for budget in budgets.fresh() or []] == ["core", "graphql", "search"]
    time.passed = 30.0
    assert budgets.fresh() is None
    budgets.note([budget(name, 60, 60, 0, 3600) for name in ("core", "graphql")])
    assert budgets.fresh()
    time.passed = 60.0
    assert budgets.fresh() is None
