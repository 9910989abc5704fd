"""The replay answers recorded data as GitHub would."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from recorded import Recordings

from sidecypher.cli.demo import replay as replay_module
from sidecypher.cli.demo.replay import samples

ISSUE = "/repos/Codertocat/Hello-World/issues/1"
TESTS = Path(__file__).parents[2]
GRAPH = (TESTS / "data" / "github" / "graph.cypher").read_text(encoding="utf-8")
SAMPLE = "/repos/sidecypher-demo/lighthouse/issues/1"


def test_an_answer_has_githubs_headers(replay) -> None:
    """An answer carries ETag, rate limit and caching headers, and JSON."""
    reply = httpx.get(replay.url + ISSUE.lower(), trust_env=False)

    assert reply.status_code == 200
    assert reply.json()["id"] == 444500041
    assert reply.headers["etag"].startswith('W/"')
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert reply.headers["cache-control"] == "public, max-age=60, s-maxage=60"
    assert int(reply.headers["x-ratelimit-reset"]) > time.time()
    assert reply.headers["x-ratelimit-limit"] == "5000"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
def test_who_has_it_already_gets_a_304(replay, form) -> None:
    """The ETag, weak or strong, alone or in a list, gives 304 without a body and without cost."""
    tag = httpx.get(replay.url + ISSUE, trust_env=False).headers["etag"].removeprefix("W/")
    headers = {"If-None-Match": form.format(tag)}
    reply = httpx.get(replay.url + ISSUE, headers=headers, trust_env=False)

    assert reply.status_code == 304
    assert reply.content == b""
    assert reply.headers["x-ratelimit-used"] == "0"


def test_the_limits_can_be_asked_for(replay) -> None:
    """`/rate_limit` tells the three resources that people ask for."""
    answer = httpx.get(replay.url + "/rate_limit", trust_env=False).json()

    assert {"core", "graphql", "search"} == set(answer["resources"])
    assert answer["resources"]["core"]["remaining"] == 5000


def test_lists_come_page_by_page(replay) -> None:
    """A list has the state that is asked for, the newest first, and a link to its next page."""
    repository = "/repos/octokit-fixture-org/tmp-scenario-paginate-issues-20220719043836917-izyoe"
    found = httpx.get(f"{replay.url}{repository}/issues?per_page=10", trust_env=False)
    rest = httpx.get(found.links["next"]["url"], trust_env=False)

    numbers = [issue["number"] for issue in [*found.json(), *rest.json()]]
    assert numbers == list(range(13, 0, -1))
    assert "next" not in rest.links


def test_comments_belong_to_their_issue(replay) -> None:
    """An issue's list has its comments, and what has none an empty list."""
    comments = httpx.get(f"{replay.url}{ISSUE}/comments", trust_env=False).json()
    none = httpx.get(f"{replay.url}{ISSUE[:-1]}2/comments", trust_env=False).json()

    assert [comment["id"] for comment in comments] == [492700400]
    assert none == []


@pytest.mark.parametrize(
    "path",
    [
        "/repos/o/r",
        "/repos/o/r/issues",
        "/repos/Codertocat/Hello-World/issues/99",
        "/",
        "/user",
        "/repos/a/../b",
    ],
)
def test_the_unknown_is_a_404_in_json(replay, path) -> None:
    """What was not recorded gives GitHub's 404."""
    reply = httpx.get(replay.url + path, trust_env=False)

    assert reply.status_code == 404
    assert reply.json()["message"] == "Not Found"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD"])
def test_only_get_is_answered(replay, method) -> None:
    """Any other method gives 405."""
    reply = httpx.request(method, replay.url + ISSUE, trust_env=False)

    assert reply.status_code == 405
    assert reply.headers["allow"] == "GET"


def test_the_most_recorded_identity_is_believed(recordings) -> None:
    """Recordings edited by hand do not change what a repository or an issue is."""
    assert recordings.get("/repos/Codertocat/Hello-World")["id"] == 186853002
    assert recordings.get(ISSUE)["created_at"] == "2019-05-15T15:20:18Z"
    assert "additions" in recordings.get("/repos/Codertocat/Hello-World/pulls/2")


def test_the_newest_state_of_an_identity_is_kept() -> None:
    """Among recordings of one identity the newest wins, the full form of a pull request first."""
    url = "https://api.github.com/repos/o/r/pulls/1"
    short = {"url": url, "id": 1, "created_at": "a", "updated_at": "3"}
    full = [{**short, "additions": 1, "updated_at": updated} for updated in "12"]

    assert Recordings([*full, short]).get("/repos/O/R/pulls/1") == full[1]


def test_the_command_serves_until_it_is_told_to_stop() -> None:
    """Run as a script it prints its URL when ready, answers, and ends with 0 on SIGTERM."""
    command = [sys.executable, "-P", replay_module.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()

            assert httpx.get(url + SAMPLE, trust_env=False).json()["number"] == 1
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


def test_the_samples_are_a_repository_with_an_issue_and_its_pull_request() -> None:
    """The samples are one repository and what the demo asks of it; nobody on GitHub is in them."""
    objects = samples()

    assert objects.get("/repos/sidecypher-demo/lighthouse")["default_branch"] == "main"
    assert [
        each["number"] for each in objects.list("/repos/sidecypher-demo/lighthouse/issues")
    ] == [1]
    assert "Closes #1" in objects.get("/repos/sidecypher-demo/lighthouse/pulls/2")["body"]


def test_a_port_in_use_is_one_clear_error(replay, capsys, monkeypatch) -> None:
    """A port that is taken ends the command with exit code 1 and names the port."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    arguments = ["--port", str(replay.server_port)]

    assert replay_module.main(arguments) == 1
    assert f"cannot listen on port {replay.server_port}" in capsys.readouterr().err


def test_the_graph_tells_what_was_recorded(recordings) -> None:
    """Every id, number and time in the graph's Cypher file is that of a recording."""
    repositories, times = {}, {}
    for found in re.finditer(
        r"owner: '(?P<owner>.+?)',\s+name: '(?P<name>.+?)', id: '(?P<id>\d+)',"
        r"\s+createdAt: '(?P<created>.+?)', eventAt: '(?P<event>.+?)'",
        GRAPH,
    ):
        repositories[found["id"]] = (found["owner"], found["name"])
        times[found["id"]] = (found["created"], found["event"])
    conversations = re.findall(
        r"repository: '(\d+)', id: '(\d+)', number: (\d+),\s+createdAt: '(.+?)', author: '(.+?)'",
        GRAPH,
    )
    known = {
        (found.id, found.number, found.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"), found.author): (
            found.owner,
            found.repository,
        )
        for found in [*recordings.issues(), *recordings.pull_requests()]
    }

    assert len(repositories) == 5
    assert len(conversations) >= 6
    for identifier, (owner, name) in repositories.items():
        found = recordings.get(f"/repos/{owner}/{name}")
        base = recordings.get(f"/repos/{owner}/{name}/pulls/118") or {"base": {"repo": found}}
        whole = {str(each["id"]): each for each in (found, base["base"]["repo"])}[identifier]
        assert times[identifier] == (whole["created_at"], whole["updated_at"])
    for repository, identifier, number, created_at, author in conversations:
        assert known[identifier, int(number), created_at, author] == repositories[repository]


def test_the_graphs_users_are_those_of_the_recordings(recordings) -> None:
    """Each user has the id that was recorded; those of octocat were edited by hand."""
    owners = [
        recordings.get(f"/repos/{found.owner}/{found.name}")["owner"]
        for found in recordings.repositories()
    ]
    authors = [
        recordings.get(f"/repos/{found.owner}/{found.repository}/issues/{found.number}")["user"]
        for found in recordings.issues()
    ]
    base = recordings.get("/repos/octo-org/octo-repo/pulls/118")["base"]["repo"]["owner"]
    known = {(user["login"], str(user["id"])) for user in [*owners, *authors, base]}
    users = re.findall(r"login: '(.+?)', id: '(\d+)'", GRAPH)

    assert len(users) == 6
    assert set(users) - known == {("octocat", "583231")}


def test_the_graph_is_whole_statements() -> None:
    """Each statement of the graph ends with `;` at the end of a line; any client can split it."""
    statements = [part for part in re.split(r";\s*\n", GRAPH) if part.strip()]

    assert len(statements) == GRAPH.count(";") == 4
    assert all("MERGE" in statement for statement in statements)


def test_the_manifest_and_its_lock_agree() -> None:
    """The lock file pins both packages with checksums and names no registry."""
    lock = (TESTS / "npm" / "recordings" / "package-lock.json").read_text()

    assert '"@octokit/webhooks-examples": "7.6.1"' in lock
    assert lock.count('"integrity"') == lock.count('"node_modules/')
    assert "resolved" not in lock
