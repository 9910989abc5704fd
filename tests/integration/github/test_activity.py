"""Searches, reviews, files, commits, releases and workflow runs, as GitHub has them."""

import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import procedures

HERE = ("octocat", "Hello-World")
LISTS = {
    "github.listReviews": ("/repos/{owner}/{repo}/pulls/{pull_number}/reviews", (*HERE, 1347)),
    "github.listFiles": ("/repos/{owner}/{repo}/pulls/{pull_number}/files", (*HERE, 1347)),
    "github.listCommits": ("/repos/{owner}/{repo}/commits", HERE),
    "github.listReleases": ("/repos/{owner}/{repo}/releases", HERE),
    "github.listWorkflowRuns": ("/repos/{owner}/{repo}/actions/runs", HERE),
    "github.searchIssues": ("/search/issues", ("windows",)),
    "github.searchRepositories": ("/search/repositories", ("tetris",)),
    "github.searchCode": ("/search/code", ("addClass",)),
}
TIME = datetime(2020, 1, 2, tzinfo=UTC)
FILTERS = [
    ("github.listCommits", {"sha": "a/b", "path": "src/a b.py", "author": "octocat"}),
    ("github.listCommits", {"since": TIME, "until": TIME, "perPage": 7}),
    ("github.listWorkflowRuns", {"branch": "a/b", "event": "push", "status": "failure"}),
    ("github.listWorkflowRuns", {"actor": "octocat", "headSha": "1f"}),
    *[
        ("github.searchIssues", {"sort": sort, "order": "asc"})
        for sort in ("comments", "created", "interactions", "reactions", "updated")
    ],
    *[
        ("github.searchRepositories", {"sort": sort, "order": "desc"})
        for sort in ("forks", "help-wanted-issues", "stars", "updated")
    ],
    ("github.searchCode", {"perPage": 100}),
    ("github.listReviews", {"perPage": 5}),
    ("github.listFiles", {"perPage": 5}),
    ("github.listReleases", {"perPage": 5}),
]


@pytest.fixture
def call(violations, monkeypatch):
    """Call procedures whose GitHub has a base URL."""
    with ProcedureEnvironment(
        procedures.list_reviews,
        procedures.list_files,
        procedures.list_commits,
        procedures.list_releases,
        procedures.list_workflow_runs,
        procedures.search_issues,
        procedures.search_repositories,
        procedures.search_code,
    ) as environment:

        def rows(url, name, *arguments):
            monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", url)
            monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "ghp_" + "0" * 36)
            return environment.call(name, *arguments)

        yield rows


@pytest.mark.parametrize("name", LISTS)
def test_githubs_own_examples_are_rows(github, answering, description, call, name) -> None:
    """Each entry of GitHub's example of an answer is a row with all that GitHub has of it."""
    path, arguments = LISTS[name]
    example = description.example(path)
    github.answer = lambda _: answering.of(example)
    given = (
        example
        if isinstance(example, list)
        else next(value for value in example.values() if isinstance(value, list))
    )

    rows = call(github.url, name, *arguments, {})

    keys = {
        "github.listFiles": "filename",
        "github.listCommits": "sha",
        "github.searchCode": "path",
    }
    columns = {"github.listFiles": "path", "github.listCommits": "sha", "github.searchCode": "path"}
    key = keys.get(name, "id")
    assert [row[columns.get(name, "id")] for row in rows] == [str(each[key]) for each in given]
    assert [row["url"] for row in rows] == [
        each.get("html_url", each.get("blob_url")) for each in given
    ]
    assert all(row["cursor"] and not row["stale"] and row["error"] is None for row in rows)
    [request] = github.requests
    assert request.path.partition("?")[0] == path.format(
        owner=HERE[0], repo=HERE[1], pull_number=1347
    )


@pytest.mark.parametrize("case", FILTERS)
def test_every_filter_is_one_of_githubs(checked, answering, description, call, case) -> None:
    """GitHub has each filter by this name, with this value; Prism holds it against OpenAPI."""
    (server, url), (name, options) = checked, case
    path, arguments = LISTS[name]
    example = description.example(path)
    empty = (
        []
        if isinstance(example, list)
        else {
            key: [] if isinstance(value, list) else 0 if key == "total_count" else value
            for key, value in example.items()
        }
    )
    server.answer = lambda _: answering.of(empty)
    server.requests.clear()

    assert call(url, name, *arguments, options) == []

    sent = parse_qs(urlsplit(server.requests[-1].path).query)
    assert len(sent) == len({"per_page", *options} - {"perPage"}) + name.startswith("github.search")


@pytest.fixture(scope="module")
def events(payloads):
    """GitHub's recorded examples of events, by name."""
    file = payloads / "@octokit/webhooks-examples/api.github.com/index.json"
    return {each["name"]: each["examples"] for each in json.loads(file.read_text("utf-8"))}


@pytest.mark.parametrize(
    "case",
    [
        ("github.listReviews", "pull_request_review", "review"),
        ("github.listReleases", "release", "release"),
        ("github.listWorkflowRuns", "workflow_run", "workflow_run"),
        ("github.listCommits", "status", "commit"),
    ],
)
def test_every_recorded_thing_is_a_row(github, answering, events, call, case) -> None:
    """What GitHub once sent by webhook has the same columns as in a list."""
    name, event, key = case
    recorded = {str(each[key].get("id", each[key].get("sha"))): each[key] for each in events[event]}
    found = list(recorded.values())
    wrapped = {"total_count": len(found), "workflow_runs": found}
    github.answer = lambda _: answering.of(wrapped if event == "workflow_run" else found)

    rows = call(github.url, name, *LISTS[name][1], {})

    assert [row.get("id") or row["sha"] for row in rows] == list(recorded)
    for row, given in zip(rows, found, strict=True):
        assert row["url"] == given["html_url"]
        assert row["author" if "author" in row else "actor"] in {
            (given.get(who) or {}).get("login") for who in ("author", "user", "actor")
        }


def test_a_search_has_its_own_columns(github, answering, description, call) -> None:
    """A found issue says whose it is, and each row whether GitHub ran out of time."""
    example = {**description.example("/search/issues"), "incomplete_results": True}
    github.answer = lambda _: answering.of(example)

    [row] = call(github.url, "github.searchIssues", "a b:c", {"sort": "created"})

    assert (row["repository"], row["incomplete"]) == ("batterseapower/pinyin-toolkit", True)
    assert github.paths == ["/search/issues?q=a+b%3Ac&per_page=100&sort=created"]


def test_a_search_is_continued_by_its_cursor(github, answering, call) -> None:
    """The cursor belongs to the query; with another one it is refused."""
    found = {
        "total_count": 9,
        "items": [{"path": "a", "html_url": "u1"}, {"path": "a", "html_url": "u2"}],
    }
    github.answer = lambda _: answering.of(found)
    first, second = call(github.url, "github.searchCode", "x", {})

    again = call(github.url, "github.searchCode", "x", {"cursor": first["cursor"]})

    assert [row["url"] for row in again] == ["u2"] == [second["url"]]
    with pytest.raises(CallError) as caught:
        call(github.url, "github.searchCode", "y", {"cursor": first["cursor"]})
    assert caught.value.code == "SC-502"


@pytest.mark.parametrize("query", ["", "x" * 6_001, "標" * 667], ids=["none", "long", "encoded"])
def test_an_unusable_query_is_refused(github, call, query) -> None:
    """Before anything is sent."""
    with pytest.raises(CallError) as caught:
        call(github.url, "github.searchIssues", query, {"onError": "null"})

    assert (caught.value.code, github.requests) == ("SC-523", [])


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "case",
    [
        (200, b"[{}]", "SC-511"),
        (200, b"{}", "SC-511"),
        (200, b'{"total_count": 1, "items": [7]}', "SC-511"),
        (422, b'{"message": "secret"}', "SC-524"),
        (500, b"", "SC-508"),
    ],
)
def test_answers_of_another_shape_are_errors(github, answering, call, name, case) -> None:
    """With a code, and nothing of the answer in the text."""
    status, body, code = case
    github.answer = lambda _: answering(status, body=body)

    with pytest.raises(CallError) as caught:
        call(github.url, name, *LISTS[name][1], {"timeout": 2})

    assert caught.value.code == code
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", LISTS)
def test_what_is_missing_is_no_row(github, call, name) -> None:
    """A 404 is no row, as with the other lists."""
    assert call(github.url, name, *LISTS[name][1], {}) == []
