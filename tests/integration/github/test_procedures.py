"""The procedures through the real dispatcher and a real HTTP server, but without Neo4j."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.procedures import get_issue, get_pull_request, get_repository

TOKEN = "ghp_secretsecretsecretsecretsecret000000"
ISSUE = {"id": 1, "number": 7, "title": "A", "state": "open"}
ENTITIES = {
    "github.getIssue": "issues",
    "github.getPullRequest": "pull_requests",
    "github.getRepository": "repositories",
}

Call = Callable[..., dict[str, Any] | None]


@pytest.fixture
def call() -> Call:
    """Give a call in a sidecar of its own: its row, or None."""

    def one_row(name: str, *arguments: Any, seconds: float = 30.0) -> dict[str, Any] | None:
        options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
        bodies = (get_issue, get_pull_request, get_repository)
        with ProcedureEnvironment(*bodies, timeout=seconds) as environment:
            rows = environment.call(f"github.{name}", *options)
        assert len(rows) <= 1
        return rows[0] if rows else None

    return one_row


@pytest.fixture
def origin(github, answering, monkeypatch):
    """Give a stand-in that has one issue, configured as the sidecar's GitHub."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    github.answer = lambda request: (
        answering.of(ISSUE) if request.path == "/repos/o/r/issues/7" else answering(404, body=b"{}")
    )
    return github


def test_an_issue_is_a_row(origin, call) -> None:
    """An issue gives one row with its columns, and when it was fetched."""
    row = call("getIssue", "o", "r", 7)

    assert (row["number"], row["id"], row["title"], row["error"]) == (7, "1", "A", None)
    assert row["stale"] is False
    assert row["fetchedAt"].tzinfo is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ("o/../../x", "r", 7),
        ("o", "r?x", 7),
        ("o", ".", 7),
        ("o", "..", 7),
        ("o", "%2e%2e", 7),
        ("o%2f", "r", 7),
        ("ö", "r", 7),
        ("o", "\uff52", 7),
        ("", "r", 7),
        ("o", "r", 0),
        ("o", "r", -1),
        ("o", "r", 7, {"api": "soap"}),
        ("o", "r", 7, {"retries": 1}),
        ("o", "r", 7, {"onError": "ignore"}),
        ("o", "..", 7, {"onError": "null"}),
        ("o", "r", 0, {"onError": "skip"}),
    ],
)
@pytest.mark.parametrize("name", ["getIssue", "getPullRequest"])
def test_bad_arguments_are_refused_before_any_request(origin, call, name, arguments) -> None:
    """A bad name, number or option raises in every onError mode, and no request is made."""
    with pytest.raises(CallError) as caught:
        call(name, *arguments)

    assert caught.value.code in {"SC-204", "SC-501"}
    assert caught.value.hint
    assert origin.requests == []


@pytest.mark.parametrize("arguments", [("o/x", "r"), ("o", "r?x"), ("o", "..")])
def test_a_bad_repository_is_refused_before_any_request(origin, call, arguments) -> None:
    """`github.getRepository` checks its names as the others do."""
    with pytest.raises(CallError):
        call("getRepository", *arguments)

    assert origin.requests == []


@pytest.mark.parametrize("options", [{}, {"onError": "fail"}, {"onError": "skip"}])
def test_what_is_missing_gives_no_row(origin, call, options) -> None:
    """A 404 is no row, as MATCH would have it."""
    assert call("getIssue", "o", "r", 8, options) is None


def test_a_missing_issue_can_be_a_row_of_nulls(origin, call) -> None:
    """With onError 'null' a 404 is one row of nulls with the error MAP."""
    row = call("getIssue", "o", "r", 8, {"onError": "null"})

    error = row.pop("error")
    assert error["code"] == "SC-503"
    assert error["message"] == "GitHub knows no issue `o/r#8`"
    assert error["details"] == {"status": 404}
    assert set(row.values()) == {None}


@pytest.mark.parametrize("mode", ["fail", "null", "skip"])
def test_on_error_decides_what_a_failure_becomes(origin, call, answering, mode) -> None:
    """A failure raises, or is a row of nulls, or no row."""
    origin.answer = lambda _: answering(503)

    if mode == "fail":
        with pytest.raises(CallError, match="status 503"):
            call("getRepository", "o", "r", {"onError": mode})
        return
    row = call("getRepository", "o", "r", {"onError": mode})
    assert row is None if mode == "skip" else row["error"]["retryable"] is True


def test_a_settings_error_is_raised_in_every_mode(monkeypatch, call) -> None:
    """A bad setting is never hidden behind onError, and its text names the variable."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", "http://example.com")

    with pytest.raises(CallError, match="SIDECYPHER_GITHUB_BASE_URL"):
        call("getRepository", "o", "r", {"onError": "skip"})


@pytest.mark.parametrize("limits", [{"timeout": 0.05}, {}])
def test_the_wait_ends_before_the_deadline(origin, call, limits) -> None:
    """Neither the option `timeout` nor the call's deadline is exceeded by a silent GitHub."""
    origin.open.clear()

    with pytest.raises(CallError) as caught:
        call("getIssue", "o", "r", 7, limits, seconds=30.0 if limits else 3.0)

    assert caught.value.code == "SC-510"


def test_real_data_fills_the_rows(replay, call, monkeypatch) -> None:
    """Recorded answers of GitHub's become rows of the declared types."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", replay.url)

    issue = call("getIssue", "Codertocat", "hello-world", 1)
    pull = call("getPullRequest", "Codertocat", "Hello-World", 2)
    repository = call("getRepository", "electron", "electron")

    assert (issue["id"], issue["title"]) == ("444500041", "Spelling error in the README file")
    assert (issue["author"], issue["isPullRequest"]) == ("Codertocat", False)
    assert issue["createdAt"] == datetime.fromisoformat("2019-05-15T15:20:18Z")
    assert (pull["id"], pull["mergeable"], pull["merged"]) == ("279147437", True, False)
    assert (pull["branch"], pull["baseBranch"]) == ("changes", "master")
    assert pull["headRepo"] == "Codertocat/Hello-World"
    assert (repository["id"], repository["visibility"]) == ("9384267", "public")
    assert repository["settings"]["hasIssues"] is True


@pytest.mark.parametrize("name", ENTITIES)
def test_every_recorded_entity_is_readable(recordings, replay, monkeypatch, name) -> None:
    """No recorded repository, issue or pull request has a shape that is refused."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", replay.url)
    entities = list(getattr(recordings, ENTITIES[name])())

    with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as environment:
        rows = [
            environment.call(name, found.owner, found.name, {})
            if name == "github.getRepository"
            else environment.call(name, found.owner, found.repository, found.number, {})
            for found in entities
        ]

    assert len(entities) >= 2
    assert [[found.id] for found in entities] == [[row["id"] for row in one] for one in rows]
