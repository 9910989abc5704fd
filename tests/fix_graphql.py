"""GitHub's GraphQL API as its own schema has it, answering from objects of its REST API.

The schema validates each document and shapes each answer; only what a field means is written here,
and it is written from REST's side: nothing of the code under test is used.
"""

import re
from typing import Any, NamedTuple

import pytest
from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync, parse, validate


@pytest.fixture(scope="session")
def github_schema(npm_packages) -> GraphQLSchema:
    """GitHub's schema, as @octokit/graphql-schema has it."""
    sdl = (npm_packages / "@octokit/graphql-schema/schema.graphql").read_text(encoding="utf-8")
    schema = build_schema(sdl, assume_valid=True)
    for name in ("IssueOrPullRequest", "RequestedReviewer", "Actor", "RepositoryOwner"):
        schema.type_map[name].resolve_type = lambda value, *_: value.type
    return schema


class Thing(NamedTuple):
    """An object of the REST API, and what GraphQL calls its type."""

    type: str
    rest: dict[str, Any]


class Graph:
    """Answers GraphQL queries about what `find` gives for a path of the REST API.

    Example:
        >>> Graph(schema, recordings.get).answer(document, variables)["data"]  # doctest: +SKIP
    """

    def __init__(self, schema: GraphQLSchema, find) -> None:
        self.schema = schema
        self.find = find

    def problems(self, document: str) -> list[str]:
        """What GitHub's schema has against a document."""
        return [error.message for error in validate(self.schema, parse(document))]

    def answer(
        self, document: str, variables: dict[str, Any], operation: str | None = None
    ) -> dict[str, Any]:
        """The answer as GitHub gives it, an error's type beside its path."""
        made = graphql_sync(
            self.schema,
            document,
            self,
            variable_values=variables,
            operation_name=operation,
            field_resolver=_resolve,
        )
        answer: dict[str, Any] = {"data": made.data}
        if made.errors:
            answer["errors"] = [
                {
                    "message": error.message,
                    "path": error.path,
                    **({"type": error.extensions["type"]} if error.extensions else {}),
                }
                for error in made.errors
            ]
        return answer


def _resolve(source, info, **arguments):
    """Give a field's value: by what is written here, else the REST field of the same name."""
    field = info.field_name
    if isinstance(source, Graph):
        return _FROM_ROOT[field](source, **arguments)
    if not isinstance(source, Thing):
        return source.get(field)
    meaning = _FIELDS.get((source.type, field)) or _FIELDS.get(("", field))
    if meaning is not None:
        return meaning(source.rest, info.root_value, **arguments)
    return source.rest.get(re.sub("[A-Z]", lambda found: "_" + found[0].lower(), field))


def _absent(what: str) -> GraphQLError:
    return GraphQLError(f"Could not resolve to {what}.", extensions={"type": "NOT_FOUND"})


def _repository(graph: Graph, owner: str, name: str, followRenames: bool = True) -> Thing:  # noqa: N803
    found = graph.find(f"/repos/{owner}/{name}")
    if found is None and not any(graph.find(f"/repos/{owner}/{name}/issues/{n}") for n in range(9)):
        raise _absent(f"a Repository with the name '{owner}/{name}'")
    return Thing("Repository", found or {"full_name": f"{owner}/{name}"})


def _issue(rest, graph: Graph, number: int) -> Thing:
    found = graph.find(f"/repos/{rest['full_name']}/issues/{number}")
    if found is None:
        raise _absent(f"an issue or pull request with the number of {number}")
    return Thing("PullRequest" if "pull_request" in found else "Issue", found)


def _pull_request(rest, graph: Graph, number: int) -> Thing:
    found = graph.find(f"/repos/{rest['full_name']}/pulls/{number}")
    if found is None:
        raise _absent(f"a PullRequest with the number of {number}")
    return Thing("PullRequest", found)


def _somebody(rest) -> Thing | None:
    if rest is None or rest["login"] == "ghost":
        return None
    return Thing(rest["type"], {**rest, "login": rest["login"].removesuffix("[bot]")})


def _home(rest, graph: Graph, **__) -> Thing:
    """Give the repository that an issue or a pull request is in."""
    base = rest.get("base", {}).get("repo")
    name = base["full_name"] if base else "/".join(rest["repository_url"].split("/")[-2:])
    return Thing("Repository", graph.find(f"/repos/{name}") or {"full_name": name})


def _closing(rest, graph: Graph, first: int, **__):
    """Give what `closing` of a pull request names by paths; what is not there cannot be seen."""
    found = [graph.find(path) for path in rest.get("closing", [])][:first]
    return {"nodes": [Thing("Issue", each) if each else _unseen() for each in found]}


def _unseen() -> GraphQLError:
    return GraphQLError("Resource not accessible", extensions={"type": "FORBIDDEN"})


def _upper(name: str):
    return lambda rest, *_, **__: rest[name] and rest[name].upper()


def _of(name: str):
    return lambda rest, *_, **__: rest.get(name)


def _flag(name: str, default: bool = False):
    return lambda rest, *_, **__: rest.get(name, default)


def _count(name: str):
    return lambda rest, *_, **__: {"totalCount": rest[name]}


def _some(name: str, make=dict):
    return lambda rest, *_, **__: {"nodes": [make(found) for found in rest.get(name) or []]}


def _inside(name: str, key: str):
    def meaning(rest, *_, **__):
        return Thing("", {key: rest[name]}) if rest.get(name) else None

    return meaning


def _reviewers(rest, *_, **__):
    users = [_somebody(found) for found in rest["requested_reviewers"]]
    teams = [Thing("Team", found) for found in rest["requested_teams"]]
    return {"nodes": [{"requestedReviewer": found} for found in [*users, *teams]]}


def _mergeable(rest, *_, **__):
    return {True: "MERGEABLE", False: "CONFLICTING", None: "UNKNOWN"}[rest["mergeable"]]


_FROM_ROOT = {"repository": _repository}

_FIELDS = {
    ("", "id"): _of("node_id"),
    ("", "url"): _of("html_url"),
    ("", "databaseId"): _of("id"),
    ("", "fullDatabaseId"): lambda rest, *_, **__: str(rest["id"]),
    # GraphQL has no null here.
    ("", "body"): lambda rest, *_, **__: rest["body"] or "",
    ("", "author"): lambda rest, *_, **__: _somebody(rest["user"]),
    ("", "labels"): _some("labels", lambda label: Thing("Label", label)),
    ("", "assignees"): _some("assignees", _somebody),
    ("", "milestone"): lambda rest, *_, **__: (
        Thing("Milestone", rest["milestone"]) if rest["milestone"] else None
    ),
    ("", "comments"): _count("comments"),
    ("", "locked"): _flag("locked"),
    ("Issue", "repository"): _home,
    ("PullRequest", "repository"): _home,
    ("Issue", "state"): _upper("state"),
    ("Issue", "stateReason"): lambda rest, *_, **__: (
        (rest.get("state_reason") or "").upper() or None
    ),
    ("PullRequest", "state"): lambda rest, *_, **__: (
        "MERGED" if rest["merged"] else rest["state"].upper()
    ),
    ("PullRequest", "isDraft"): _of("draft"),
    ("PullRequest", "mergeable"): _mergeable,
    ("PullRequest", "mergeStateStatus"): _upper("mergeable_state"),
    ("PullRequest", "headRefName"): lambda rest, *_, **__: rest["head"]["ref"],
    ("PullRequest", "headRefOid"): lambda rest, *_, **__: rest["head"]["sha"],
    ("PullRequest", "baseRefName"): lambda rest, *_, **__: rest["base"]["ref"],
    ("PullRequest", "headRepository"): lambda rest, *_, **__: (
        Thing("Repository", rest["head"]["repo"]) if rest["head"]["repo"] else None
    ),
    ("PullRequest", "closingIssuesReferences"): _closing,
    ("PullRequest", "commits"): _count("commits"),
    ("PullRequest", "reviewRequests"): _reviewers,
    ("Repository", "issueOrPullRequest"): _issue,
    ("Repository", "pullRequest"): _pull_request,
    ("Repository", "nameWithOwner"): _of("full_name"),
    ("Repository", "owner"): lambda rest, *_, **__: _somebody(rest["owner"]),
    ("Repository", "visibility"): _upper("visibility"),
    ("Repository", "isArchived"): _flag("archived"),
    ("Repository", "isDisabled"): _flag("disabled"),
    ("Repository", "isFork"): _flag("fork"),
    ("Repository", "isTemplate"): _flag("is_template"),
    ("Repository", "hasIssuesEnabled"): _flag("has_issues"),
    ("Repository", "hasWikiEnabled"): _flag("has_wiki"),
    ("Repository", "hasProjectsEnabled"): _flag("has_projects"),
    ("Repository", "hasDiscussionsEnabled"): _flag("has_discussions"),
    ("Repository", "forkingAllowed"): _flag("allow_forking", default=True),
    ("Repository", "mergeCommitAllowed"): _flag("allow_merge_commit", default=True),
    ("Repository", "squashMergeAllowed"): _flag("allow_squash_merge", default=True),
    ("Repository", "rebaseMergeAllowed"): _flag("allow_rebase_merge", default=True),
    ("Repository", "autoMergeAllowed"): _flag("allow_auto_merge"),
    ("Repository", "allowUpdateBranch"): _flag("allow_update_branch"),
    ("Repository", "deleteBranchOnMerge"): _flag("delete_branch_on_merge"),
    ("Repository", "webCommitSignoffRequired"): _flag("web_commit_signoff_required"),
    ("Repository", "stargazerCount"): _of("stargazers_count"),
    ("Repository", "forkCount"): _of("forks_count"),
    ("Repository", "defaultBranchRef"): lambda rest, *_, **__: (
        None if rest.get("no_commits") else Thing("Ref", {"name": rest["default_branch"]})
    ),
    ("Repository", "primaryLanguage"): _inside("language", "name"),
    ("Repository", "licenseInfo"): lambda rest, *_, **__: (
        Thing("License", rest["license"]) if rest.get("license") else None
    ),
    ("Repository", "repositoryTopics"): _some(
        "topics", lambda name: {"topic": Thing("Topic", {"name": name})}
    ),
    # REST counts pull requests among the issues.
    ("Repository", "issues"): lambda rest, *_, **__: {"totalCount": rest["open_issues_count"] - 1},
    ("Repository", "pullRequests"): lambda *_, **__: {"totalCount": 1},
}
