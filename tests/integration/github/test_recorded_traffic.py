"""The client against recordings of real requests to GitHub, served by GitHub's own test server.

The scenarios of `@octokit/fixtures` are played in order: a request that is not the next one gets a
404 that names the one expected.
"""

import asyncio
import json
import socket
import subprocess
from datetime import UTC, datetime

import httpx
import pytest
from fix_waiting import wait_until

from sidecypher_procedures.github import errors, outcomes
from sidecypher_procedures.github.connection import Reply
from sidecypher_procedures.github.names import Kind, Target

HELLO = Target(Kind.REPOSITORY, "octokit-fixture-org", "hello-world")
RENAMED = Target(Kind.REPOSITORY, "octokit-fixture-org", "rename-repository")


def free_port():
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def relaxed(npm_packages, tmp_path_factory):
    """A folder with the scenarios, whose requests may have headers of their own."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded = npm_packages / "@octokit/fixtures/scenarios/api.github.com"
    for file in recorded.glob("*/normalized-fixture.json"):
        exchanges = json.loads(file.read_text("utf-8"))
        for exchange in exchanges:
            exchange["reqheaders"] = {}
        copy = folder / "relaxed" / file.parent.name / file.name
        copy.parent.mkdir(parents=True)
        copy.write_text(json.dumps(exchanges), "utf-8")
    return folder


@pytest.fixture(scope="module")
def fixtures_server(npm_packages, relaxed):
    """The base URL of `@octokit/fixtures-server`."""
    url = f"http://127.0.0.1:{free_port()}"
    program = npm_packages / "@octokit/fixtures-server/bin/server.js"
    command = ["node", str(program), "--port", url.rpartition(":")[2], "--fixtures-url", url]
    command += ["--fixtures", "relaxed/**/normalized-fixture.json", "--log-level", "error"]
    with subprocess.Popen(command, cwd=relaxed, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or is_ready(url))
            yield url
        finally:
            process.terminate()


def is_ready(url):
    """Tell whether the server answers."""
    try:
        return httpx.get(f"{url}/ping", trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def scenario_of(fixtures_server):
    """What begins a scenario and gives the base URL to use for it."""

    def begin(name):
        reply = httpx.post(f"{fixtures_server}/fixtures", json={"scenario": name}, trust_env=False)
        return reply.raise_for_status().json()["url"]

    return begin


def test_a_recorded_repository_is_read(scenario_of, client_of) -> None:
    """A real answer, whose limit resets in milliseconds, gives the columns of a repository."""
    url = scenario_of("get-repository")

    async def scenario() -> None:
        async with client_of(url, token="0" * 40) as client:
            fields = (await client.get(HELLO)).fields
            assert fields["full_name"] == "octokit-fixture-org/hello-world"
            assert fields["id"] == "1000"
            assert fields["owner"] == "octokit-fixture-org"
            assert fields["settings"]["hasIssues"] is True

    asyncio.run(scenario())


def test_a_recorded_rename_is_followed(scenario_of, client_of) -> None:
    """The old name of a renamed repository leads by 301 to its id, and gives the new name."""
    url = scenario_of("rename-repository")
    renamed = {"name": "rename-repository-newname"}
    headers = {"Accept": "application/vnd.github+json"}
    httpx.patch(url + RENAMED.path, json=renamed, headers=headers, trust_env=False)

    async def scenario() -> None:
        async with client_of(url) as client:
            fields = (await client.get(RENAMED)).fields
            assert fields["full_name"] == "octokit-fixture-org/rename-repository-newname"

    asyncio.run(scenario())


def test_a_recorded_error_has_its_outcome(scenario_of) -> None:
    """A real 422 is a status that reading never gets: one error, without the body."""
    url = scenario_of("errors")
    label = {"name": "foo", "color": "invalid"}
    headers = {"Accept": "application/vnd.github+json"}
    path = "/repos/octokit-fixture-org/errors/labels"
    answer = httpx.post(url + path, json=label, headers=headers, trust_env=False)
    reply = Reply(answer.status_code, answer.headers, answer.content)

    error = outcomes.failure(reply, HELLO, datetime.now(UTC))

    assert isinstance(error, errors.UnexpectedStatus)
    assert error.details == {"status": 422}
    assert "Validation" not in str(error)
