"""What becomes of each error by `onError`, in every procedure that has it."""

from datetime import UTC, datetime
from functools import partial

import pytest

from sidecypher.errors import CallError
from sidecypher.sdk.registry import MARK
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import errors
from sidecypher_procedures.github import procedures as github
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.rate_limits import used_up

ARGUMENTS = {
    "getIssue": ("o", "r", 7),
    "getPullRequest": ("o", "r", 7),
    "getRepository": ("o", "r"),
    "listIssues": ("o", "r"),
    "listPullRequests": ("o", "r"),
    "listComments": ("o", "r", 7),
    "listReviews": ("o", "r", 7),
    "listFiles": ("o", "r", 7),
    "listCommits": ("o", "r"),
    "listReleases": ("o", "r"),
    "listWorkflowRuns": ("o", "r"),
    "searchIssues": ("a",),
    "searchRepositories": ("a",),
    "searchCode": ("a",),
    "rest": ("/repos/o/r/tags", {}),
    "graphql": ("{ viewer { login } }", {}),
    "mergeIssue": ("o", "r", 7),
    "mergePullRequest": ("o", "r", 7),
    "mergeRepository": ("o", "r"),
    "mergeIssues": ("o", "r"),
    "mergePullRequests": ("o", "r"),
}
BATCHES = [name for name in ARGUMENTS if name.startswith("get")]
BODIES = [each for each in vars(github).values() if hasattr(each, MARK)]

RAISED = {"fail": "raised", "null": "raised", "skip": "raised"}
FAILURE = {"fail": "raised", "null": "told", "skip": "no row"}
ABSENCE = {"fail": "no row", "null": "told", "skip": "no row"}
WRITES = [name for name in ARGUMENTS if name.startswith("merge")]
OUTCOMES = {
    "SC-500": FAILURE,
    "SC-501": RAISED,
    "SC-502": RAISED,
    "SC-503": ABSENCE,
    "SC-504": ABSENCE,
    "SC-505": FAILURE,
    "SC-506": FAILURE,
    "SC-507": FAILURE,
    "SC-508": FAILURE,
    "SC-509": FAILURE,
    "SC-510": FAILURE,
    "SC-511": FAILURE,
    "SC-512": FAILURE,
    "SC-513": FAILURE,
    "SC-514": RAISED,
    "SC-515": FAILURE,
    "SC-520": FAILURE,
    "SC-521": FAILURE,
    "SC-522": FAILURE,
    "SC-523": RAISED,
    "SC-524": FAILURE,
    "SC-525": FAILURE,
    "SC-530": FAILURE,
    "SC-531": FAILURE,
}


def tree(kind):
    """An error and all below it."""
    return [kind, *(below for each in kind.__subclasses__() for below in tree(each))]


CLASSES = {kind.code: kind for kind in tree(errors.GithubError)}


def made(code):
    """An error of the code, as it is raised."""
    if code == "SC-507":
        return used_up("`o/r`", datetime(2026, 1, 1, tzinfo=UTC), 403)
    return CLASSES[code]("what happened", hint="what to do", details={"status": 418})


@pytest.fixture
def environment(monkeypatch):
    """A sidecar whose client fails in the middle of whatever it does, with what `error` makes."""
    raised = {}

    async def many(_client, targets, **_how):
        return [raised["error"] for _ in targets]

    async def page(*_arguments, **_how):
        raise raised["error"]

    monkeypatch.setattr(GithubClient, "get_many", many)
    monkeypatch.setattr(GithubClient, "page", page)
    monkeypatch.setattr(GithubClient, "answer", page)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "ghp_" + "0" * 36)
    with ProcedureEnvironment(*BODIES) as environment:
        environment.raised = raised
        yield environment


def test_the_table_has_every_error_and_every_procedure() -> None:
    """Whoever adds one says here what becomes of it."""
    assert set(OUTCOMES) == set(CLASSES)
    taking = {body.__name__ for body in BODIES if "options" in body.__annotations__}
    assert taking == {"".join(f"_{c.lower()}" if c.isupper() else c for c in n) for n in ARGUMENTS}


@pytest.mark.parametrize("code", OUTCOMES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_error_is_raised_told_or_no_row(environment, name, code) -> None:
    """By `onError`; a row of nulls always tells why, and what has to be mended is never hidden.

    What does not exist is no row where it is read, and an error where it was to be written.
    """
    outcomes = FAILURE if name in WRITES and OUTCOMES[code] is ABSENCE else OUTCOMES[code]
    for mode, outcome in outcomes.items():
        environment.raised["error"] = error = made(code)
        call = partial(environment.call, f"github.{name}", *ARGUMENTS[name], {"onError": mode})
        if outcome == "raised":
            with pytest.raises(CallError) as caught:
                call()
            assert caught.value.code == code
        else:
            found = [told(row) for row in call()]
            assert found == ([facts(error)] if outcome == "told" else []), mode


@pytest.mark.parametrize("code", OUTCOMES)
@pytest.mark.parametrize("name", BATCHES)
def test_an_error_in_a_batch_is_its_rows(environment, name, code) -> None:
    """What would be raised is told in the row; what would be no row is a row of nulls."""
    for mode, outcome in OUTCOMES[code].items():
        environment.raised["error"] = error = made(code)
        keys = [[*ARGUMENTS[name], {"onError": mode}]]
        (row,) = environment.call(f"github.{name}.batch", keys)
        assert row.pop("index") == 0
        assert told(row) == (None if outcome == "no row" else facts(error)), mode


def told(row):
    """The error that a row tells, all else in it being null."""
    error = row.pop("error")
    assert set(row.values()) == {None}
    return error


def facts(error):
    """An error as a MAP."""
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
        "details": error.details,
    }
