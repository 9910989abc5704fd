"""The client and redirects: followed on the configured origin, refused to any other."""

import asyncio

import pytest

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.lists import Page
from sidecypher_procedures.github.model import Kind, Target

TOKEN = "github_pat_secretsecretsecretsecret"
ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
PATH = "/repos/octocat/Hello-World/issues/7"


def issue(title="A"):
    """Give the JSON of an issue."""
    return {"id": 1, "number": 7, "title": title}


def moved(answering, status: int, location: str):
    """Answer with a redirect."""
    return answering(status, {"Location": location}, b"{}")


@pytest.mark.parametrize("status", [301, 308])
def test_a_permanent_move_is_remembered(github, answering, status, client_of, time) -> None:
    """A 301 or 308 is followed once; the next request goes to the new place, for an hour."""
    new = "/repositories/1/issues/7"
    github.answer = lambda request: (
        moved(answering, status, new) if request.path == PATH else answering.of(issue())
    )

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            for time.passed in (0.0, 10.0, 4000.0):
                assert (await client.get(ISSUE, max_age=0)).fields["title"] == "A"

    asyncio.run(scenario())
    assert github.paths == [PATH, new, new, PATH, new]
    assert {r.headers["authorization"] for r in github.requests} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("status", [302, 307])
def test_a_temporary_move_is_not_remembered(github, answering, status, client_of) -> None:
    """A 302 or 307 is followed every time."""
    github.answer = lambda request: (
        moved(answering, status, "/elsewhere") if request.path == PATH else answering.of(issue())
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE, max_age=0)
            await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
    assert github.paths == [PATH, "/elsewhere"] * 2


def test_a_remembered_move_that_leads_nowhere_is_forgotten(github, answering, client_of) -> None:
    """When the new place has gone, the name is asked for anew: it may be another repository's."""
    answers = {PATH: moved(answering, 301, "/new"), "/new": answering.of(issue())}
    github.answer = lambda request: answers[request.path]

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            answers[PATH], answers["/new"] = answering.of(issue("B")), answering(404, body=b"{}")

            assert (await client.get(ISSUE, max_age=0)).fields["title"] == "B"

    asyncio.run(scenario())
    assert github.paths == [PATH, "/new", "/new", PATH]


def test_a_move_of_a_list_goes_with_its_repository(github, answering, client_of) -> None:
    """What a list was moved to is forgotten where its repository is, however both are written."""
    page = Page.first(Target(Kind.REPOSITORY, "Octocat", "Hello-World"), "issues", "page=1")
    answers = {page.path: moved(answering, 301, "/new"), "/new": answering.of([])}
    github.answer = lambda request: answers[request.path]

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.page(page)
            await client.page(page)
            client.invalidate("octocat", "hello-world")
            await client.page(page)

    asyncio.run(scenario())
    assert github.paths == [page.path, "/new", "/new", page.path, "/new"]


def test_a_redirect_to_another_origin_is_refused(github, stranger, answering, client_of) -> None:
    """Another port is another origin: it sees neither a request nor the token."""
    github.answer = lambda _: moved(answering, 301, stranger.url + PATH)

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            with pytest.raises(errors.RedirectRefused, match="another origin"):
                await client.get(ISSUE)

    asyncio.run(scenario())
    assert stranger.requests == []
    assert github.paths == [PATH]


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/x",
        "http://localhost:{port}/x",
        "//example.com/x",
        "http://user@127.0.0.1:{port}/x",
        "ftp://127.0.0.1:{port}/x",
        "file:///etc/passwd",
    ],
)
def test_scheme_host_and_user_must_be_the_same_too(github, answering, location, client_of) -> None:
    """A redirect with another scheme or host, or with a user in it, is refused."""
    github.answer = lambda _: moved(answering, 302, location.format(port=github.server_port))

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            with pytest.raises(errors.RedirectRefused):
                await client.get(ISSUE)

    asyncio.run(scenario())
    assert github.paths == [PATH]


@pytest.mark.parametrize(
    ("headers", "requests"),
    [
        ({}, 1),
        # These two are paths below that of the request, which is redirected there as well.
        ({"Location": ""}, 6),
        ({"Location": "http:x"}, 6),
        ({"Location": "http://[:::"}, 1),
        ({"Location": "http://127.0.0.1:p/"}, 1),
        ({"Location": "mailto:a@b"}, 1),
    ],
)
def test_a_redirect_to_nowhere_is_an_error(github, answering, headers, requests, client_of) -> None:
    """A redirect without a usable Location is one clear error, and nothing else is asked."""
    github.answer = lambda _: answering(301, headers, b"{}")

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.GithubError, match="octocat/Hello-World#7") as caught:
                await client.get(ISSUE)

            assert isinstance(caught.value, errors.UnusableAnswer | errors.RedirectRefused)

    asyncio.run(scenario())
    assert github.paths[0] == PATH
    assert len(github.paths) == requests


def test_redirects_are_bounded(github, answering, client_of) -> None:
    """A circle of redirects ends after five of them."""
    github.answer = lambda _: moved(answering, 301, PATH)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.RedirectRefused, match="more than 5 times"):
                await client.get(ISSUE)

    asyncio.run(scenario())
    assert len(github.requests) == 6
