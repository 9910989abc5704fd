"""The columns of the `github` procedures, in order."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from sidecypher import Description, Node, Row
from sidecypher_procedures.github.errors import GithubError, Gone, NotFound
from sidecypher_procedures.github.model import Kind
from sidecypher_procedures.github.options import OnError

R = TypeVar("R", bound=Row)

FetchedAt = Annotated[datetime | None, Description("when GitHub last gave or confirmed it")]
Stale = Annotated[bool | None, Description("older than maxAge, as GitHub could not be asked")]
Failure = Annotated[dict[str, Any] | None, Description("code, message, hint, retryable, details")]
Cursor = Annotated[str | None, Description("the option `cursor` that continues after this row")]
Logins = list[str] | None


class Issue(Row):
    """An issue; GitHub returns pull requests as issues too."""

    number: int | None
    id: str | None
    node_id: str | None
    title: str | None
    body: str | None
    state: str | None
    state_reason: str | None
    labels: list[str] | None
    assignees: Logins
    author: Annotated[str | None, Description("login; null for a deleted user")]
    milestone: str | None
    comments: int | None
    locked: bool | None
    is_pull_request: bool | None
    created_at: datetime | None
    updated_at: datetime | None
    closed_at: datetime | None
    url: str | None
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class ListedIssue(Issue):
    """An issue in a list."""

    cursor: Cursor


class PullRequest(Row):
    """A pull request."""

    number: int | None
    id: str | None
    node_id: str | None
    title: str | None
    body: str | None
    state: str | None
    draft: bool | None
    merged: bool | None
    mergeable: Annotated[bool | None, Description("null while GitHub computes it")]
    mergeable_state: str | None
    branch: str | None
    base_branch: str | None
    head_sha: str | None
    head_repo: Annotated[str | None, Description("owner/name; null for a deleted fork")]
    reviewers: Logins
    labels: list[str] | None
    assignees: Logins
    author: Annotated[str | None, Description("login; null for a deleted user")]
    additions: int | None
    deletions: int | None
    changed_files: int | None
    commits: int | None
    comments: int | None
    created_at: datetime | None
    updated_at: datetime | None
    closed_at: datetime | None
    merged_at: datetime | None
    url: str | None
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class ListedPullRequest(PullRequest):
    """A pull request in a list."""

    cursor: Cursor


class Repository(Row):
    """A repository."""

    id: str | None
    node_id: str | None
    owner: str | None
    name: str | None
    full_name: str | None
    description: str | None
    default_branch: str | None
    visibility: str | None
    settings: Annotated[dict[str, Any] | None, Description("hasIssues, hasWiki, archived, ...")]
    language: str | None
    topics: list[str] | None
    license: Annotated[str | None, Description("SPDX identifier")]
    stars: int | None
    forks: int | None
    open_issues: int | None
    created_at: datetime | None
    updated_at: datetime | None
    pushed_at: datetime | None
    url: str | None
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class Dropped(Row):
    """The number of entries that an invalidation dropped."""

    dropped: int


class RateLimit(Row):
    """The state of one of GitHub's rate limits."""

    resource: Annotated[str, Description("core, graphql or search")]
    limit: Annotated[int, Description("requests, or points of GraphQL, in one period")]
    remaining: int
    used: int
    reset_at: Annotated[datetime, Description("when the next period begins")]


class Credentials(Row):
    """The credential for GitHub."""

    source: Annotated[str | None, Description("setting of the credential, null without one")]
    accepted: Annotated[bool, Description("whether GitHub accepts it")]
    scopes: Annotated[list[str] | None, Description("of a classic token")]
    expires_at: Annotated[datetime | None, Description("when the token ends")]
    clock_offset: Annotated[
        float | None, Description("seconds the sidecar's clock is ahead of GitHub's")
    ]


class Comment(Row):
    """A comment of an issue or a pull request."""

    id: str | None
    node_id: str | None
    body: str | None
    author: Annotated[str | None, Description("login; null for a deleted user")]
    author_association: Annotated[str | None, Description("such as OWNER, MEMBER or NONE")]
    created_at: datetime | None
    updated_at: datetime | None
    url: str | None
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class Merged(Row):
    """A node that was merged into the graph."""

    node: Annotated[Node | None, Description("the node that is there now")]
    error: Failure


ROWS: Final[Mapping[Kind, type[Issue | PullRequest | Repository]]] = {
    Kind.ISSUE: Issue,
    Kind.PULL_REQUEST: PullRequest,
    Kind.REPOSITORY: Repository,
}


def instead(row: type[R], error: GithubError, on_error: OnError) -> R | None:
    """Return a row with an error, or None for no row, as `on_error` says.

    Raises:
        GithubError: The error, if `on_error` is ``fail`` or the error cannot be hidden.
    """
    if error.always_raised:
        raise error
    if on_error == "null":
        return failed(row, error)
    # No row, like MATCH without a match.
    if on_error == "fail" and not isinstance(error, NotFound | Gone):
        raise error
    return None


def failed(row: type[R], error: GithubError) -> R:
    """Return a row of nulls with the error in its column `error`."""
    columns: dict[str, Any] = dict.fromkeys(row.__struct_fields__)
    columns["error"] = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
        "details": error.details,
    }
    return row(**columns)


class Received(Row):
    """A delivery in the graph."""

    created: Annotated[bool, Description("false when it was there already")]
    run_id: Annotated[str | None, Description("the run that it began or was appended to, if any")]
    session_id: Annotated[
        str | None, Description("the session that it started or answered, if it did")
    ]
