"""Batches by GraphQL: how many calls they cost, and whose error is whose."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_graphql import Graph
from fix_waiting import wait_until

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import get_issue, get_pull_request, get_repository

TOKEN = "github_pat_secretsecretsecretsecret"


@pytest.fixture
def environment(github, monkeypatch):
    """A sidecar of its own with a token, whose GitHub is the stand-in."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as made:
        yield made


def issue(number, **more):
    """An issue as the REST API gives it."""
    return {
        "id": 10**10 + number,
        "node_id": f"I_{number}",
        "number": number,
        "title": f"Issue {number}",
        "body": None,
        "state": "open",
        "user": {"login": "octocat", "type": "User", "id": 583231},
        "repository_url": "https://api.github.com/repos/o/r",
        "milestone": None,
        "comments": 0,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-02T00:00:00Z",
        "html_url": f"https://github.com/o/r/issues/{number}",
        **more,
    }


@pytest.fixture
def origin(github, answering, github_schema):
    """A GitHub that has 2 000 issues, by REST and by GraphQL."""
    objects = {f"/repos/o/r/issues/{number}": issue(number) for number in range(1, 2001)}
    github.objects = objects
    graph = Graph(github_schema, lambda path: objects.get(path.lower()))

    def answer(request):
        if request.path == "/graphql":
            asked = json.loads(request.body)
            return answering.of(graph.answer(asked["query"], asked["variables"]))
        found = objects.get(request.path.lower())
        return answering.of(found) if found else answering(404, body=b"{}")

    github.answer = answer
    return github


def test_a_thousand_cold_issues_cost_ten_calls_and_none_when_warm(origin, environment):
    """Each call asks for a hundred issues, each row has its own, and memory gives them again."""
    wanted = [["o", "r", number] for number in range(1000, 0, -1)]

    cold = environment.call("github.getIssue.batch", wanted)
    assert [row["title"] for row in cold] == [f"Issue {number}" for _, _, number in wanted]
    assert origin.paths == ["/graphql"] * 10

    warm = environment.call("github.getIssue.batch", wanted)
    assert warm == cold
    assert len(origin.paths) == 10


def test_twenty_cold_issues_are_asked_of_rest_and_more_of_graphql(origin, environment):
    """What is in memory and what is wanted twice does not count."""
    environment.call("github.getIssue.batch", [["o", "r", number] for number in range(1, 21)] * 2)
    assert sorted(origin.paths) == sorted(f"/repos/o/r/issues/{number}" for number in range(1, 21))

    environment.call("github.getIssue.batch", [["o", "r", number] for number in range(1, 41)])
    assert "/graphql" not in origin.paths
    assert len(origin.paths) == 40

    environment.call("github.getIssue.batch", [["o", "r", number] for number in range(1, 62)])
    assert origin.paths[40:] == ["/graphql"]


def test_a_pull_request_batch_and_one_of_repositories_are_queries_too(
    github, answering, environment, github_schema, recordings
):
    """All three batches go by GraphQL when they are wanted so, and tell what is not there."""
    graph = Graph(github_schema, recordings.get)
    github.answer = lambda request: answering.of(graph.answer(**asked(request)))
    options = {"api": "graphql"}

    pulls = environment.call(
        "github.getPullRequest.batch",
        [["Codertocat", "Hello-World", number, options] for number in (2, 3)],
    )
    repositories = environment.call(
        "github.getRepository.batch",
        [["octo-org", name, options] for name in ("nothing", "octo-repo")],
    )

    assert [row["id"] for row in pulls] == ["279147437", None]
    assert [row["fullName"] for row in repositories] == [None, "octo-org/octo-repo"]
    assert [row["error"] for row in pulls + repositories] == [None] * 4
    assert github.paths == ["/graphql"] * 2


def asked(request):
    """What a request to /graphql asks, as arguments of `Graph.answer`."""
    body = json.loads(request.body)
    return {"document": body["query"], "variables": body["variables"]}


def test_a_request_of_graphql_is_what_github_asks_for(origin, environment):
    """A query is a POST with the token, in JSON, to the API that REST's base belongs to."""
    environment.call("github.getIssue", "o", "r", 7, {"api": "graphql"})

    (request,) = origin.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body)["variables"] == {"owner0": "o", "name0": "r", "number0": 7}


def test_graphql_is_beside_rest_on_an_enterprise_server(origin, answering, monkeypatch):
    """With the base /api/v3 queries go to /api/graphql."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", f"{origin.url}/api/v3/")
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    with ProcedureEnvironment(get_issue) as environment, pytest.raises(CallError):
        environment.call("github.getIssue", "o", "r", 7, {"api": "graphql"})

    assert origin.paths == ["/api/graphql"]


def test_without_a_token_a_batch_is_asked_of_rest(origin, monkeypatch):
    """GraphQL needs a token: without one `auto` is REST, and `graphql` is refused by name."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", origin.url)
    wanted = [["o", "r", number] for number in range(1, 31)]
    with ProcedureEnvironment(get_issue) as environment:
        assert len(environment.call("github.getIssue.batch", wanted)) == 30
        assert "/graphql" not in origin.paths
        with pytest.raises(CallError, match="needs a token") as caught:
            environment.call("github.getIssue", "o", "r", 1, {"api": "graphql", "onError": "skip"})
        (row,) = environment.call("github.getIssue.batch", [["o", "r", 1, {"api": "graphql"}]])

    assert caught.value.code == row["error"]["code"] == "SC-502"


def test_rest_can_be_wanted_for_many(origin, environment):
    """With `api: 'rest'` no query is made, however many there are."""
    wanted = [["o", "r", number, {"api": "rest"}] for number in range(1, 31)]
    environment.call("github.getIssue.batch", wanted)

    assert sorted(set(origin.paths)) == sorted(f"/repos/o/r/issues/{n}" for n in range(1, 31))


def test_a_number_that_graphql_cannot_ask_for_is_asked_of_rest(origin, environment):
    """A number above 31 bits does not spoil the query of the others."""
    wanted = [["o", "r", number] for number in (*range(1, 31), 2**31)]
    rows = environment.call("github.getIssue.batch", wanted)

    assert [row["number"] for row in rows] == [*range(1, 31), None]
    assert sorted(origin.paths) == ["/graphql", f"/repos/o/r/issues/{2**31}"]


def spoilt(origin, spoil):
    """Let the stand-in answer queries with what `spoil` makes of its answer."""
    whole = origin.answer

    def answer(request):
        good = whole(request)
        return spoil(request, good) if request.path == "/graphql" else good

    origin.answer = answer


def numbers_in(request):
    """The numbers a query asks for."""
    return [value for value in json.loads(request.body)["variables"].values() if type(value) is int]


OVERLOADED = {
    "502": {"status": 502, "body": b"<html>"},
    "504": {"status": 504, "body": b"{}"},
    "said in a 200": {"body": b'{"data": null, "errors": [{"message": "Something went wrong"}]}'},
}


@pytest.mark.parametrize("failure", OVERLOADED.values(), ids=OVERLOADED)
def test_a_query_that_is_too_much_is_halved(origin, environment, answering, failure):
    """What GitHub cannot answer at once it is asked for in halves, and one row fails at most."""
    spoilt(origin, lambda asked, good: answering(**failure) if 42 in numbers_in(asked) else good)
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 101)])

    failed = {row["index"] + 1: row["error"] for row in rows if row["error"]}
    assert list(failed) == [42]
    assert failed[42]["code"] in {"SC-508", "SC-510"}
    assert failed[42]["retryable"]
    assert "`o/r#42`" in failed[42]["message"]
    assert [row["number"] for row in rows if not row["error"]] == [
        number for number in range(1, 101) if number != 42
    ]
    assert len(origin.paths) <= 15


FAILING = {"SC-507": {"status": 429, "headers": {"Retry-After": "20"}}, "SC-509": {"length": 99}}


@pytest.mark.parametrize("code", FAILING)
@pytest.mark.parametrize("wait", [5.0, 30.0])
def test_a_half_that_fails_takes_nothing_from_the_other(origin, client_of, answering, code, wait):
    """What one half gave is kept when the other fails, and only the other is asked for again."""
    many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 101)]
    faults = iter([answering(502)])

    def spoil(asked, good):
        first = next(faults, None)
        return first or (answering(**FAILING[code]) if 100 in numbers_in(asked) else good)

    spoilt(origin, spoil)

    async def scenario():
        async with client_of(origin.url, token=TOKEN) as client:
            found = await client.get_many(many, wait=wait)
            assert [each.fields["number"] for each in found[:50]] == list(range(1, 51))
            assert {each.code for each in found[50:]} == {code}
            if code == "SC-507":
                assert "`o/r#77`" in found[76].message

    asyncio.run(scenario())
    asked = [numbers_in(request) for request in origin.requests]
    assert [len(numbers) for numbers in asked[:2]] == [100, 50]
    assert all(set(numbers) == set(range(51, 101)) for numbers in asked[2:])


def test_halving_is_bounded(origin, environment, answering):
    """When GitHub answers nothing, each row has the error after sixteen calls at most."""
    spoilt(origin, lambda *_: answering(502))
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 101)])

    assert {row["error"]["code"] for row in rows} == {"SC-508"}
    assert len(origin.paths) <= 16


def test_a_query_without_an_answer_is_halved(origin, environment, answering, monkeypatch):
    """A query that is not answered in the read timeout counts as too much."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_READ_TIMEOUT", "2")
    origin.hold = lambda request: len(numbers_in(request)) > 20 if request.body else False
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 31)])

    assert [row["number"] for row in rows] == list(range(1, 31))
    assert origin.paths == ["/graphql"] * 3


@pytest.mark.parametrize("kind", ["FORBIDDEN", "NOT_FOUND", "EXCESSIVE_PAGINATION", None])
@pytest.mark.parametrize("below", [[], ["milestone"]])
def test_an_error_inside_an_answer_is_its_rows_alone(origin, environment, answering, kind, below):
    """The row whose node is null has the error; what is not there is a row of nulls."""

    def spoil(_request, good):
        answer = json.loads(good.body)
        answer["data"]["r0"]["k2"] = None
        answer["errors"] = [{"type": kind, "path": ["r0", "k2", *below], "message": "secret"}]
        return answering.of(answer)

    spoilt(origin, spoil)
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 31)])

    codes = {"FORBIDDEN": "SC-506", "EXCESSIVE_PAGINATION": "SC-524", None: "SC-508"}
    code = codes.get(kind)
    assert [row["number"] for row in rows] == [1, 2, None, *range(4, 31)]
    assert [row["index"] for row in rows if row["error"]] == ([2] if code else [])
    assert (rows[2]["error"] or {}).get("code") == code
    assert "secret" not in str(rows)


def test_a_repository_that_is_not_there_is_the_error_of_its_rows(origin, environment):
    """Rows of another repository are there; those of a missing one are rows of nulls."""
    wanted = [["o", "rr"[: 1 + number % 2], number] for number in range(1, 41)]
    rows = environment.call("github.getIssue.batch", wanted)

    assert [row["number"] for row in rows] == [n if n % 2 == 0 else None for n in range(1, 41)]
    assert origin.paths == ["/graphql"]


REFUSED = {
    "limit": ({"errors": [{"type": "RATE_LIMITED", "message": "secret"}]}, "SC-507"),
    "other limit": ({"errors": [{"type": "RATE_LIMIT", "message": "secret"}]}, "SC-507"),
    "unknown field": ({"errors": [{"extensions": {"code": "undefinedField"}}]}, "SC-515"),
    "no answer": ([], "SC-511"),
    "other shape": ({"data": {"r0": {"k0": {"__typename": "Issue", "labels": 1}}}}, "SC-511"),
}


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED)
def test_a_refused_query_is_the_error_of_all_its_rows(origin, environment, answering, body, code):
    """A limit, a document that is refused and an unusable answer: one clear error, no body."""
    spoilt(origin, lambda *_: answering.of(body))
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 31)])

    assert rows[0]["error"]["code"] == code
    assert "secret" not in str(rows)
    assert origin.paths == ["/graphql"]


@pytest.mark.parametrize(("status", "code"), [(401, "SC-505"), (429, "SC-507")])
def test_a_failed_query_is_the_error_of_all_its_rows(origin, environment, answering, status, code):
    """A status that halving would not help is told in every row, with the row's own name."""
    spoilt(origin, lambda *_: answering(status, body=b"{}"))
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 31)])

    assert {row["error"]["code"] for row in rows} == {code}
    assert "`o/r#30`" in rows[29]["error"]["message"]
    assert origin.paths == ["/graphql"]


@pytest.mark.parametrize("status", [500, 503])
def test_a_query_that_fails_once_is_tried_again(origin, environment, answering, status):
    """A 5xx that is not about the size of the query costs another call, and no row."""
    faults = iter([answering(status)])
    spoilt(origin, lambda _, good: next(faults, good))
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 101)])

    assert [row["number"] for row in rows] == list(range(1, 101))
    assert origin.paths == ["/graphql"] * 2


def test_a_query_that_keeps_failing_is_tried_three_times(origin, environment, answering):
    """Then each row has the error."""
    spoilt(origin, lambda *_: answering(503))
    rows = environment.call("github.getIssue.batch", [["o", "r", n] for n in range(1, 31)])

    assert {row["error"]["code"] for row in rows} == {"SC-508"}
    assert origin.paths == ["/graphql"] * 3


def test_what_came_by_graphql_is_confirmed_without_a_condition(origin, environment):
    """GraphQL gives no ETag: the first confirmation is unconditional."""
    environment.call("github.getIssue", "o", "r", 7, {"api": "graphql"})
    environment.call("github.getIssue", "o", "r", 7, {"maxAge": 0})

    assert origin.paths == ["/graphql", "/repos/o/r/issues/7"]
    assert "if-none-match" not in origin.requests[1].headers


def test_two_batches_at_a_time_share_their_queries(origin, environment):
    """What one batch has asked for the other waits for."""
    origin.open.clear()
    wanted = [["o", "r", number] for number in range(1, 201)]
    with ThreadPoolExecutor(2) as threads:
        batches = [
            threads.submit(environment.call, "github.getIssue.batch", wanted) for _ in range(2)
        ]
        wait_until(lambda: len(origin.requests) == 2)
        origin.open.set()
        first, second = (batch.result() for batch in batches)

    assert first == second
    assert origin.paths == ["/graphql"] * 2


def test_options_are_each_rows_own(origin, environment):
    """In one batch a row may ask anew, another take what is known, and a third be no row."""
    environment.call("github.getIssue", "o", "r", 1)
    rows = environment.call(
        "github.getIssue.batch",
        [
            ["o", "r", 1],
            ["o", "r", 1, {"maxAge": 0}],
            ["o", "r", 9999, {"onError": "null"}],
            ["o", "r", 9999, {"onError": "skip"}],
            ["o", "r", 1, {"retries": 1}],
        ],
    )

    assert [row["number"] for row in rows] == [1, 1, None, None, None]
    codes = [row["error"] and row["error"]["code"] for row in rows]
    assert codes == [None, None, "SC-503", None, "SC-204"]
    assert rows[2]["error"]["details"] == {"status": 404}
    assert origin.paths.count("/repos/o/r/issues/1") == 2
