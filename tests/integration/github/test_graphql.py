"""Batches by GraphQL: how many calls they cost, and whose error is whose."""

import json

import pytest
from fix_graphql import Graph

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import get_issue, get_pull_request, get_repository

TOKEN = "github_pat_secretsecretsecretsecret"


@pytest.fixture
def environment(github, monkeypatch):
    """A sidecar of its own with a token, whose GitHub is the stand-in."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as made:
        yield made


def issue(number, **more):
    """An issue as the REST API gives it."""
    return {
        "id": 10**10 + number,
        "node_id": f"I_{number}",
        "number": number,
        "title": f"Issue {number}",
        "body": None,
        "state": "open",
        "user": {"login": "octocat", "type": "User"},
        "milestone": None,
        "comments": 0,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-02T00:00:00Z",
        "html_url": f"https://github.com/o/r/issues/{number}",
        **more,
    }


@pytest.fixture
def origin(github, answering, github_schema):
    """A GitHub that has 2 000 issues, by REST and by GraphQL."""
    objects = {f"/repos/o/r/issues/{number}": issue(number) for number in range(1, 2001)}
    github.objects = objects
    graph = Graph(github_schema, lambda path: objects.get(path.lower()))

    def answer(request):
        if request.path == "/graphql":
            asked = json.loads(request.body)
            return answering.of(graph.answer(asked["query"], asked["variables"]))
        found = objects.get(request.path.lower())
        return answering.of(found) if found else answering(404, body=b"{}")

    github.answer = answer
    return github


def test_a_thousand_cold_issues_cost_ten_calls_and_none_when_warm(origin, environment):
    """Each call asks for a hundred issues, each row has its own, and memory gives them again."""
    wanted = [["o", "r", number] for number in range(1000, 0, -1)]

    cold = environment.call("github.getIssue.batch", wanted)
    assert [row["title"] for row in cold] == [f"Issue {number}" for _, _, number in wanted]
    assert origin.paths == ["/graphql"] * 10

    warm = environment.call("github.getIssue.batch", wanted)
    assert warm == cold
    assert len(origin.paths) == 10
