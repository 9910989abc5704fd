"""REST and GraphQL give equal rows and identities: both are asked about one object and compared.

The GraphQL answer is made from the REST object by GitHub's own schema (see fix_graphql).
"""

import asyncio
import json

import pytest
from fix_graphql import Graph
from recorded import _is_full

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.graphql import closing_document
from sidecypher_procedures.github.graphql_documents import document
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import get_issue, get_pull_request, get_repository

KINDS = {"repos": Kind.REPOSITORY, "issues": Kind.ISSUE, "pulls": Kind.PULL_REQUEST}
NAMES = {
    Kind.REPOSITORY: "github.getRepository",
    Kind.ISSUE: "github.getIssue",
    Kind.PULL_REQUEST: "github.getPullRequest",
}
ISSUE = "/repos/codertocat/hello-world/issues/1"
PULL = "/repos/codertocat/hello-world/pulls/2"
REPOSITORY = "/repos/electron/electron"
BOT = {"login": "dependabot[bot]", "type": "Bot", "id": 49699333}
GHOST = {"login": "ghost", "type": "User", "id": 10137}
TEAM = {"name": "Justice League", "slug": "justice-league", "node_id": "T_1"}
MANNEQUIN = {"login": "imported", "type": "Mannequin", "id": 5}
OCTOCAT = {"login": "octocat", "type": "User", "id": 583231}
ORGANISATION = {"login": "octo-org", "type": "Organization", "id": 67584941}

VARIANTS = [
    (ISSUE, {"user": BOT}),
    (ISSUE, {"user": GHOST}),
    (ISSUE, {"user": MANNEQUIN}),
    (ISSUE, {"user": ORGANISATION}),
    (ISSUE, {"user": None}),
    (PULL, {"user": BOT}),
    (ISSUE, {"id": 2**40, "body": None}),
    (ISSUE, {"body": ""}),
    (ISSUE, {"state": "closed", "state_reason": "duplicate", "closed_at": "2024-01-01T00:00:00Z"}),
    (ISSUE, {"state": "closed", "state_reason": "not_planned"}),
    (ISSUE, {"state_reason": "reopened", "locked": True, "comments": 12}),
    (ISSUE, {"labels": [], "assignees": [], "milestone": {"title": "1.0"}}),
    (
        ISSUE,
        {
            "labels": [{"name": "b"}, {"name": "a"}],
            "assignees": [OCTOCAT, {**OCTOCAT, "login": "a"}],
        },
    ),
    (PULL, {"mergeable": None, "mergeable_state": "unknown", "state": "open"}),
    (PULL, {"mergeable": False, "mergeable_state": "dirty", "state": "open", "draft": True}),
    (PULL, {"merged": True, "merged_at": "2024-01-01T00:00:00Z", "mergeable": None}),
    (PULL, {"mergeable_state": "has_hooks"}),
    (PULL, {"requested_teams": [TEAM], "requested_reviewers": [BOT, OCTOCAT, MANNEQUIN]}),
    (PULL, {"requested_teams": [TEAM], "requested_reviewers": []}),
    (REPOSITORY, {"owner": OCTOCAT}),
    (REPOSITORY, {"visibility": "internal", "archived": True, "topics": ["a", "b"]}),
    (REPOSITORY, {"license": None, "language": None, "description": None}),
    (REPOSITORY, {"license": {"spdx_id": "NOASSERTION"}, "description": ""}),
    (
        REPOSITORY,
        {"is_template": True, "fork": True, "has_wiki": False, "web_commit_signoff_required": True},
    ),
]

ONLY_REST_SETTINGS = {"hasPages", "hasDownloads"}
MERGE_SETTINGS = {
    "allowMergeCommit",
    "allowSquashMerge",
    "allowRebaseMerge",
    "allowAutoMerge",
    "allowUpdateBranch",
    "deleteBranchOnMerge",
}


def kind_of(path):
    """The second part of a path's end: `issues`, `pulls`, or `repos`."""
    return path.split("/")[4] if path.count("/") > 3 else "repos"


@pytest.fixture
def serve(github, answering, github_schema, recordings):
    """Serve one recorded object, with changes, by both APIs; give what names it."""

    def target(path, changes):
        found = {**recordings.get(path), **changes}
        objects = {path.lower(): found}
        graph = Graph(github_schema, lambda asked: objects.get(asked.lower()) or repository(asked))

        def repository(asked):
            return recordings.get(asked) if kind_of(asked) == "repos" else None

        def answer(request):
            if request.path == "/graphql":
                asked = json.loads(request.body)
                return answering.of(graph.answer(asked["query"], asked["variables"]))
            return answering.of(objects[request.path.lower()])

        github.answer = answer
        _, _, owner, repo, *rest = path.split("/")
        return Target(KINDS[kind_of(path)], owner, repo, *map(int, rest[1:]))

    return target


@pytest.fixture
def both(serve, github, monkeypatch):
    """Give what asks both APIs about one object, and gives both rows."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "secret")
    monkeypatch.setenv("SIDECYPHER_GITHUB_CACHE_BYTES", "0")

    def rows(path, changes):
        target = serve(path, changes)
        numbers = [] if target.number is None else [target.number]
        arguments = (target.owner, target.repo, *numbers)
        with ProcedureEnvironment(get_issue, get_pull_request, get_repository) as environment:
            made = [
                environment.call(NAMES[target.kind], *arguments, {"api": api})
                for api in ("rest", "graphql")
            ]
        return [{**row, "fetchedAt": None} for (row,) in made]

    return rows


@pytest.fixture
def identities(serve, github, client_of):
    """Give what asks both APIs about one object, and gives what both say it is known by."""

    def found(path, changes):
        target = serve(path, changes)

        async def scenario():
            async with client_of(github.url, token="secret", cache_bytes=0) as client:
                return [(await client.get(target, api=api)).identity for api in ("rest", "graphql")]

        return asyncio.run(scenario())

    return found


@pytest.mark.slow
def test_every_recorded_object_is_the_same_row_by_both(both, recordings, github) -> None:
    """Each recorded issue, pull request and repository has equal columns by REST and GraphQL."""
    whole = recorded(recordings)
    for path in whole:
        by_rest, by_query = both(path, {})
        assert without_rest_settings(by_rest) == without_merge_settings(by_query, by_rest), path

    assert len(whole) > 50
    assert github.paths.count("/graphql") == len(whole)


@pytest.mark.slow
def test_every_recorded_object_has_the_same_identity_by_both(identities, recordings) -> None:
    """Both tell who owns or made it, by the id, and in which repository it is."""
    for path in recorded(recordings):
        by_rest, by_query = identities(path, {})
        assert by_rest == by_query, path
        assert by_rest is not None, path


def recorded(recordings):
    """The paths of all that was recorded as a whole."""
    kept = recordings.by_path.items()
    return [path for path, found in kept if "/comments/" not in path and _is_full(found)]


def test_what_graphql_cannot_give_is_missing(both, recordings) -> None:
    """By GraphQL `settings` has neither pages nor downloads, and how to merge for whoever asks."""
    by_rest, by_query = both(REPOSITORY, {})

    assert by_rest["settings"].keys() - by_query["settings"].keys() == ONLY_REST_SETTINGS
    assert by_query["settings"].keys() - by_rest["settings"].keys() == MERGE_SETTINGS


def test_an_empty_repository_has_no_default_branch_by_graphql(both, recordings) -> None:
    """GraphQL knows a default branch only when it is there, REST what it will be called."""
    by_rest, by_query = both(REPOSITORY, {"no_commits": True})

    assert (by_rest["defaultBranch"], by_query["defaultBranch"]) == ("master", None)


def test_a_pull_request_among_the_issues_is_asked_of_rest(both, recordings, github) -> None:
    """Its id as an issue is REST's alone: GraphQL tells that it is one, REST gives the row."""
    by_rest, by_query = both(PULL.replace("pulls", "issues"), {"id": 4711})

    assert by_rest == by_query
    assert (by_query["isPullRequest"], by_query["id"]) == (True, "4711")
    assert github.paths[1:] == ["/graphql", PULL.replace("pulls", "issues")]


@pytest.mark.parametrize(("path", "changes"), VARIANTS)
def test_what_differs_by_api_is_the_same_row(both, recordings, path, changes) -> None:
    """Bots, deleted users, teams, states and empty texts are told alike."""
    by_rest, by_query = both(path, changes)

    assert without_rest_settings(by_rest) == without_merge_settings(by_query, by_rest)


def without_rest_settings(row):
    """Leave out what GraphQL cannot give."""
    settings = row.get("settings")
    if settings is None:
        return row
    return {**row, "settings": {k: v for k, v in settings.items() if k not in ONLY_REST_SETTINGS}}


def without_merge_settings(row, by_rest):
    """Leave out what REST gives only to who may write."""
    settings = row.get("settings")
    if settings is None:
        return row
    return {**row, "settings": {k: v for k, v in settings.items() if k in by_rest["settings"]}}


@pytest.mark.parametrize(("path", "changes"), VARIANTS)
def test_what_differs_by_api_is_the_same_identity(identities, recordings, path, changes) -> None:
    """Bots, deleted users, mannequins and organisations have the same id and login."""
    by_rest, by_query = identities(path, changes)

    assert by_rest == by_query
    assert by_rest is not None


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("kind", Kind)
def test_every_document_is_one_of_githubs_schema(github_schema, kind, count) -> None:
    """GitHub's schema has nothing against the documents, in one repository or in many."""
    number = None if kind is Kind.REPOSITORY else 7
    targets = [
        Target(kind, "octocat", f"r{index % 60}", number and number + index)
        for index in range(count)
    ]

    assert Graph(github_schema, None).problems(document(targets).text) == []


def test_the_document_of_closing_references_is_one_of_githubs_schema(github_schema) -> None:
    """GitHub's schema has nothing against what a merge asks of a pull request."""
    pulls = [Target(Kind.PULL_REQUEST, "o", "r", number) for number in (7, 8)]

    assert Graph(github_schema, None).problems(closing_document(pulls).text) == []
