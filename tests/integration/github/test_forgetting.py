"""What each of GitHub's own examples of events drops from the cache, as its page says."""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from fix_webhooks import examples

from sidecypher import WebhookRequest
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.settings import WebhookSettings
from sidecypher_procedures.github.webhooks.receiving import forget, receive_delivery
from sidecypher_procedures.github.webhooks.writing import Inbox

PAGE = Path(__file__).parents[3] / "docs" / "github-webhooks.md"

OTHER = 987_654
"""Number of an issue, and of a pull request, that no event is about."""


def told(outcome):
    """Return the names of events that the page's table has beside an outcome."""
    [row] = [line for line in PAGE.read_text().splitlines() if line.endswith(f"| {outcome} |")]
    return set(re.findall(r"`([a-z_]+)`", row))


def targets(payload):
    """Return what of a payload could be in the cache, by what a person calls it."""
    owner, repo = payload["repository"]["owner"]["login"], payload["repository"]["name"]
    named = {"the repository": Target(Kind.REPOSITORY, owner, repo)}
    for name, kind in [("issue", Kind.ISSUE), ("pull_request", Kind.PULL_REQUEST)]:
        if name in payload:
            named["the number"] = Target(kind, owner, repo, payload[name]["number"])
    for check in ("check_run", "check_suite", "workflow_run"):
        for pull in (payload.get(check) or {}).get("pull_requests", []):
            named["a checked one"] = Target(Kind.PULL_REQUEST, owner, repo, pull["number"])
    named["an issue"] = Target(Kind.ISSUE, owner, repo, OTHER)
    named["a pull request"] = Target(Kind.PULL_REQUEST, owner, repo, OTHER)
    return named


def expected(event, payload):
    """Return what the page says is forgotten."""
    found = {"the repository"}
    if event in told("the issue or pull request it has"):
        found.add("the number")
    if event in told("the pull requests it names"):
        found.add("a checked one")
    if event in told("all pull requests in the repository"):
        found |= set(targets(payload)) & {"a pull request"}
    return set(targets(payload)) if event in told("all that is in the repository") else found


@pytest.fixture
def forgotten(github, answering, client_of):
    """Return which of an event's targets are asked for again after it."""

    def answer(request):
        number = request.path.rpartition("/")[2]
        found = {"id": 1, "node_id": request.path}
        return answering.of(found | ({"number": int(number)} if number.isdigit() else {}))

    github.answer = answer

    async def run(recorded):
        async with client_of(github.url) as client:
            for event, payload in recorded:
                named = targets(payload)
                await client.get_many(named.values())
                forget(client, event, payload)
                asked = len(github.requests)
                await client.get_many(named.values())
                again = set(github.paths[asked:])
                yield event, payload, {n for n, each in named.items() if each.path in again}

    return run


def test_every_recorded_event_has_forgotten_what_the_page_says(forgotten, payloads) -> None:
    """Whatever has a repository drops its own entry, and what else it may have changed."""
    recorded = [(event, each) for event, each in examples(payloads) if "repository" in each]

    async def scenario() -> set[str]:
        seen = set()
        async for event, payload, found in forgotten(recorded):
            assert found == expected(event, payload) & set(targets(payload)), event
            seen.add(event)
        return seen

    seen = asyncio.run(scenario())
    assert len(recorded) > 250
    for outcome in ("all that is in the repository", "all pull requests in the repository"):
        assert told(outcome) <= seen


def test_a_delivery_that_cannot_be_stored_is_forgotten_all_the_same(
    github, answering, client_of, tmp_path
) -> None:
    """GitHub does not send it again by itself, so what it tells of is asked for again at once."""
    target = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
    payload = {
        "repository": {"id": 1, "owner": {"login": "octocat"}, "name": "Hello-World"},
        "issue": {"number": 7},
    }
    github.answer = lambda request: answering.of({"id": 1, "number": 7, "node_id": request.path})
    # No folder, so that there is no place for a file.
    (home := tmp_path / "home").write_text("")

    async def scenario() -> None:
        inbox = Inbox()
        async with client_of(github.url) as client:
            made = {GithubClient: client, Inbox: inbox, WebhookSettings: WebhookSettings()}
            request = WebhookRequest(
                home=home,
                _resources=SimpleNamespace(get=lambda kind, is_loop: made[kind]),
                headers={
                    "x-github-event": "issues",
                    "x-github-delivery": "d",
                    "content-type": "application/json",
                },
                body=json.dumps(payload).encode(),
            )
            await client.get(target)
            with pytest.raises(WebhooksUnstored):
                await receive_delivery(request)
            await client.get(target)
        await inbox.stop()

    asyncio.run(scenario())
    assert github.paths == [target.path, target.path]
