"""What a merge asks GitHub for, and when; the graph is stood in for and must not be touched."""

import asyncio
import json

import pytest
from fix_graphql import Graph as GithubGraph

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import (
    get_issue,
    get_repository,
    merge_issue,
    merge_pull_request,
    merge_repository,
)

ANN = {"login": "ann", "id": 11, "type": "User"}
MOMENTS = {"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}
REPOSITORY = {
    "id": 1,
    "node_id": "R_1",
    "owner": ANN,
    "name": "r",
    "full_name": "o/r",
    "html_url": "https://x/o/r",
    "visibility": "public",
    "default_branch": "main",
    "stargazers_count": 0,
    "forks_count": 0,
    "open_issues_count": 1,
    **MOMENTS,
}
ISSUE = {
    "id": 2,
    "node_id": "I_2",
    "number": 7,
    "title": "A",
    "state": "open",
    "body": None,
    "user": ANN,
    "milestone": None,
    "comments": 0,
    "html_url": "https://x/o/r/issues/7",
    "repository_url": "https://x/repos/o/r",
    **MOMENTS,
}


class Graph:
    """Fails at the first statement."""

    def __init__(self):
        self.statements = []

    def __call__(self, cypher, _parameters):
        self.statements.append(cypher)
        raise AssertionError("nothing was to be written")


@pytest.fixture
def graph():
    """Give a graph that nothing may be written into."""
    return Graph()


@pytest.fixture
def merge(graph):
    """Give a call in a sidecar of its own: its rows."""

    def rows(what, *arguments):
        options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
        bodies = (merge_issue, merge_pull_request, merge_repository)
        with ProcedureEnvironment(*bodies, run=graph) as environment:
            return environment.call(f"github.merge{what}", *options)

    return rows


@pytest.fixture
def origin(github, answering, monkeypatch):
    """Give a stand-in with a repository and an issue, configured as the sidecar's GitHub."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    github.found = {"/repos/o/r": REPOSITORY, "/repos/o/r/issues/7": ISSUE}
    github.answer = lambda request: (
        answering.of(github.found[request.path])
        if request.path in github.found
        else answering(502, body=b"{}")
    )
    return github


def test_nothing_is_written_before_all_is_there(origin, merge, graph) -> None:
    """A page of comments that cannot be had fails the call before the first statement."""
    with pytest.raises(CallError, match="status 502"):
        merge("Issue", "o", "r", 7, {"comments": True})

    assert origin.paths[-1] == "/repos/o/r/issues/7/comments?per_page=100"
    assert graph.statements == []


@pytest.mark.parametrize("mode", ["null", "skip"])
def test_on_error_decides_what_a_failed_fetch_becomes(origin, merge, graph, mode) -> None:
    """A failure is a row with its error, or no row."""
    rows = merge("PullRequest", "o", "r", 7, {"onError": mode})

    assert [(row["node"], row["error"]["code"]) for row in rows] == (
        [(None, "SC-508")] if mode == "null" else []
    )
    assert graph.statements == []


def test_what_has_no_ids_is_unusable(origin, merge, graph) -> None:
    """An answer that knows the author by login alone says so, and is not asked for again."""
    origin.found["/repos/o/r/issues/7"] = {**ISSUE, "user": {"login": "ann"}}

    with pytest.raises(CallError, match="does not say whose it is") as caught:
        merge("Issue", "o", "r", 7)

    assert caught.value.code == "SC-511"
    assert origin.paths == ["/repos/o/r/issues/7"]
    assert graph.statements == []


@pytest.mark.usefixtures("with_token")
def test_what_came_by_graphql_is_merged_as_it_is(origin, answering, github_schema, graph) -> None:
    """What a batch has fetched by GraphQL is in memory with its ids, and costs a merge no call."""
    known = GithubGraph(github_schema, origin.found.get)
    origin.answer = lambda request: answering.of(known.answer(**asked(request)))
    bodies = (get_issue, get_repository, merge_issue)
    with ProcedureEnvironment(*bodies, run=graph) as environment:
        for name, arguments in {"Issue": ("o", "r", 7), "Repository": ("o", "r")}.items():
            assert environment.call(f"github.get{name}", *arguments, {"api": "graphql"})
        with pytest.raises(CallError):
            environment.call("github.mergeIssue", "o", "r", 7)

    assert origin.paths == ["/graphql"] * 2
    assert len(graph.statements) == 1


def asked(request):
    """What a request to /graphql asks, as arguments of `Graph.answer`."""
    body = json.loads(request.body)
    return {"document": body["query"], "variables": body["variables"]}


PULL = {
    "id": 3,
    "number": 9,
    "user": ANN,
    "body": "Fixes #7, fixes #8",
    "base": {"ref": "main", "repo": {"full_name": "o/r"}},
    **MOMENTS,
}


@pytest.fixture
def pull(origin):
    """Let the stand-in have a pull request."""
    origin.found["/repos/o/r/pulls/9"] = PULL
    return origin


UNUSABLE = {
    "SC-503": {"data": {"repository": {"k0": None}}},
    "SC-506": {
        "data": {"repository": {"k0": None}},
        "errors": [{"type": "FORBIDDEN", "path": ["repository", "k0"]}],
    },
    "SC-507": {"errors": [{"type": "RATE_LIMITED"}]},
    "SC-508": {
        "data": {"repository": {"k0": {"closingIssuesReferences": None}}},
        "errors": [{"path": ["repository", "k0", "closingIssuesReferences"]}],
    },
    "SC-510": {"data": None, "errors": [{"message": "Something went wrong"}]},
    "SC-511": {"data": {"repository": {"k0": {"closingIssuesReferences": {"nodes": [{}]}}}}},
    "SC-515": {"errors": [{"extensions": {"code": "undefinedField"}}]},
}


@pytest.fixture
def with_token(monkeypatch):
    """Give the sidecar a token."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "secret")


@pytest.mark.usefixtures("with_token")
@pytest.mark.parametrize("code", UNUSABLE)
def test_references_that_cannot_be_had_are_told(pull, answering, merge, graph, code) -> None:
    """What GraphQL fails with is the error of the merge, and nothing is written."""
    rest = pull.answer
    pull.answer = lambda request: (
        answering.of(UNUSABLE[code]) if request.path == "/graphql" else rest(request)
    )

    (row,) = merge("PullRequest", "o", "r", 9, {"onError": "null", "timeout": 5})

    assert row["error"]["code"] == code
    assert graph.statements == []


CLOSING = ["repository", "k0", "closingIssuesReferences"]


@pytest.mark.usefixtures("with_token")
def test_a_server_without_graphql_is_told_how_to_do_without(pull, answering, merge) -> None:
    """The error names the option by which the merge needs none."""
    rest = pull.answer
    pull.answer = lambda request: (
        answering(404, body=b"{}") if request.path == "/graphql" else rest(request)
    )

    (row,) = merge("PullRequest", "o", "r", 9, {"onError": "null"})

    assert row["error"]["code"] == "SC-515"
    assert "`api` the value 'rest'" in row["error"]["hint"]
    assert row["error"]["details"] == {"status": 404}


UNSEEN = {
    "one, without a reason": ({"nodes": [None]}, []),
    "one": ({"nodes": [None]}, [*CLOSING, "nodes", 0]),
    "the list": ({"nodes": None}, [*CLOSING, "nodes"]),
    "all": (None, CLOSING),
}


@pytest.mark.parametrize(("found", "forbidden"), UNSEEN.values(), ids=UNSEEN)
def test_issues_that_the_token_may_not_see_are_left_out(
    origin, answering, client_of, found, forbidden
) -> None:
    """Whether GitHub hides one of them or, from who may read no issues, all."""
    answer = {
        "data": {"repository": {"k0": {"closingIssuesReferences": found}}},
        "errors": [{"type": "FORBIDDEN", "path": forbidden}] if forbidden else [],
    }
    origin.answer = lambda _: answering.of(answer)

    async def scenario() -> None:
        async with client_of(origin.url, token="secret") as client:
            assert await client.closing([Target(Kind.PULL_REQUEST, "o", "r", 9)]) == [[]]

    asyncio.run(scenario())


def test_an_issue_that_fails_ends_the_fetch_of_the_others(
    pull, answering, merge, graph, monkeypatch
) -> None:
    """Who cannot merge anyway does not wait for the rest, nor leaves it running."""
    ended = []
    get = GithubClient.get

    async def noting(client, target, **options):
        try:
            return await get(client, target, **options)
        except asyncio.CancelledError:
            ended.append(str(target))
            raise

    monkeypatch.setattr(GithubClient, "get", noting)
    rest = pull.answer
    pull.answer = lambda request: (
        answering(403, body=b"{}") if request.path.endswith("/issues/8") else rest(request)
    )
    pull.hold = lambda request: request.path.endswith("/issues/7")

    with pytest.raises(CallError) as caught:
        merge("PullRequest", "o", "r", 9)

    assert caught.value.code == "SC-506"
    assert ended == ["ann/r#7"]
    assert graph.statements == []


def test_graphql_without_a_token_is_refused(origin, merge) -> None:
    """`api: 'graphql'` needs a token, and is refused by name whatever `onError`."""
    with pytest.raises(CallError, match="needs a token") as caught:
        merge("PullRequest", "o", "r", 9, {"api": "graphql", "onError": "skip"})

    assert caught.value.code == "SC-502"
    assert origin.requests == []


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("Issue", ("o", "..", 7)),
        ("Issue", ("o", "r", 0)),
        ("Issue", ("o", "r", 7, {"comments": 1})),
        ("Issue", ("o", "r", 7, {"comment": True})),
        ("PullRequest", ("o", "r", 7, {"comments": True})),
        ("PullRequest", ("o/x", "r", 7)),
        ("Repository", ("o", "r?x")),
        ("Repository", ("o", "r", {"comments": True})),
    ],
)
def test_bad_arguments_are_refused_before_any_request(origin, merge, what, arguments) -> None:
    """A bad name, number or option raises in every onError mode, and no request is made."""
    *names, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(CallError) as caught:
        merge(what, *names, {**options, "onError": "skip"})

    assert caught.value.code in {"SC-204", "SC-501"}
    assert origin.requests == []
