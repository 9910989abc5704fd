"""The columns of the `github` procedures, in order."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from sidecypher import Description, Node, Row
from sidecypher_procedures.github.entities import SETTINGS
from sidecypher_procedures.github.errors import GithubError, Gone, NotFound
from sidecypher_procedures.github.model import Kind
from sidecypher_procedures.github.options import OnError

R = TypeVar("R", bound=Row)

_SETTINGS: Final = f"booleans that the token may see: {', '.join(SETTINGS)}"

FetchedAt = Annotated[datetime | None, Description("when GitHub last gave or confirmed it")]
Stale = Annotated[bool | None, Description("older than maxAge, as GitHub could not be asked")]
Failure = Annotated[dict[str, Any] | None, Description("code, message, hint, retryable, details")]
Cursor = Annotated[str | None, Description("the option `cursor` that continues after this row")]
Id = Annotated[str | None, Description("GitHub's id; it never changes")]
NodeId = Annotated[str | None, Description("id in GitHub's GraphQL API")]
Login = Annotated[str | None, Description("login; null for a deleted user")]
Logins = Annotated[list[str] | None, Description("logins")]
Names = Annotated[list[str] | None, Description("names")]
Count = Annotated[int | None, Description("how many")]
Text = Annotated[str | None, Description("null if it is empty")]
Url = Annotated[str | None, Description("page for people")]


class Issue(Row):
    """An issue; GitHub returns pull requests as issues too."""

    number: int | None
    id: Id
    node_id: NodeId
    title: str | None
    body: Text
    state: Annotated[str | None, Description("open or closed")]
    state_reason: Annotated[str | None, Description("such as completed or not_planned")]
    labels: Names
    assignees: Logins
    author: Login
    milestone: Annotated[str | None, Description("its title")]
    comments: Count
    locked: bool | None
    is_pull_request: Annotated[
        bool | None, Description("GitHub returns pull requests as issues too")
    ]
    created_at: datetime | None
    updated_at: datetime | None
    closed_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class ListedIssue(Issue):
    """An issue in a list."""

    cursor: Cursor


class PullRequest(Row):
    """A pull request."""

    number: int | None
    id: Id
    node_id: NodeId
    title: str | None
    body: Text
    state: Annotated[str | None, Description("open or closed")]
    draft: bool | None
    merged: bool | None
    mergeable: Annotated[bool | None, Description("null while GitHub computes it")]
    mergeable_state: str | None
    branch: Annotated[str | None, Description("the branch to be merged")]
    base_branch: Annotated[str | None, Description("the branch it is merged into")]
    head_sha: str | None
    head_repo: Annotated[str | None, Description("owner/name; null for a deleted fork")]
    reviewers: Annotated[list[str] | None, Description("logins of the requested reviewers")]
    labels: Names
    assignees: Logins
    author: Login
    additions: int | None
    deletions: int | None
    changed_files: int | None
    commits: Count
    comments: Count
    created_at: datetime | None
    updated_at: datetime | None
    closed_at: datetime | None
    merged_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class ListedPullRequest(PullRequest):
    """A pull request in a list, which has no sizes and does not say whether it can be merged."""

    cursor: Cursor


class Repository(Row):
    """A repository."""

    id: Id
    node_id: NodeId
    owner: Annotated[str | None, Description("login")]
    name: str | None
    full_name: str | None
    description: Text
    default_branch: str | None
    visibility: Annotated[str | None, Description("public, private or internal")]
    settings: Annotated[dict[str, Any] | None, Description(_SETTINGS)]
    language: Annotated[str | None, Description("the main one")]
    topics: list[str] | None
    license: Annotated[str | None, Description("SPDX identifier")]
    stars: int | None
    forks: int | None
    open_issues: Annotated[int | None, Description("pull requests included")]
    created_at: datetime | None
    updated_at: datetime | None
    pushed_at: datetime | None
    url: Url
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

    id: Id
    node_id: NodeId
    body: str | None
    author: Login
    author_association: Annotated[str | None, Description("such as OWNER, MEMBER or NONE")]
    created_at: datetime | None
    updated_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class Review(Row):
    """A review of a pull request."""

    id: Id
    node_id: NodeId
    state: Annotated[str | None, Description("such as APPROVED or CHANGES_REQUESTED")]
    body: Text
    author: Login
    author_association: Annotated[str | None, Description("such as OWNER, MEMBER or NONE")]
    commit_sha: Annotated[str | None, Description("the commit that was reviewed")]
    submitted_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class File(Row):
    """A file that a pull request changes."""

    path: str | None
    previous_path: Annotated[str | None, Description("its path before it was renamed")]
    status: Annotated[str | None, Description("such as added, modified, removed or renamed")]
    additions: int | None
    deletions: int | None
    sha: Annotated[str | None, Description("of its content")]
    patch: Annotated[str | None, Description("the difference; null if GitHub leaves it out")]
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class Commit(Row):
    """A commit."""

    sha: str | None
    node_id: NodeId
    message: str | None
    author: Annotated[str | None, Description("login; null if GitHub knows no such user")]
    author_name: Annotated[str | None, Description("as in the commit")]
    authored_at: datetime | None
    committer: Annotated[str | None, Description("login; null if GitHub knows no such user")]
    committed_at: datetime | None
    parents: Annotated[list[str] | None, Description("their SHAs; several for a merge")]
    verified: Annotated[bool | None, Description("whether GitHub could verify its signature")]
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class Release(Row):
    """A release."""

    id: Id
    node_id: NodeId
    tag: str | None
    name: str | None
    body: Text
    draft: bool | None
    prerelease: bool | None
    author: Login
    assets: Annotated[list[str] | None, Description("names of its files")]
    created_at: Annotated[datetime | None, Description("when its commit was made")]
    published_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


class WorkflowRun(Row):
    """A run of a workflow of GitHub Actions."""

    id: Id
    node_id: NodeId
    workflow: Annotated[str | None, Description("name of the workflow")]
    title: str | None
    number: Annotated[int | None, Description("counts the runs of the workflow")]
    attempt: int | None
    event: Annotated[str | None, Description("the event that began it, such as push")]
    status: Annotated[str | None, Description("such as queued, in_progress or completed")]
    conclusion: Annotated[str | None, Description("such as success or failure, once completed")]
    branch: str | None
    head_sha: str | None
    actor: Login
    created_at: datetime | None
    started_at: Annotated[datetime | None, Description("when its latest attempt began")]
    updated_at: datetime | None
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor


Incomplete = Annotated[
    bool | None, Description("whether GitHub ran out of time, so that results are missing")
]


class FoundIssue(ListedIssue):
    """An issue or a pull request that a search has found."""

    repository: Annotated[str | None, Description("owner/name")]
    incomplete: Incomplete


class FoundRepository(Repository):
    """A repository that a search has found."""

    cursor: Cursor
    incomplete: Incomplete


class FoundFile(Row):
    """A file that a search of code has found."""

    path: str | None
    name: str | None
    sha: Annotated[str | None, Description("of its content")]
    repository: Annotated[str | None, Description("owner/name")]
    url: Url
    fetched_at: FetchedAt
    stale: Stale
    error: Failure
    cursor: Cursor
    incomplete: Incomplete


class RawAnswer(Row):
    """One page of an answer as it is kept: its values, and where the next page is."""

    values: list[dict[str, Any]]
    next: str | None
    fetched_at: datetime
    stale: bool


class RawValue(Row):
    """A value of an answer, as GitHub has it."""

    value: Annotated[dict[str, Any] | None, Description("with GitHub's own names")]
    fetched_at: FetchedAt
    stale: Stale
    error: Failure


class Merged(Row):
    """A node that was merged into the graph."""

    node: Annotated[Node | None, Description("the node that is there now")]
    error: Failure


class MergedList(Row):
    """What one call has merged of a list."""

    merged: Annotated[int | None, Description("how many nodes are there now")]
    skipped: Annotated[int | None, Description("how many pull requests a list of issues had")]
    cursor: Annotated[
        str | None,
        Description("the option `cursor` that continues after them; null at the end of a part"),
    ]
    done: Annotated[bool | None, Description("whether the list ended")]
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


def facts(error: GithubError) -> dict[str, Any]:
    """Return an error as the value of a column `error`."""
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
        "details": error.details,
    }


def failed(row: type[R], error: GithubError) -> R:
    """Return a row of nulls with the error in its column `error`."""
    columns: dict[str, Any] = dict.fromkeys(row.__struct_fields__)
    columns["error"] = facts(error)
    return row(**columns)


class Received(Row):
    """A delivery in the graph."""

    created: Annotated[bool, Description("false when it was there already")]
    run_id: Annotated[str | None, Description("the run that it began or was appended to, if any")]
    session_id: Annotated[
        str | None, Description("the session that it started or answered, if it did")
    ]
