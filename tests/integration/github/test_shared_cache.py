"""Two sidecars that share answers in a real Redis, against a real HTTP server."""

import asyncio
import contextlib

import pytest
from fix_waiting import awaited, promised

from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing import pipe

TOKEN = "github_pat_secretsecretsecretsecret"
ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)


def issue(number=7, title="A", **more):
    """Give the JSON of an issue."""
    return {"id": number, "number": number, "title": title, "state": "open", **more}


@pytest.fixture
def sidecars_of(github, redis_server, monkeypatch):
    """Give what runs as many clients as are wanted, all with one Redis."""
    monkeypatch.setattr(pipe, "ANSWER_SECONDS", promised(pipe.ANSWER_SECONDS))

    @contextlib.asynccontextmanager
    async def running(count=2, redis=redis_server, **settings):
        monkeypatch.setenv("SIDECYPHER_REDIS_URL", redis.url)
        given = GithubSettings(base_url=github.url, **{"token": TOKEN, **settings})
        async with contextlib.AsyncExitStack() as stack:
            clients = []
            for _ in range(count):
                clients.append(GithubClient(given))
                stack.push_async_callback(clients[-1].stop)
            yield clients

    return running


@awaited
async def test_a_thousand_cold_rows_of_two_sidecars_are_one_call(github, answering, sidecars_of):
    """What both ask for at the same time is asked of GitHub once."""
    github.answer = lambda _: answering.of(issue(), ETag='"1"')

    async with sidecars_of() as (one, other):
        asked = [client.get(ISSUE) for _ in range(1000) for client in (one, other)]
        found = await asyncio.gather(*asked)

    assert {each.fields["title"] for each in found} == {"A"}
    assert len(github.requests) == 1
