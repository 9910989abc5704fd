"""Limits against a real HTTP server: what they stop, who waits for them and who does not."""

import asyncio

import pytest

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.names import Kind, Target

ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
OTHER = Target(Kind.ISSUE, "octocat", "Hello-World", 8)


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
