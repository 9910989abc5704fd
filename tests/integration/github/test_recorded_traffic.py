"""The client against recordings of real requests to GitHub, served by GitHub's own test server.

The scenarios of `@octokit/fixtures` are played in order: a request that is not the next one gets a
404 that names the one expected.
"""

import asyncio
import json
import subprocess
from datetime import UTC, datetime

import httpx
import pytest

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import errors, responses
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import list_issues, rest
from sidecypher_procedures.github.responses import Reply

HELLO = Target(Kind.REPOSITORY, "octokit-fixture-org", "hello-world")
RENAMED = Target(Kind.REPOSITORY, "octokit-fixture-org", "rename-repository")


# The port is free and the server's own, since nobody else chooses it.
SERVER = """
    import { readFileSync } from "node:fs";
    import fixturesServer from "@octokit/fixtures-server";
    import express from "express";

    const app = express();
    const listener = app.listen(0, "127.0.0.1", () => {
        const fixturesUrl = `http://127.0.0.1:${listener.address().port}`;
        const fixtures = JSON.parse(readFileSync(0));
        app.use(fixturesServer({ fixturesUrl, fixtures, logLevel: "error" }));
        console.log(fixturesUrl);
    });
"""


@pytest.fixture(scope="module")
def scenarios(npm_packages):
    """The exchanges of each scenario, whose requests may have headers of their own."""
    recorded = npm_packages / "@octokit/fixtures/scenarios/api.github.com"
    found = {}
    for file in recorded.glob("*/normalized-fixture.json"):
        exchanges = json.loads(file.read_text("utf-8"))
        found[file.parent.name] = [{**exchange, "reqheaders": {}} for exchange in exchanges]
    return found


@pytest.fixture(scope="module")
def fixtures_server(npm_packages, scenarios):
    """The base URL of `@octokit/fixtures-server`."""
    # What is evaluated imports from the folder it runs in.
    command = ["node", "--input-type=module", "--eval", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=npm_packages.parent, **pipes) as process:
        try:
            process.stdin.write(json.dumps(scenarios))
            process.stdin.close()
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


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
    """A real 422 is one error, without the body."""
    url = scenario_of("errors")
    label = {"name": "foo", "color": "invalid"}
    headers = {"Accept": "application/vnd.github+json"}
    path = "/repos/octokit-fixture-org/errors/labels"
    answer = httpx.post(url + path, json=label, headers=headers, trust_env=False)
    reply = Reply(answer.status_code, answer.headers, answer.content)

    error = responses.failure(reply, HELLO, datetime.now(UTC))

    assert isinstance(error, errors.Rejected)
    assert error.details == {"status": 422}
    assert "Validation" not in str(error)


def test_a_recorded_list_is_followed_page_by_page(scenario_of, monkeypatch) -> None:
    """Thirteen issues come in order, as five pages by GitHub's own links."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", scenario_of("paginate-issues"))

    with ProcedureEnvironment(list_issues) as environment:
        rows = environment.call(
            "github.listIssues", "octokit-fixture-org", "paginate-issues", {"perPage": 3}
        )

    assert [row["number"] for row in rows] == list(range(13, 0, -1))


@pytest.fixture
def call_rest(scenario_of, monkeypatch):
    """Call `github.rest` in a scenario."""
    with ProcedureEnvironment(rest) as environment:

        def call(scenario, *arguments):
            monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", scenario_of(scenario))
            return environment.call("github.rest", *arguments)

        yield call


def test_a_recorded_search_is_a_row_for_each_item(call_rest) -> None:
    """A real search has two results, whose total is on its one page."""
    query = {"q": "sesame repo:octokit-fixture-org/search-issues"}

    rows = call_rest("search-issues", "/search/issues", query, {"limit": 10})

    assert [(row["value"]["number"], row["value"]["title"]) for row in rows] == [
        (2, "Sesame seeds split without a pop!"),
        (1, "The doors don\N{RIGHT SINGLE QUOTATION MARK}t open"),
    ]


def test_a_recorded_archive_is_refused(call_rest) -> None:
    """The answer is not JSON but an archive, and nothing of it is in the error."""
    with pytest.raises(CallError, match="not JSON") as caught:
        call_rest("get-archive", "/repos/octokit-fixture-org/get-archive/tarball/main")

    assert caught.value.code == "SC-511"
