"""Lists, page by page from a real HTTP server, through the real dispatcher."""

import asyncio
from datetime import datetime, timedelta, timezone
from itertools import chain
from unittest.mock import ANY
from urllib.parse import parse_qs, urlsplit

import pytest

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.errors import GithubError
from sidecypher_procedures.github.lists import ISSUES as LISTED_ISSUES
from sidecypher_procedures.github.lists import Page, listed
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import list_comments, list_issues, list_pull_requests

TOKEN = "ghp_secretsecretsecretsecretsecret000000"
ISSUES = ("github.listIssues", "o", "r")
NUMBER = {"listComments": (7,)}


def thing(number: int, **fields: object) -> dict[str, object]:
    """Give the JSON of an issue, a pull request or a comment."""
    return {"id": 100 + number, "number": number, "title": f"T{number}", **fields}


@pytest.fixture
def origin(github, monkeypatch):
    """Give the stand-in, configured as the sidecar's GitHub."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    return github


@pytest.fixture
def call():
    """Give a call in a sidecar of the test's own: its rows."""

    with ProcedureEnvironment(list_issues, list_pull_requests, list_comments) as environment:

        def rows(name, *arguments):
            options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
            return environment.call(name, *options)

        yield rows


@pytest.fixture
def paged(origin, answering):
    """Give what has the stand-in answer with these pages, each linked to the next."""

    def answer(*pages, base=origin.url):
        def page(request):
            number = int(parse_qs(urlsplit(request.path).query).get("page", ["1"])[0])
            found = pages[number - 1]
            if not isinstance(found, list):
                return found
            link = f'<{base}/repositories/1/x?page={number + 1}>; rel="next", <{base}/>; rel="last"'
            return answering.of(found, **({"Link": link} if number < len(pages) else {}))

        origin.answer = page

    return answer


def test_a_list_is_fetched_page_by_page(origin, paged, call) -> None:
    """Each page says where the next one is, and every request carries the token."""
    paged([thing(1), thing(2)], [thing(3)], [])

    assert [row["number"] for row in call(*ISSUES)] == [1, 2, 3]
    assert origin.paths == [
        "/repos/o/r/issues?per_page=100",
        "/repositories/1/x?page=2",
        "/repositories/1/x?page=3",
    ]
    assert {r.headers["authorization"] for r in origin.requests} == {f"Bearer {TOKEN}"}


def test_a_few_rows_cost_one_request(origin, paged, client_of) -> None:
    """Nobody asks for a second page who is content with the first, and none before it is read."""
    paged([thing(number) for number in range(1, 101)], [thing(101)])

    async def scenario() -> list[int]:
        async with client_of(origin.url) as client:
            first = Page.first(Target(Kind.REPOSITORY, "o", "r"), "issues", "per_page=100")
            found = listed(client, first, LISTED_ISSUES, lambda: 30.0)
            return [(await anext(found))[0]["number"] for _ in range(100)]

    assert asyncio.run(scenario()) == list(range(1, 101))
    assert len(origin.requests) == 1


def test_what_moves_to_the_next_page_is_given_once(paged, call) -> None:
    """A thing made while pages are read moves others on; they are not given twice."""
    paged([thing(3), thing(2)], [thing(2), thing(1)])

    assert [row["number"] for row in call(*ISSUES)] == [3, 2, 1]


def test_pull_requests_are_issues_too(paged, call) -> None:
    """As with `github.getIssue`, `isPullRequest` tells them apart."""
    paged([thing(1), thing(2, pull_request={"url": "x"})])

    assert [row["isPullRequest"] for row in call(*ISSUES)] == [False, True]


def test_listed_issues_are_kept(origin, paged, client_of) -> None:
    """They are asked for again by age or after an invalidation; pull requests always are."""
    paged([thing(1, user={"id": 7, "login": "o"}), thing(2, pull_request={}), thing(-3)])

    async def scenario() -> None:
        async with client_of(origin.url) as client:
            first = Page.first(Target(Kind.REPOSITORY, "o", "r"), "issues", "per_page=100")
            found = [each async for each in listed(client, first, LISTED_ISSUES, lambda: 30.0)]
            issue = Target(Kind.ISSUE, "o", "r", 1)
            kept = await client.get(issue)
            assert kept.fields["title"] == found[0].fields["title"]
            assert kept.identity.user.id == "7"
            assert len(origin.requests) == 1

            with pytest.raises(GithubError):
                await client.get(Target(Kind.ISSUE, "o", "r", 2))
            client.invalidate("o", "r", 1)
            with pytest.raises(GithubError):
                await client.get(issue)
            assert len(origin.requests) == 3

    asyncio.run(scenario())


def test_what_a_list_does_not_have_is_null(origin, paged, call) -> None:
    """A list of pull requests has no sizes and does not say what can be merged."""
    paged([thing(2, state="open", merged_at=None, head={"ref": "fix"})])

    [row] = call("github.listPullRequests", "o", "r")

    assert (row["number"], row["branch"], row["stale"]) == (2, "fix", False)
    missing = ("merged", "mergeable", "additions", "deletions", "changedFiles", "commits")
    assert {row[name] for name in (*missing, "comments", "error")} == {None}
    assert origin.paths == ["/repos/o/r/pulls?per_page=100"]


def test_comments_are_listed(origin, paged, call) -> None:
    """A comment has its columns; that of a deleted user has no author."""
    ann = {"login": "ann", "id": 1}
    paged([thing(1, body="A", user=ann, author_association="OWNER"), thing(2, user=None)])

    first, second = call("github.listComments", "o", "r", 7)

    assert (first["id"], first["body"], first["author"]) == ("101", "A", "ann")
    assert first["authorAssociation"] == "OWNER"
    assert second["author"] is None
    assert origin.paths == ["/repos/o/r/issues/7/comments?per_page=100"]


def test_filters_become_the_query(origin, paged, call) -> None:
    """Options have GitHub's names, and their values reach it percent-encoded."""
    paged([])
    since = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    call(*ISSUES, {"state": "all", "labels": ["a&b", "c d"], "since": since, "perPage": 7})
    call("github.listPullRequests", "o", "r", {"base": "a/b#c", "sort": "longRunning"})

    first, second = (parse_qs(urlsplit(path).query) for path in origin.paths)

    assert first == {
        "per_page": ["7"],
        "state": ["all"],
        "labels": ["a&b,c d"],
        "since": ["2026-01-02T01:00:00Z"],
    }
    assert second == {"per_page": ["100"], "base": ["a/b#c"], "sort": ["long-running"]}


@pytest.mark.parametrize("options", [{}, {"onError": "fail"}, {"onError": "skip"}])
def test_a_list_that_is_missing_gives_no_row(origin, call, options) -> None:
    """A 404 is no row, as MATCH would have it."""
    assert call(*ISSUES, options) == []


def test_a_missing_list_can_be_a_row_of_nulls(origin, call) -> None:
    """With onError 'null' a 404 is one row of nulls with the error MAP."""
    [row] = call(*ISSUES, {"onError": "null"})

    assert row.pop("error")["message"] == "GitHub knows no repository `o/r`"
    assert set(row.values()) == {None}


def test_issues_that_are_switched_off_are_not_a_deleted_repository(origin, answering, call) -> None:
    """GitHub says 410 for the issues of a repository that has them switched off."""
    origin.answer = lambda _: answering(410, body=b"{}")

    [row] = call(*ISSUES, {"onError": "null"})

    assert row["error"]["message"] == "The repository `o/r` has its issues switched off"


@pytest.mark.parametrize("status", [404, 410, 502])
def test_a_page_that_fails_ends_the_list(paged, answering, call, status) -> None:
    """What was before it is given; then comes an error, a row with it, or nothing more.

    Also 404: a list that ends half-way must not look complete.
    """
    paged([thing(1)], answering(status, body=b"{}"), [])

    with pytest.raises(CallError, match=f"status {status}") as caught:
        call(*ISSUES)
    assert ("without a `cursor`" in caught.value.hint) == (status < 500)
    assert [row["number"] for row in call(*ISSUES, {"onError": "skip"})] == [1]
    first, last = call(*ISSUES, {"onError": "null"})
    assert first["number"] == 1
    assert (last["number"], last["error"]["details"]) == (None, {"status": status})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "not a JSON list"),
        (b"[1]", "not a JSON list"),
        (b"[{}]", "the field `number`"),
        (b"<html>", "not JSON"),
    ],
)
def test_a_list_of_another_shape_is_an_error(origin, answering, call, body, said) -> None:
    """An answer that is no list of issues is unusable, and its error says why."""
    origin.answer = lambda _: answering(200, body=body)

    with pytest.raises(CallError, match=said) as caught:
        call(*ISSUES)
    assert caught.value.code == "SC-511"


@pytest.mark.parametrize("scheme", ["http://{other}", "https://{own}", "http://a:b@{own}"])
def test_pages_on_another_origin_are_refused(origin, stranger, paged, call, scheme) -> None:
    """Neither the token nor a request goes to an origin that a `Link` header names."""
    own, other = (urlsplit(server.url).netloc for server in (origin, stranger))
    paged([thing(1)], [thing(2)], base=scheme.format(own=own, other=other))

    with pytest.raises(CallError) as caught:
        call(*ISSUES)

    assert caught.value.code == "SC-512"
    assert stranger.requests == []
    assert len(origin.requests) == 1


def test_pages_outside_of_the_base_url_are_refused(origin, paged, call, monkeypatch) -> None:
    """On a GitHub Enterprise Server the API is a path, and lists stay below it."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", f"{origin.url}/api/v3")
    paged([thing(1)], [thing(2)], base=f"{origin.url}/api/v3")
    assert [row["number"] for row in call(*ISSUES)] == [1, 2]
    paged([thing(1)], [thing(2)], base=f"{origin.url}/api/v3/../v4")

    with pytest.raises(CallError, match="outside of the base URL"):
        call(*ISSUES)
    assert origin.paths[1] == "/api/v3/repositories/1/x?page=2"


def test_a_list_that_never_ends_is_an_error(origin, answering, call) -> None:
    """A page that is its own next one is asked for once."""
    link = f'<{origin.url}/repos/o/r/issues?per_page=100>; rel="next"'
    origin.answer = lambda _: answering.of([thing(1)], Link=link)

    with pytest.raises(CallError, match="never ends"):
        call(*ISSUES)
    assert len(origin.requests) == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("listIssues", {"base": "main"}),
        ("listIssues", {"state": "merged"}),
        ("listIssues", {"state": ["open"]}),
        ("listIssues", {"labels": "bug"}),
        ("listIssues", {"labels": ["a,b"]}),
        ("listIssues", {"labels": [1]}),
        ("listIssues", {"since": "2026-01-01"}),
        ("listIssues", {"sort": "popularity"}),
        ("listIssues", {"direction": "up"}),
        ("listIssues", {"perPage": 0}),
        ("listIssues", {"perPage": 101}),
        ("listIssues", {"perPage": True}),
        ("listIssues", {"page": 2}),
        ("listIssues", {"limit": -1}),
        ("listIssues", {"limit": "5"}),
        ("listIssues", {"cursor": ""}),
        ("listIssues", {"cursor": 7}),
        ("listIssues", {"cursor": "2026-01-02T03:04:05Z run"}),
        ("listIssues", {"cursor": "0123456789ab 1 page=2#x"}),
        ("listComments", {"cursor": "0123456789ab -1 page=2"}),
        ("listIssues", {"api": "rest"}),
        ("listIssues", {"maxAge": 60}),
        ("listPullRequests", {"labels": ["bug"]}),
        ("listPullRequests", {"base": ""}),
        ("listPullRequests", {"head": 1}),
        ("listPullRequests", {"api": "auto"}),
    ],
)
def test_unusable_filters_are_refused_by_name(origin, call, name, options) -> None:
    """An unknown option, or a value that GitHub would ignore, is refused before any request."""
    with pytest.raises(CallError, match=rf"`(options\.)?{next(iter(options))}[`\[]") as caught:
        call(f"github.{name}", "o", "r", *NUMBER.get(name, ()), {**options, "onError": "null"})

    assert caught.value.code == "SC-204"
    assert caught.value.hint
    assert origin.requests == []


def test_a_silent_page_is_not_waited_for_longer_than_asked(origin, paged, call) -> None:
    """The option `timeout` counts for each page."""
    paged([thing(1)])
    origin.open.clear()

    with pytest.raises(CallError) as caught:
        call(*ISSUES, {"timeout": 0.05})

    assert caught.value.code == "SC-510"


def test_a_list_is_not_kept(origin, paged, call) -> None:
    """Every list is asked for."""
    paged([thing(1)])

    call(*ISSUES)
    call(*ISSUES)

    assert len(origin.requests) == 2


LISTS = [ISSUES, ("github.listPullRequests", "o", "r"), ("github.listComments", "o", "r", 7)]


@pytest.mark.parametrize("name", LISTS)
def test_a_limit_ends_the_list_and_its_requests(origin, paged, call, name) -> None:
    """So many rows are returned, and no page is fetched beyond the one with the last of them."""
    paged([thing(1), thing(2)], [thing(3), thing(4)], [thing(5)])

    for limit, pages in ((0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 3)):
        del origin.requests[:]
        found = [row["id"] for row in call(*name, {"limit": limit})]
        assert found == [str(100 + number) for number in range(1, min(limit, 5) + 1)]
        assert len(origin.requests) == pages


def test_what_is_given_once_counts_once_for_the_limit(paged, call) -> None:
    """A row that has moved on to the next page is no second one."""
    paged([thing(3), thing(2)], [thing(2), thing(1)])

    assert [row["number"] for row in call(*ISSUES, {"limit": 3})] == [3, 2, 1]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_continues_after_the_row_of_a_cursor(origin, paged, call, name) -> None:
    """The cursor of each row returns what is after it, with the pages before left out."""
    paged([thing(1), thing(2)], [thing(3), thing(4)], [thing(5)])
    rows = call(*name)

    for done, row in enumerate(rows, start=1):
        del origin.requests[:]
        assert [one["id"] for one in call(*name, {"cursor": row["cursor"]})] == [
            one["id"] for one in rows[done:]
        ]
        assert len(origin.requests) == 3 - min(done // 2, 2)


def test_a_list_can_be_read_in_pieces(origin, paged, call) -> None:
    """Pieces of any size make the whole list, and a piece of a page's size costs one request."""
    paged([thing(1), thing(2)], [thing(3), thing(4)], [thing(5)])

    for limit in (1, 2, 3):
        pieces, options = [], {"limit": limit}
        while rows := call(*ISSUES, options):
            pieces.append([row["number"] for row in rows])
            options = {"limit": limit, "cursor": rows[-1]["cursor"]}
        assert list(chain(*pieces)) == [1, 2, 3, 4, 5]
        assert {len(piece) for piece in pieces[:-1]} == {limit}
        if limit == 2:
            assert len(origin.requests) == 3 + 1
        del origin.requests[:]


def test_a_cursor_after_the_last_row_returns_what_is_new(paged, call) -> None:
    """What GitHub appends to the last page comes after the cursor of its last row."""
    paged([thing(1)])
    [row] = call(*ISSUES)
    assert call(*ISSUES, {"cursor": row["cursor"]}) == []
    paged([thing(1), thing(2)])

    assert [row["number"] for row in call(*ISSUES, {"cursor": row["cursor"]})] == [2]


def test_a_list_continues_at_its_own_path_by_githubs_query(origin, answering, call) -> None:
    """What `Link` names stays in the cursor as it is; the path comes from the arguments."""
    link = f'<{origin.url}/repositories/1/issues?per_page=1&after=Y3Vyc29y%3D%3D>; rel="next"'
    origin.answer = lambda request: (
        answering.of([thing(2)]) if "after" in request.path else answering.of([thing(1)], Link=link)
    )
    first, second = call(*ISSUES)
    del origin.requests[:]

    assert call(*ISSUES, {"cursor": first["cursor"]}) == [{**second, "fetchedAt": ANY}]
    assert origin.paths == ["/repos/o/r/issues?per_page=1&after=Y3Vyc29y%3D%3D"]


@pytest.mark.parametrize(
    "other",
    [
        ("github.listIssues", "o", "r2", {}),
        ("github.listIssues", "o", "r", {"state": "all"}),
        ("github.listIssues", "o", "r", {"perPage": 50}),
        ("github.listPullRequests", "o", "r", {}),
        ("github.listComments", "o", "r", 7, {}),
    ],
)
@pytest.mark.parametrize("mode", ["fail", "null", "skip"])
def test_the_cursor_of_another_list_is_refused(origin, paged, call, other, mode) -> None:
    """A cursor belongs to its arguments and filters; no request is made for another list."""
    paged([thing(1)])
    [row] = call(*ISSUES)
    del origin.requests[:]
    *names, options = other

    with pytest.raises(CallError, match="`cursor`") as caught:
        call(*names, {**options, "cursor": row["cursor"], "onError": mode})
    assert caught.value.code == "SC-502"
    assert "same arguments" in caught.value.hint
    assert origin.requests == []


def test_a_cursor_outlives_limit_timeout_and_the_case_of_a_name(paged, call) -> None:
    """What changes nothing about the list may differ between two calls."""
    paged([thing(1), thing(2)])
    [row] = call(*ISSUES, {"limit": 1, "timeout": 20})

    options = {"cursor": row["cursor"], "onError": "null"}
    assert [row["number"] for row in call("github.listIssues", "O", "R", options)] == [2]


@pytest.mark.parametrize("status", [404, 410])
def test_a_list_that_is_gone_does_not_look_complete(paged, answering, call, status) -> None:
    """With a cursor a missing list is an error: there were rows of it."""
    paged([thing(1), thing(2)])
    [row] = call(*ISSUES, {"limit": 1})
    paged(answering(status, body=b"{}"))

    with pytest.raises(CallError, match=f"status {status}"):
        call(*ISSUES, {"cursor": row["cursor"]})


def test_a_failed_page_can_be_fetched_again(paged, answering, call) -> None:
    """The cursor of the row before an error continues with the page that failed."""
    pages = [[thing(1)], answering(502, body=b"{}"), [thing(3)]]
    paged(*pages)
    first, last = call(*ISSUES, {"onError": "null"})
    assert last["cursor"] is None
    paged(pages[0], [thing(2)], pages[2])

    found = call(*ISSUES, {"cursor": first["cursor"]})
    assert [row["number"] for row in found] == [2, 3]
