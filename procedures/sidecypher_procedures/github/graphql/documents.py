"""The GraphQL documents: one for each kind, with as many things as are wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sidecypher_procedures.github.names import Kind, Target

LARGEST_NUMBER: Final = 2**31 - 1
"""The largest number of an issue that GraphQL can ask for: its integers have 32 bits."""

_SOMEBODY: Final = "{ __typename login }"
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
    assignees(first: 100) {{ nodes {_SOMEBODY} }}
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

# GitHub's REST API has pull requests among its issues. Their id as an issue is REST's alone, so
# that nothing but their being one is asked for here.
_THING: Final = {
    Kind.ISSUE: "issueOrPullRequest(number: ${}) {{ __typename ...fields }}",
    Kind.PULL_REQUEST: "pullRequest(number: ${}) {{ ...fields }}",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A GraphQL query for many things of one kind.

    Attributes:
        text: The query; no part of it comes from a caller.
        variables: The values of its variables.
        places: Where each target is in the answer: the keys that lead to it.
    """

    text: str
    variables: dict[str, Any]
    places: dict[Target, tuple[str, ...]]


def document(targets: Sequence[Target]) -> Document:
    """Write the query for some targets, all of one kind and no number above `LARGEST_NUMBER`.

    Things of one repository are asked for below it, once.

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
