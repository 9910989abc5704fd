"""What the client asks of the REST API, and what it is answered in these tests, as GitHub has it.

Prism stands between the two with GitHub's OpenAPI description. What is not as described it answers
with an error, and the fixture `violations` fails the test.
"""

import asyncio
import contextlib
from datetime import UTC, datetime
from functools import partial

import pytest

from sidecypher.cli.demo.replay import samples, serving
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import GithubError, ServerFailed
from sidecypher_procedures.github.lists import Page
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import (
    get_issue,
    get_pull_request,
    get_repository,
    list_comments,
    list_issues,
    list_pull_requests,
    rate_limit,
)

# It was recorded inside other payloads only, which have the short form of a pull request.
SHORT = ("octo-org", "octo-repo", 118)
HELLO = ("Codertocat", "Hello-World")
REPOSITORY = Target(Kind.REPOSITORY, *HELLO)
ISSUE = Target(Kind.ISSUE, *HELLO, 1)
PULL = Target(Kind.PULL_REQUEST, *HELLO, 2)
ISSUES, PULLS = (Page.first(REPOSITORY, things, "state=all") for things in ("issues", "pulls"))
COMMENTS = Page.first(ISSUE, "comments", "per_page=100")

LISTS = {
    "github.listIssues": HELLO,
    "github.listPullRequests": HELLO,
    "github.listComments": (*HELLO, 1),
}
SINCE = {"since": datetime(2020, 1, 2, tzinfo=UTC)}
FILTERS = [
    *[("github.listIssues", {"state": value}) for value in ("open", "closed", "all")],
    *[("github.listIssues", {"sort": value}) for value in ("created", "updated", "comments")],
    *[("github.listIssues", {"direction": value, "perPage": 50}) for value in ("asc", "desc")],
    ("github.listIssues", {"labels": ["bug", "a b&c"], **SINCE}),
    *[("github.listPullRequests", {"state": value}) for value in ("open", "closed", "all")],
    *[("github.listPullRequests", {"sort": value}) for value in ("created", "updated")],
    *[("github.listPullRequests", {"sort": value}) for value in ("popularity", "longRunning")],
    *[("github.listPullRequests", {"direction": value}) for value in ("asc", "desc")],
    ("github.listPullRequests", {"base": "a/b#c", "head": "octocat:fix", "perPage": 100}),
    ("github.listComments", {**SINCE, "perPage": 7}),
]


@pytest.fixture
def ask(violations, monkeypatch):
    """Call procedures whose GitHub has a base URL."""
    procedures = get_issue, get_pull_request, get_repository, rate_limit
    lists = list_issues, list_pull_requests, list_comments
    with ProcedureEnvironment(*procedures, *lists) as environment:

        def call(url, name, *arguments):
            monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", url)
            return environment.call(name, *arguments)

        yield call


@pytest.fixture(scope="module")
def checked_replay(prism_before, replay):
    """Where Prism is that asks the replay."""
    with prism_before(replay.url) as url:
        yield url


@pytest.fixture
def ask_replay(checked_replay, ask):
    """Call procedures whose GitHub is the replay, behind Prism."""
    return partial(ask, checked_replay)


@pytest.fixture
def fetch(client_of, violations):
    """Run what asks a client of a base URL."""

    def run(url, asks, **settings):
        async def scenario() -> None:
            async with client_of(url, **settings) as client:
                await asks(client)

        asyncio.run(scenario())

    return run


def asking(target):
    """Give what asks a client for a target or a page."""
    return lambda client: (client.page if isinstance(target, Page) else client.get)(target)


def test_every_recorded_thing_is_an_answer_of_githubs(ask_replay, recordings) -> None:
    """Each repository, issue and pull request of the replay, alone and in lists, is whole."""
    repositories = [(each.owner, each.name) for each in recordings.repositories()]
    issues = [(each.owner, each.repository, each.number) for each in recordings.issues()]
    pulls = [(each.owner, each.repository, each.number) for each in recordings.pull_requests()]
    pulls.remove(SHORT)
    whole = {"getRepository": repositories, "getIssue": issues, "getPullRequest": pulls}
    for name, wanted in whole.items():
        rows = ask_replay(f"github.{name}.batch", [[*each, {"api": "rest"}] for each in wanted])
        assert all(row["id"] and row["error"] is None for row in rows)
    listed = {"listIssues": repositories, "listPullRequests": repositories, "listComments": issues}
    for name, wanted in listed.items():
        options = {} if name == "listComments" else {"state": "all"}
        rows = [row for each in wanted for row in ask_replay(f"github.{name}", *each, options)]
        assert all(row["id"] for row in rows)
        assert rows


def test_every_sample_is_an_answer_of_githubs(prism_before, ask) -> None:
    """What the demo gets where GitHub is out of reach has the shape of GitHub's answers."""
    lighthouse = ("sidecypher-demo", "lighthouse")
    with serving(samples()) as stand_in, prism_before(stand_in.url) as url:
        [repository] = ask(url, "github.getRepository", *lighthouse)
        [issue] = ask(url, "github.getIssue", *lighthouse, 1)
        [pull_request] = ask(url, "github.getPullRequest", *lighthouse, 2)

    assert (repository["fullName"], issue["title"], pull_request["mergeable"]) == (
        "sidecypher-demo/lighthouse",
        "The lamp flickers in fog",
        True,
    )


def test_limits_and_absence_are_as_described(ask_replay) -> None:
    """So are the replay's limits and its 404."""
    assert len(ask_replay("github.rateLimit")) == 3
    assert ask_replay("github.getIssue", *HELLO, 99, {}) == []


@pytest.mark.parametrize(("name", "options"), FILTERS)
def test_every_filter_is_one_of_githubs(ask_replay, name, options) -> None:
    """GitHub has each filter of the lists by this name, with this value."""
    ask_replay(name, *LISTS[name], options)


def test_an_etag_is_sent_as_described(checked, recordings, answering, fetch) -> None:
    """Who asks again gets a 304, which is as described too."""
    server, url = checked
    issue = answering.of(recordings.get(ISSUE.path), ETag='"a"')
    server.answer = lambda asked: answering(304) if "if-none-match" in asked.headers else issue
    server.requests.clear()

    async def twice(client) -> None:
        for _ in range(2):
            await client.get(ISSUE, max_age=0)

    fetch(url, twice)

    assert [asked.headers.get("if-none-match") for asked in server.requests] == [None, '"a"']


def test_a_next_page_is_asked_for_as_described(checked, recordings, answering, ask) -> None:
    """A `Link` header is as described, and so is the request for what it names."""
    server, url = checked
    link = f'<{url}{ISSUES.path}&page=2>; rel="next"'
    issue, other = recordings.list(f"{REPOSITORY.path}/issues")[:2]
    server.answer = lambda asked: (
        answering.of([other]) if "page=2" in asked.path else answering.of([issue], Link=link)
    )

    rows = ask(url, "github.listIssues", *HELLO, {})

    assert [row["number"] for row in rows] == [issue["number"], other["number"]]


def test_an_app_asks_for_its_token_as_described(
    checked, installation_on, app_settings, fetch
) -> None:
    """The App's request for a token is as described, and so is the token it gets in these tests."""
    server, url = checked
    installation = installation_on(server)

    fetch(url, asking(ISSUE), **app_settings)

    assert len(installation.tokens) == 1


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("/issue/7", "NO_PATH_MATCHED"),
        ("/issues/seven", "issue_number"),
        ("/issues?state=merged", "state"),
        ("/issues?per_page=many", "per_page"),
        ("/issues?since=yesterday", "since"),
        ("/issues?perPage=7", "unknown {'perPage'}"),
        ("/pulls?labels=bug", "unknown {'labels'}"),
    ],
)
def test_a_wrong_request_is_found(checked_replay, fetch, violations, place, what) -> None:
    """A request for what GitHub does not have is a violation, which names what is wrong."""
    with contextlib.suppress(GithubError):
        fetch(checked_replay, asking(ISSUES.at(REPOSITORY.path + place)))

    assert what in violations.pop()
    violations.clear()


WRONG = {
    "id": (REPOSITORY, "1"),
    "disabled": (REPOSITORY, None),
    "html_url": (ISSUE, "none"),
    "state": (PULL, "merged"),
    "title": (ISSUES, None),
    "number": (PULLS, "2"),
    "created_at": (COMMENTS, "yesterday"),
}


@pytest.fixture
def found_in(checked, answering, fetch, violations):
    """Give what Prism finds in an answer."""

    def find(answer, asks, **settings):
        server, url = checked
        server.answer = lambda _: answer
        with pytest.raises(ServerFailed):
            fetch(url, asks, **settings)
        found = violations.pop()
        violations.clear()
        return found

    return find


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_field_is_found(found_in, recordings, answering, field) -> None:
    """A field that GitHub gives differently is a violation, which names it."""
    target, value = WRONG[field]
    path = target.path.partition("?")[0]
    listed = recordings.list(path)
    things = [{**each, field: value} for each in listed or [recordings.get(path)]]
    answer = answering.of(things if listed else things[0])

    assert f"'{field}'" in found_in(answer, asking(target))


def test_wrong_limits_are_found(found_in, answering) -> None:
    """So are limits that GitHub does not give like that."""
    answer = answering.of({"resources": {}, "rate": {}})

    assert "core" in found_in(answer, GithubClient.budgets)


@pytest.mark.slow
def test_a_wrong_token_is_found(found_in, answering, app_settings) -> None:
    """So is a token without its end."""
    answer = answering(201, {"Content-Type": "application/json"}, b'{"token": "ghs_x"}')

    assert "expires_at" in found_in(answer, asking(ISSUE), **app_settings)


def test_another_media_type_is_found(found_in, answering) -> None:
    """An answer that does not say that it is JSON is a violation."""
    answer = answering(200, {"Content-Type": "text/html"}, b"<html>")

    assert "media type" in found_in(answer, asking(REPOSITORY))


EXAMPLES = {
    "github.getRepository": "/repos/{owner}/{repo}",
    "github.getIssue": "/repos/{owner}/{repo}/issues/{issue_number}",
    "github.getPullRequest": "/repos/{owner}/{repo}/pulls/{pull_number}",
    "github.listIssues": "/repos/{owner}/{repo}/issues",
    "github.listPullRequests": "/repos/{owner}/{repo}/pulls",
    "github.listComments": "/repos/{owner}/{repo}/issues/{issue_number}/comments",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_githubs_own_examples_are_rows(github, answering, description, ask, name) -> None:
    """What GitHub gives as an example of an answer becomes rows, each with its id.

    Without Prism, which finds that some examples lack what GitHub describes.
    """
    example = description.example(EXAMPLES[name])
    github.answer = lambda _: answering.of(example)
    number = (1347,) if "_number" in EXAMPLES[name] else ()

    rows = ask(github.url, name, "octocat", "Hello-World", *number, {})

    given = example if isinstance(example, list) else [example]
    assert [row["id"] for row in rows] == [str(each["id"]) for each in given]
