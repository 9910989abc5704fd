"""GraphQL documents, and conversion of their answers to the shape of the REST API."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sidecypher_procedures.github.model import Kind, Target

LARGEST_NUMBER: Final = 2**31 - 1
"""The largest number of an issue in GraphQL, whose integers have 32 bits."""

_ACTOR: Final = "{ __typename login }"
OWNER: Final = "{ login ... on User { databaseId } ... on Organization { databaseId } }"
AUTHOR: Final = """{ __typename login
        ... on User { databaseId } ... on Organization { databaseId }
        ... on Bot { databaseId } ... on Mannequin { databaseId }
    }"""

_CONVERSATION: Final = f"""
    __typename id fullDatabaseId number title body state locked createdAt updatedAt closedAt url
    author {AUTHOR}
    repository {{ nameWithOwner }}
    labels(first: 100) {{ nodes {{ name }} }}
    assignees(first: 100) {{ nodes {_ACTOR} }}
    milestone {{ title }}
    comments {{ totalCount }}"""

_FIELDS: Final = {
    Kind.ISSUE: f"""fragment fields on Issue {{{_CONVERSATION}
    stateReason(enableDuplicate: true)
}}""",
    Kind.PULL_REQUEST: f"""fragment fields on PullRequest {{{_CONVERSATION}
    isDraft merged mergeable mergeStateStatus mergedAt additions deletions changedFiles
    headRefName headRefOid baseRefName
    headRepository {{ nameWithOwner }}
    commits {{ totalCount }}
    reviewRequests(first: 100) {{ nodes {{ requestedReviewer {{
        __typename ... on User {{ login }} ... on Bot {{ login }} ... on Mannequin {{ login }}
    }} }} }}
}}""",
    Kind.REPOSITORY: f"""fragment fields on Repository {{
    id databaseId name nameWithOwner description visibility url
    isArchived isDisabled isFork isTemplate
    hasIssuesEnabled hasWikiEnabled hasProjectsEnabled hasDiscussionsEnabled
    forkingAllowed mergeCommitAllowed squashMergeAllowed rebaseMergeAllowed autoMergeAllowed
    allowUpdateBranch deleteBranchOnMerge webCommitSignoffRequired
    stargazerCount forkCount createdAt updatedAt pushedAt
    owner {OWNER}
    defaultBranchRef {{ name }}
    primaryLanguage {{ name }}
    licenseInfo {{ spdxId }}
    repositoryTopics(first: 100) {{ nodes {{ topic {{ name }} }} }}
    issues(states: OPEN) {{ totalCount }}
    pullRequests(states: OPEN) {{ totalCount }}
}}""",
}

# GitHub's REST API lists pull requests as issues, with an id that GraphQL does not have. So a query
# for an issue reads only the type of a pull request.
_THING: Final = {
    Kind.ISSUE: "issueOrPullRequest(number: ${}) {{ __typename ...fields }}",
    Kind.PULL_REQUEST: "pullRequest(number: ${}) {{ ...fields }}",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A GraphQL query for many entities of one kind.

    Attributes:
        text: The query; it has no text from callers.
        places: Path of keys to each target in the answer.
    """

    text: str
    variables: dict[str, Any]
    places: dict[Target, tuple[str, ...]]


def has_query(target: Target) -> bool:
    """Return whether GraphQL can be asked for a target: it knows numbers up to `LARGEST_NUMBER`."""
    return (target.number or 0) <= LARGEST_NUMBER


def document(targets: Sequence[Target]) -> Document:
    """Return the query for targets of one kind, with numbers up to `LARGEST_NUMBER`.

    Targets of one repository share one field of the query.

    Example:
        >>> made = document([Target(Kind.ISSUE, "octocat", "Hello-World", 7)])
        >>> made.variables, list(made.places.values())
        ({'owner0': 'octocat', 'name0': 'Hello-World', 'number0': 7}, [('r0', 'k0')])
    """
    kind = targets[0].kind
    numbers: dict[tuple[str, str], int] = {}
    declared: list[str] = []
    variables: dict[str, Any] = {}
    inner: dict[int, list[str]] = {}
    places: dict[Target, tuple[str, ...]] = {}
    for index, target in enumerate(targets):
        name = (target.owner, target.repo)
        number = numbers.setdefault(name, len(numbers))
        if number not in inner:
            inner[number] = []
            declared.append(f"$owner{number}: String!, $name{number}: String!")
            variables |= {f"owner{number}": target.owner, f"name{number}": target.repo}
        if kind is Kind.REPOSITORY:
            inner[number] = ["...fields"]
            places[target] = (f"r{number}",)
        else:
            declared.append(f"$number{index}: Int!")
            variables[f"number{index}"] = target.number
            inner[number].append(f"k{index}: {_THING[kind].format(f'number{index}')}")
            places[target] = (f"r{number}", f"k{index}")
    repositories = "\n".join(
        f"r{number}: repository(owner: $owner{number}, name: $name{number}) {{ {' '.join(lines)} }}"
        for number, lines in inner.items()
    )
    text = f"query({', '.join(declared)}) {{\n{repositories}\n}}\n{_FIELDS[kind]}\n"
    return Document(text, variables, places)


_Json = Mapping[str, Any]

_MERGEABLE: Final = {"MERGEABLE": True, "CONFLICTING": False}


def issue(node: _Json) -> dict[str, Any]:
    """Convert an `Issue`.

    Example:
        >>> bot = {"__typename": "Bot", "login": "dependabot", "databaseId": 49699333}
        >>> issue({"author": bot, "comments": {"totalCount": 0}})["user"]
        {'login': 'dependabot[bot]', 'id': 49699333}
    """
    return {
        **_conversation(node),
        "state_reason": _lower(node.get("stateReason")),
        "repository_url": _full_name(node),
    }


def pull_request(node: _Json) -> dict[str, Any]:
    """Convert a `PullRequest`."""
    return {
        **_conversation(node),
        "state": "open" if node.get("state") == "OPEN" else "closed",
        "draft": node.get("isDraft"),
        "merged": node.get("merged"),
        # None while GitHub computes it.
        "mergeable": _MERGEABLE.get(node.get("mergeable", "")),
        "mergeable_state": _lower(node.get("mergeStateStatus")),
        "head": {
            "ref": node.get("headRefName"),
            "sha": node.get("headRefOid"),
            "repo": _renamed(node.get("headRepository"), full_name="nameWithOwner"),
        },
        "base": {"ref": node.get("baseRefName"), "repo": {"full_name": _full_name(node)}},
        "requested_reviewers": [
            reviewer
            for request in _nodes(node, "reviewRequests")
            # A team has no login; null is a reviewer that the token cannot see.
            if (reviewer := _user(request.get("requestedReviewer"))) is not None
        ],
        "additions": node.get("additions"),
        "deletions": node.get("deletions"),
        "changed_files": node.get("changedFiles"),
        "commits": _total(node, "commits"),
        "merged_at": node.get("mergedAt"),
    }


def repository(node: _Json) -> dict[str, Any]:
    """Convert a `Repository`."""
    return {
        "id": node.get("databaseId"),
        "node_id": node.get("id"),
        "owner": _owner(node),
        "name": node.get("name"),
        "full_name": node.get("nameWithOwner"),
        "description": node.get("description"),
        "default_branch": (node.get("defaultBranchRef") or {}).get("name"),
        "visibility": _lower(node.get("visibility")),
        "has_issues": node.get("hasIssuesEnabled"),
        "has_wiki": node.get("hasWikiEnabled"),
        "has_projects": node.get("hasProjectsEnabled"),
        "has_discussions": node.get("hasDiscussionsEnabled"),
        "archived": node.get("isArchived"),
        "disabled": node.get("isDisabled"),
        "fork": node.get("isFork"),
        "is_template": node.get("isTemplate"),
        "allow_forking": node.get("forkingAllowed"),
        "allow_merge_commit": node.get("mergeCommitAllowed"),
        "allow_squash_merge": node.get("squashMergeAllowed"),
        "allow_rebase_merge": node.get("rebaseMergeAllowed"),
        "allow_auto_merge": node.get("autoMergeAllowed"),
        "allow_update_branch": node.get("allowUpdateBranch"),
        "delete_branch_on_merge": node.get("deleteBranchOnMerge"),
        "web_commit_signoff_required": node.get("webCommitSignoffRequired"),
        "language": (node.get("primaryLanguage") or {}).get("name"),
        "topics": [topic["topic"]["name"] for topic in _nodes(node, "repositoryTopics")],
        "license": _renamed(node.get("licenseInfo"), spdx_id="spdxId"),
        "stargazers_count": node.get("stargazerCount"),
        "forks_count": node.get("forkCount"),
        # REST counts pull requests among the issues.
        "open_issues_count": _total(node, "issues") + _total(node, "pullRequests"),
        "created_at": node.get("createdAt"),
        "updated_at": node.get("updatedAt"),
        "pushed_at": node.get("pushedAt"),
        "html_url": node.get("url"),
    }


def reference(node: _Json) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert an `Issue` and its `Repository`, with the fields that a merge needs."""
    home = node["repository"]
    found = {
        "id": _integer(node["fullDatabaseId"]),
        "number": node["number"],
        "user": _user(node["author"]),
        "repository_url": _full_name(node),
        "created_at": node["createdAt"],
    }
    return found, {
        "id": home["databaseId"],
        "owner": _owner(home),
        "name": home["name"],
        "created_at": home["createdAt"],
        "updated_at": home["updatedAt"],
    }


def _conversation(node: _Json) -> dict[str, Any]:
    """Convert the common fields of issues and pull requests."""
    return {
        "number": node.get("number"),
        "id": _integer(node.get("fullDatabaseId")),
        "node_id": node.get("id"),
        "title": node.get("title"),
        "body": node.get("body"),
        "state": _lower(node.get("state")),
        "locked": node.get("locked"),
        "labels": _nodes(node, "labels"),
        "assignees": [_user(found) for found in _nodes(node, "assignees")],
        "user": _user(node.get("author")),
        "milestone": node.get("milestone"),
        "comments": _total(node, "comments"),
        "created_at": node.get("createdAt"),
        "updated_at": node.get("updatedAt"),
        "closed_at": node.get("closedAt"),
        "html_url": node.get("url"),
    }


def _user(actor: _Json | None) -> dict[str, Any] | None:
    """Convert an actor to a user of the REST API, which marks bots."""
    if actor is None or "login" not in actor:
        return None
    mark = "[bot]" if actor["__typename"] == "Bot" else ""
    return {"login": actor["login"] + mark, "id": actor.get("databaseId")}


def _owner(node: _Json) -> dict[str, Any] | None:
    return _renamed(node.get("owner"), login="login", id="databaseId")


def _full_name(node: _Json) -> str | None:
    """Return ``owner/name`` of the repository of an issue or a pull request."""
    name: str | None = (node.get("repository") or {}).get("nameWithOwner")
    return name


def _nodes(node: _Json, name: str) -> list[Any]:
    """Return the visible nodes of a connection."""
    return [found for found in (node.get(name) or {}).get("nodes") or [] if found is not None]


def _total(node: _Json, name: str) -> int:
    total: int = node[name]["totalCount"]
    return total


def _renamed(node: _Json | None, **names: str) -> dict[str, Any] | None:
    return None if node is None else {name: node.get(given) for name, given in names.items()}


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()


def _integer(value: str | int | None) -> int | None:
    # A BigInt is text in JSON.
    return None if value is None else int(value)


AS_REST: Final[Mapping[Kind, Callable[[_Json], dict[str, Any]]]] = {
    Kind.ISSUE: issue,
    Kind.PULL_REQUEST: pull_request,
    Kind.REPOSITORY: repository,
}
