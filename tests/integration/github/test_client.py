"""The client against a real HTTP server: what it sends, keeps, believes and refuses."""

import asyncio
import gzip
import json
import logging
import socket
from datetime import timedelta
from typing import Any

import pytest
from fix_waiting import wait_until

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.model import Kind, Resource, Target
from sidecypher_procedures.github.settings import GithubSettings

TOKEN = "github_pat_secretsecretsecretsecret"
ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
PULL = Target(Kind.PULL_REQUEST, "octocat", "Hello-World", 8)
PATH = "/repos/octocat/Hello-World/issues/7"


def issue(title: str = "A", **more: Any) -> dict[str, Any]:
    """Give the JSON of an issue."""
    return {"id": 1, "number": 7, "title": title, "state": "open", **more}


def test_a_request_is_what_github_asks_for(github, answering, client_of) -> None:
    """A request has GitHub's media type, the API version, a name and the token."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url + "/api/v3/", token=TOKEN) as client:
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    (request,) = github.requests
    assert request.path == "/api/v3" + PATH
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"].startswith("sidecypher/")


def test_without_a_token_nothing_is_authorised(github, answering, client_of) -> None:
    """An anonymous client sends no Authorization header."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)

    asyncio.run(scenario())
    assert "authorization" not in github.requests[0].headers


def test_a_warm_read_makes_no_call(github, answering, client_of, time) -> None:
    """Within maxAge an answer comes from memory, also when the name is spelt in another case."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            first = await client.get(ISSUE)
            time.passed = 59.0
            second = await client.get(Target(Kind.ISSUE, "OCTOCAT", "hello-world", 7))

            assert second == first
            assert first.fields["fetched_at"] == time.start
            assert first.fields["stale"] is False

    asyncio.run(scenario())
    assert github.paths == [PATH]


def test_a_warm_page_is_counted_as_cached(github, answering, client_of) -> None:
    """As a warm entity is, for the share of calls without a request."""
    github.answer = lambda _: answering.of([])

    async def scenario() -> None:
        async with client_of(github.url) as client:
            for _ in range(3):
                await client.answer(Resource("path", "/x", "", "/x"))

            assert (client.cached, client.sent) == (2, 1)

    asyncio.run(scenario())


def test_an_expired_read_asks_with_the_etag(github, answering, client_of, time) -> None:
    """After maxAge the ETag is sent back as received, and a 304 confirms the answer."""
    tag = 'W/"abc"'

    def answer(request):
        if request.headers.get("if-none-match") == tag:
            return answering(304, {"ETag": '"abc"'})
        return answering.of(issue(), ETag=tag)

    github.answer = answer

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            time.passed = 60.0
            confirmed = await client.get(ISSUE)
            time.passed = 100.0
            await client.get(ISSUE)

            assert confirmed.fields["title"] == "A"
            assert confirmed.fields["fetched_at"] == time.start + timedelta(seconds=60)
            assert not confirmed.fields["stale"]

    asyncio.run(scenario())
    assert [r.headers.get("if-none-match") for r in github.requests] == [None, tag]


def test_max_age_zero_always_asks(github, answering, client_of) -> None:
    """With maxAge 0 every read is confirmed, and a change is seen at once."""
    titles = iter(["A", "B"])
    github.answer = lambda _: answering.of(issue(next(titles)), ETag='"x"')

    async def scenario() -> None:
        async with client_of(github.url) as client:
            assert (await client.get(ISSUE, max_age=0)).fields["title"] == "A"
            assert (await client.get(ISSUE, max_age=0)).fields["title"] == "B"

    asyncio.run(scenario())


def test_fifty_callers_of_a_cold_key_make_one_call(github, answering, client_of) -> None:
    """Callers who want the same at the same time share one request."""
    github.answer = lambda _: answering.of(issue())
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            callers = [asyncio.create_task(client.get(ISSUE)) for _ in range(50)]
            await asyncio.to_thread(github.arrived.wait, 10)
            github.open.set()
            found = await asyncio.gather(*callers)

            assert {snapshot.fields["title"] for snapshot in found} == {"A"}

    asyncio.run(scenario())
    assert github.paths == [PATH]


def test_a_cancelled_waiter_kills_nobody(github, answering, client_of) -> None:
    """The caller who started the request may go; the others still get the answer."""
    github.answer = lambda _: answering.of(issue())
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            callers = [asyncio.create_task(client.get(ISSUE)) for _ in range(3)]
            await asyncio.to_thread(github.arrived.wait, 10)
            callers[0].cancel()
            await asyncio.wait([callers[0]])
            github.open.set()

            assert [s.fields["title"] for s in await asyncio.gather(*callers[1:])] == ["A", "A"]

    asyncio.run(scenario())
    assert github.paths == [PATH]


@pytest.mark.parametrize("missing", [(404, errors.NotFound), (410, errors.Gone)])
def test_what_is_missing_is_remembered_for_a_while(
    github, answering, missing, client_of, time
) -> None:
    """A 404 or 410 is believed for its own time, then asked again without a condition."""
    status, error = missing
    github.answer = lambda _: answering(status, {"ETag": '"gone"'}, b"{}")

    async def scenario() -> None:
        async with client_of(github.url, negative_ttl=10) as client:
            for time.passed in (0.0, 9.0, 11.0):
                with pytest.raises(error) as caught:
                    await client.get(ISSUE, max_age=3600)
                assert caught.value.details == {"status": status}

    asyncio.run(scenario())
    assert github.paths == [PATH, PATH]
    assert "if-none-match" not in github.requests[1].headers


def test_a_deleted_issue_replaces_what_was_known(github, answering, client_of) -> None:
    """A 410 after a good answer is no reason to serve the old one."""
    answers = iter([answering.of(issue()), answering(410, body=b"{}")])
    github.answer = lambda _: next(answers)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            with pytest.raises(errors.Gone):
                await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())


def test_pending_mergeability_is_asked_again_soon(github, answering, client_of, time) -> None:
    """An open pull request whose `mergeable` is null is kept for seconds, whatever maxAge says."""
    states = iter([None, True])
    github.answer = lambda _: answering.of(
        {"id": 1, "number": 8, "state": "open", "mergeable": next(states)}
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            assert (await client.get(PULL)).fields["mergeable"] is None
            time.passed = 2.0
            assert (await client.get(PULL)).fields["mergeable"] is None
            time.passed = 5.0
            assert (await client.get(PULL)).fields["mergeable"] is True

    asyncio.run(scenario())
    assert len(github.requests) == 2


FAILURES = {
    "500": ({"status": 500}, errors.ServerFailed),
    "html 503": (
        {"status": 503, "headers": {"Content-Type": "text/html"}, "body": b"<html>"},
        errors.ServerFailed,
    ),
    "403 limit": (
        {"status": 403, "headers": {"X-RateLimit-Remaining": "0"}, "body": b"{}"},
        errors.RateLimited,
    ),
    "429": ({"status": 429, "headers": {"Retry-After": "60"}, "body": b"{}"}, errors.RateLimited),
    "cut off": ({"body": b'{"id": 1, "num', "length": 100}, errors.Unreachable),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_transient_failure_serves_the_stale_answer(
    github, answering, failure, client_of, time
) -> None:
    """Rather than fail on a 5xx, a limit or a broken connection, the old answer is served."""
    answer, error = failure
    broken = answering(**answer)
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            first = await client.get(ISSUE)
            time.passed = 100.0
            github.answer = lambda _: broken

            assert (await client.get(ISSUE)).fields == {**first.fields, "stale": True}
            assert time.passed == 100.0
            with pytest.raises(error):
                await client.get(Target(Kind.ISSUE, "octocat", "other", 7))
            time.passed = 200.0
            github.answer = lambda _: answering.of(issue("B"))
            assert (await client.get(ISSUE)).fields["title"] == "B"

    asyncio.run(scenario())


def test_requests_one_after_the_other_share_a_connection(github, answering, client_of) -> None:
    """A connection is used again, also after an answer that is an error."""
    github.answer = lambda request: (
        answering.of(issue()) if request.path == PATH else answering(404)
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            await client.get_many([Target(Kind.ISSUE, "octocat", "other", 7)])
            await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
    assert len(github.requests) == 3
    assert len({request.port for request in github.requests}) == 1


def test_connections_that_nobody_needs_are_closed(github, answering, client_of, time) -> None:
    """What many requests at a time had opened is closed when the next one comes, a while later."""
    github.answer = lambda _: answering.of(issue())
    github.open.clear()
    some = [Target(Kind.ISSUE, "octocat", "Hello-World", number) for number in range(1, 6)]

    async def scenario() -> None:
        async with client_of(github.url) as client:
            together = asyncio.create_task(client.get_many(some))
            await asyncio.to_thread(wait_until, lambda: github.connections == len(some))
            github.open.set()
            await together
            time.passed = 60.0
            await client.get(ISSUE, max_age=0)
            await asyncio.to_thread(wait_until, lambda: github.connections == 1)

    asyncio.run(scenario())


def test_a_request_that_comes_too_late_is_told(github, answering, client_of) -> None:
    """Once the connections are closed none is opened again."""
    github.answer = lambda _: answering.of(issue(number=8))

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(PULL)
            await client.stop()
            with pytest.raises(errors.Unreachable, match="are closed"):
                await client.get(ISSUE)

    asyncio.run(scenario())
    assert github.paths == [PULL.path]


def test_requests_that_were_given_up_leave_nothing_to_others(github, answering, client_of) -> None:
    """More of them than there may be at a time, and the next request is answered."""
    github.answer = lambda _: answering.of(issue())
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            targets = [Target(Kind.ISSUE, "octocat", "Hello-World", n) for n in range(1, 31)]
            found = await client.get_many(targets, wait=0.2, api="rest")
            github.open.set()

            assert {type(each) for each in found} == {errors.TimedOut}
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())


def test_serving_stale_answers_can_be_switched_off(github, answering, client_of) -> None:
    """With SERVE_STALE off a transient failure is an error, even if an old answer is known."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url, serve_stale=False) as client:
            await client.get(ISSUE)
            github.answer = lambda _: answering(500)
            with pytest.raises(errors.ServerFailed):
                await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())


def test_a_refused_connection_is_one_clear_error(client_of) -> None:
    """Where nobody listens the error names the issue and the setting, and is retryable."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def scenario() -> None:
        async with client_of(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(errors.Unreachable) as caught:
                await client.get(ISSUE)

            assert "`octocat/Hello-World#7`" in caught.value.message
            assert "SIDECYPHER_GITHUB_BASE_URL" in caught.value.hint
            assert caught.value.retryable

    asyncio.run(scenario())


def test_a_silent_server_times_out(github, answering, client_of) -> None:
    """A caller waits as long as it says and no longer; with an old answer it gets that one."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            github.open.clear()
            with pytest.raises(errors.TimedOut):
                await client.get(PULL, wait=0.05)

            assert (await client.get(ISSUE, max_age=0, wait=0.05)).fields["stale"]

    asyncio.run(scenario())


def test_the_read_timeout_ends_a_request(github, answering, client_of) -> None:
    """Without a wait of the caller's own, READ_TIMEOUT ends the request."""
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url, read_timeout=0.05) as client:
            with pytest.raises(errors.TimedOut):
                await client.get(ISSUE)

    asyncio.run(scenario())


UNUSABLE = {
    "empty": {"body": b""},
    "html": {"headers": {"Content-Type": "text/html"}, "body": b"<html>secret</html>"},
    "truncated": {"body": b'{"id": 1, "title": "secret'},
    "list": {"body": b'["secret"]'},
    "other shape": {"body": b'{"id": 1, "number": 7, "title": {"secret": 1}}'},
    "more than 64 bits": {
        "body": b'{"id": 1, "number": 7, "title": "secret", "comments": 9223372036854775808}'
    },
    "no issue": {"body": b'{"message": "secret"}'},
    "not gzip": {"headers": {"Content-Encoding": "gzip"}, "body": b"secret"},
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_answer_is_one_clear_error(github, answering, answer, client_of) -> None:
    """Empty, HTML, cut off or of another shape: one error without the body, and nothing is kept."""
    answers = iter([answering(**answer), answering.of(issue())])
    github.answer = lambda _: next(answers)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.UnusableAnswer) as caught:
                await client.get(ISSUE)
            assert "secret" not in str(caught.value) + caught.value.hint
            assert "`octocat/Hello-World#7`" in caught.value.message
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())


def test_a_huge_answer_is_refused(github, answering, client_of) -> None:
    """An answer above 8 MiB is refused, also when it is small before it is unpacked."""
    packed = gzip.compress(b" " * (9 * 1024 * 1024))
    github.answer = lambda _: answering(200, {"Content-Encoding": "gzip"}, packed)

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.UnusableAnswer, match="larger than 8388608 bytes"):
                await client.get(ISSUE)

    asyncio.run(scenario())


def test_the_token_is_in_no_error_and_no_log(github, answering, caplog, client_of) -> None:
    """Neither errors, with their causes, nor log lines, nor the client itself show the token."""
    caplog.set_level(logging.DEBUG)
    github.answer = lambda _: answering(401, body=json.dumps({"message": TOKEN}).encode())

    async def scenario() -> None:
        async with client_of(github.url, token=TOKEN) as client:
            with pytest.raises(errors.BadCredentials) as caught:
                await client.get(ISSUE)

            error = caught.value
            shown = f"{error!r}{error}{error.hint}{error.details}{client!r}{vars(client)!r}"
            assert TOKEN not in shown + caplog.text
            assert "Hello-World" not in caplog.text
            assert "SIDECYPHER_GITHUB_TOKEN" in error.hint

    asyncio.run(scenario())


def test_one_token_never_sees_anothers_entries(github, answering) -> None:
    """The keys of two credentials differ, so that a shared store could not mix them up."""
    keys = {
        GithubClient(GithubSettings(base_url=github.url, token=token))._credential_key
        for token in (None, "a", "b")
    }

    assert len(keys) == 3


def test_a_small_cache_forgets_the_oldest(github, answering, client_of) -> None:
    """The cache holds answers up to its bytes, and asks again for what it dropped."""
    github.answer = lambda request: answering.of(
        issue(number=int(request.path[-1]), body="x" * 1000)
    )

    async def scenario() -> None:
        async with client_of(github.url, cache_bytes=4000) as client:
            for number in (1, 2, 3, 3, 1):
                await client.get(Target(Kind.ISSUE, "o", "r", number))

    asyncio.run(scenario())
    assert [path[-1] for path in github.paths] == ["1", "2", "3", "1"]
