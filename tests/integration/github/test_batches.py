"""Batches of the procedures: many entities at a time, each asked for once."""

import json
import threading

import pytest
from fix_waiting import wait_until

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.procedures import get_issue, get_pull_request, get_repository


@pytest.fixture
def environment(github, monkeypatch):
    """A sidecar of its own, whose GitHub is the stand-in."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as made:
        yield made


@pytest.fixture
def origin(github, answering):
    """A stand-in that has the issues 1 to 99 and fails for the others."""

    def answer(request):
        number = int(request.path.rpartition("/")[2])
        if number < 100:
            issue = {"id": number, "number": number, "title": f"Issue {number}", "state": "open"}
            return answering.of(issue)
        return answering(404 if number < 200 else 500, body=json.dumps({}).encode())

    github.answer = answer
    return github


def test_rows_come_in_order_with_what_is_missing(origin, environment):
    """What does not exist is a row of nulls, what fails has its error, the rest goes on."""
    rows = environment.call(
        "github.getIssue.batch",
        [["o", "r", 3], ["o", "r", 100], ["o", "r", 200], ["o", "..", 1], ["o", "r", 1]],
    )

    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["title"] for row in rows] == ["Issue 3", None, None, None, "Issue 1"]
    codes = [row["error"] and row["error"]["code"] for row in rows]
    assert codes[:2] == [None, None]
    assert codes[2].startswith("SC-5")
    assert codes[3:] == ["SC-501", None]


def test_equal_rows_ask_once(origin, environment):
    """Rows that want the same share one request, at a time and from the cache."""
    rows = environment.call(
        "github.getIssue.batch", [["o", "r", 1 + index % 4] for index in range(200)]
    )

    assert [row["number"] for row in rows] == [1 + index % 4 for index in range(200)]
    assert sorted(origin.paths) == [f"/repos/o/r/issues/{number}" for number in range(1, 5)]


def test_twenty_requests_are_under_way_at_a_time(origin, environment):
    """A batch waits for many answers together, and for no more than GitHub likes."""
    origin.open.clear()
    found = []
    sent = [["o", "r", number] for number in range(1, 41)]
    asking = threading.Thread(
        target=lambda: found.extend(environment.call("github.getIssue.batch", sent))
    )
    asking.start()

    wait_until(lambda: len(origin.requests) >= 20)
    origin.open.set()
    asking.join(30)

    assert [row["number"] for row in found] == list(range(1, 41))
    assert len(origin.requests) == 40
    assert origin.most_at_a_time == 20
