"""A GitHub that answers badly: each fault has one outcome, and none of them leaves a trace."""

import asyncio
import json
import logging

import pytest
from fix_waiting import wait_until

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import errors
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import get_issue, get_pull_request, get_repository

TOKEN = "ghp_secretsecretsecretsecretsecret000000"
ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
PATH = "/repos/octocat/Hello-World/issues/7"
HTML = {"headers": {"Content-Type": "text/html"}, "body": b"<html>" + TOKEN.encode()}
GOOD = {"id": 1, "number": 7, "title": "A", "state": "open"}


def issue(**more):
    """Give the JSON of an issue."""
    return {**GOOD, **more}


OUTCOMES = {
    "304 to no condition": ({"status": 304}, errors.UnexpectedStatus),
    "400": ({"status": 400, "body": b"{}"}, errors.UnexpectedStatus),
    "401": ({"status": 401, "body": b"{}"}, errors.BadCredentials),
    "403 permission": ({"status": 403, "body": b"{}"}, errors.PermissionDenied),
    "403 limit": ({"status": 403, "headers": {"Retry-After": "99"}}, errors.RateLimited),
    "403 in the body": ({"status": 403, "body": b"secondary rate limit"}, errors.RateLimited),
    "404": ({"status": 404, "body": b"{}"}, errors.NotFound),
    "404 html": ({"status": 404, **HTML}, errors.NotFound),
    "410": ({"status": 410, "body": b'{"message": "This issue was deleted"}'}, errors.Gone),
    "418": ({"status": 418, **HTML}, errors.UnexpectedStatus),
    "429 html": ({"status": 429, **HTML}, errors.RateLimited),
    "451": ({"status": 451, "body": b"{}"}, errors.UnexpectedStatus),
    "500": ({"status": 500}, errors.ServerFailed),
    "503 html": ({"status": 503, **HTML}, errors.ServerFailed),
    "200 html": (HTML, errors.UnusableAnswer),
    "200 empty": ({}, errors.UnusableAnswer),
    "204": ({"status": 204}, errors.UnexpectedStatus),
    "206": ({"status": 206, "body": b'{"id": 1}'}, errors.UnexpectedStatus),
    "truncated json": ({"body": json.dumps(GOOD).encode()[:-5]}, errors.UnusableAnswer),
    "cut off": ({"body": json.dumps(GOOD).encode(), "length": 999}, errors.Unreachable),
    "not utf-8": ({"body": b'{"id": 1, "number": 7, "title": "\xff"}'}, errors.UnusableAnswer),
    "half a pair": ({"body": rb'{"id": 1, "number": 7, "title": "\ud800"}'}, errors.UnusableAnswer),
    "deep": ({"body": b'{"a":' * 5000}, errors.UnusableAnswer),
    "huge number": ({"body": b'{"id": 1e999, "number": 7}'}, errors.UnusableAnswer),
    "bad gzip": ({"headers": {"Content-Encoding": "gzip"}, "body": b"x"}, errors.UnusableAnswer),
    "bad time": ({"body": json.dumps(issue(created_at=TOKEN)).encode()}, errors.UnusableAnswer),
}


@pytest.mark.parametrize("fault", OUTCOMES.values(), ids=OUTCOMES)
def test_every_fault_has_its_outcome(github, answering, client_of, fault, caplog) -> None:
    """A fault is one error that names the issue; neither it nor a log quotes GitHub."""
    answer, error = fault
    caplog.set_level(logging.DEBUG)
    github.answer = lambda _: answering(**answer)

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            with pytest.raises(error) as caught:
                await client.get(ISSUE)
            assert type(caught.value) is error
            assert "`octocat/Hello-World#7`" in caught.value.message
            shown = f"{caught.value!r}{caught.value}{caught.value.hint}{caught.value.details}"
            assert "ghp_" not in shown + caplog.text
            assert "html" not in shown.replace("text/html", "")

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", OUTCOMES.values(), ids=OUTCOMES)
def test_after_a_fault_there_is_an_answer(github, answering, client_of, fault, time) -> None:
    """No fault is kept for longer than *not found* is, or harms the next request."""
    answer, error = fault
    github.answer = lambda _: answering(**answer)

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            with pytest.raises(error):
                await client.get(ISSUE)
            github.answer = lambda _: answering.of(issue())
            time.passed += 100.0
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())


def test_a_slow_body_ends_with_the_wait(github, answering, client_of) -> None:
    """A body that begins and does not go on is given up when the caller's wait is over."""
    github.answer = lambda _: answering(body=json.dumps(issue()).encode(), held=True)
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.TimedOut):
                await client.get(ISSUE, wait=0.1)
            github.open.set()
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())


def test_a_slow_body_ends_with_the_read_timeout(github, answering, client_of) -> None:
    """Without a wait that is shorter, READ_TIMEOUT ends each try of a body that does not go on."""
    github.answer = lambda _: answering(body=json.dumps(issue()).encode(), held=True)
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url, read_timeout=0.5) as client:
            with pytest.raises(errors.TimedOut):
                await client.get(ISSUE)

    asyncio.run(scenario())
    # The stand-in may notice a request only after the client has given it up.
    wait_until(lambda: len(github.requests) == 3)


def test_a_chain_of_moves_is_remembered_as_its_end(github, answering, client_of) -> None:
    """A repository that moved three times is asked for at its last place from then on."""
    chain = {PATH: "/b", "/b": "/c", "/c": "/d"}
    github.answer = lambda request: (
        answering(301, {"Location": chain[request.path]}, b"{}")
        if request.path in chain
        else answering.of(issue())
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
    assert github.paths == [PATH, "/b", "/c", "/d", "/d"]


def test_a_limit_at_the_end_of_a_move_is_a_limit(github, answering, client_of) -> None:
    """What stands behind a redirect has the same outcomes, and stops the rest."""
    github.answer = lambda request: (
        answering(301, {"Location": "/new"}, b"{}")
        if request.path == PATH
        else answering(429, {"Retry-After": "600"}, b"{}")
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            for _ in range(3):
                with pytest.raises(errors.RateLimited):
                    await client.get(ISSUE)

    asyncio.run(scenario())
    assert github.paths == [PATH, "/new"]


VERSIONS = ["2022-11-28", "2026-03-10"]


def of_version(version: str, json_body: dict, *dropped: str) -> dict:
    """Drop what the later version of the API does not have."""
    later = version == VERSIONS[1]
    return {name: value for name, value in json_body.items() if not (later and name in dropped)}


@pytest.mark.parametrize("version", VERSIONS)
def test_both_versions_of_the_api_give_the_same_columns(
    github, answering, client_of, version
) -> None:
    """The version is asked for by name; what the later one dropped is missing at most."""
    someone = {"login": "octocat"}
    thing = issue(assignee=someone, assignees=[someone], user=someone)
    answers = {
        "issues": of_version(version, thing, "assignee"),
        "pulls": of_version(
            version, {**thing, "merge_commit_sha": "abc"}, "assignee", "merge_commit_sha"
        ),
        "Hello-World": of_version(
            version, {"id": 1, "has_issues": True, "has_downloads": True}, "has_downloads"
        ),
    }
    github.answer = lambda request: answering.of(
        next(body for place, body in answers.items() if place in request.path.split("/")[3:][-2:])
    )

    async def scenario() -> None:
        async with client_of(github.url, api_version=version) as client:
            found = await client.get(ISSUE)
            assert found.fields["assignees"] == ["octocat"]
            pull = await client.get(Target(Kind.PULL_REQUEST, "octocat", "Hello-World", 7))
            assert pull.fields["assignees"] == ["octocat"]
            repository = await client.get(Target(Kind.REPOSITORY, "octocat", "Hello-World"))
            settings = {"hasIssues": True}
            settings |= {} if version == VERSIONS[1] else {"hasDownloads": True}
            assert repository.fields["settings"] == settings

    asyncio.run(scenario())
    assert {request.headers["x-github-api-version"] for request in github.requests} == {version}


@pytest.mark.parametrize("slash", ["", "/"])
def test_an_enterprise_server_without_limits(github, answering, client_of, slash) -> None:
    """GitHub Enterprise Server answers below `/api/v3`, and without a header of limits."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(f"{github.url}/api/v3{slash}") as client:
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    assert github.paths == ["/api/v3" + PATH]


HOSTILE = ["\0", "r\r\nX: y", "%2e%2e", "..", "r%00", "\u202er", "\uff0e\uff0e", "r/../x", "r?x#y"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_make_no_request(github, monkeypatch, text) -> None:
    """NUL, CRLF, percent signs, dots and look-alikes are SC-501 in every procedure, unseen."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as environment:
        for name, rest in (("Issue", [7]), ("PullRequest", [7]), ("Repository", [])):
            for pair in (["o", text], [text, "r"]):
                with pytest.raises(CallError) as caught:
                    environment.call(f"github.get{name}", *pair, *rest, {"onError": "null"})
                assert caught.value.code == "SC-501"
                assert len(text) < 3 or text not in str(caught.value)

    assert github.requests == []
