"""The options of the `github` procedures."""

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import AfterValidator, Field

from sidecypher import Deadline, Description, Options

OnError = Literal["fail", "null", "skip"]
Api = Literal["auto", "rest", "graphql"]

_LABEL: Final = re.compile(r"[^,\ud800-\udfff]+")
"""A label without commas, since GitHub accepts labels in one comma-separated parameter."""

_CURSOR: Final = re.compile(r"[0-9a-f]{12} [0-9]{1,4} [!-\"$-~]{0,8192}")
"""Digest of the list, number of rows already read of the page, and query of the page."""

# Time for the answer to reach the caller before the call's deadline cancels the function.
_ANSWER_SECONDS: Final = 0.25


def _in_utc(since: datetime) -> datetime:
    try:
        return since.astimezone(UTC)
    except OverflowError:
        raise ValueError("UTC has no such year") from None


def _labels(labels: list[str]) -> list[str]:
    if not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("a label is empty, has a comma or is not text")
    return labels


def _cursor(cursor: str) -> str:
    if not _CURSOR.fullmatch(cursor):
        raise ValueError("it is not a `cursor` of a row")
    return cursor


State = Annotated[Literal["open", "closed", "all"] | None, Description("open without one")]
Since = Annotated[
    Annotated[datetime, AfterValidator(_in_utc)] | None,
    Description("only what has changed at this time or later"),
]
Labels = Annotated[
    list[str], Description("names; an issue must have all of them"), AfterValidator(_labels)
]

MaxAge = Annotated[
    float, Description("seconds an answer from memory may be old; 0 always asks"), Field(ge=0)
]


class RequestOptions(Options):
    """Timeout of requests to GitHub, and handling of errors."""

    on_error: Annotated[
        OnError,
        Description("fail raises, null returns a row of nulls with the error, skip no row"),
    ] = "fail"
    timeout: Annotated[
        float | None,
        Description("seconds to wait for GitHub, never longer than the call may take"),
        Field(gt=0),
    ] = None

    def wait(self, deadline: Deadline) -> float:
        """Return the seconds to wait for GitHub in a call with this deadline."""
        timeout = math.inf if self.timeout is None else self.timeout
        return min(timeout, deadline.remaining() - _ANSWER_SECONDS)


class FetchOptions(RequestOptions):
    """Maximum age of an answer, and the API to use."""

    max_age: MaxAge = 60.0
    api: Annotated[
        Api,
        Description("auto asks GraphQL for more than 20, if there is a token, and REST else"),
    ] = "auto"


class RawOptions(RequestOptions):
    """Maximum age of an answer, and how many of its pages are read."""

    max_age: MaxAge = 60.0
    limit: Annotated[
        int | None,
        Description("rows at most, from further pages too; one page by default"),
        Field(ge=0),
    ] = None


class GraphqlOptions(RawOptions):
    """Maximum age of an answer, how many of its pages are read, and the operation to run."""

    operation_name: Annotated[
        str | None,
        Description("the operation to run if the query has several"),
        Field(min_length=1),
    ] = None


class MergeIssueOptions(FetchOptions):
    """Maximum age of an issue, and what else is merged."""

    comments: Annotated[bool, Description("whether its comments get nodes too")] = False


class MergeListOptions(FetchOptions):
    """Which issues or pull requests of a repository are merged by one call."""

    state: Annotated[Literal["open", "closed", "all"], Description("which of them")] = "all"
    since: Since = None
    limit: Annotated[
        int, Description("entries of the list to read at most"), Field(ge=0, le=10_000)
    ] = 1_000
    cursor: Annotated[
        Annotated[str, AfterValidator(_cursor)] | None,
        Description("only entries after those of the call that returned this `cursor`"),
    ] = None


class ListOptions(RequestOptions):
    """Filter, order and page of a list from GitHub's REST API."""

    per_page: Annotated[int, Description("rows a request fetches"), Field(ge=1, le=100)] = 100
    limit: Annotated[int | None, Description("rows at most; all by default"), Field(ge=0)] = None
    cursor: Annotated[
        Annotated[str, AfterValidator(_cursor)] | None,
        Description("only rows after the one that has this in its column `cursor`"),
    ] = None

    @property
    def query(self) -> str:
        """The query of the first page, without filters that are None or empty.

        Example:
            >>> IssueListOptions(state="all", labels=["a b"]).query
            'per_page=100&state=all&labels=a+b'
        """
        others = {*RequestOptions.model_fields, "limit", "cursor"}
        filters = self.model_dump(exclude=others)
        return urlencode({name: parameter(value) for name, value in filters.items() if value})


class IssueListOptions(ListOptions):
    """Filter and order of a list of issues."""

    state: State = None
    labels: Labels = []
    since: Since = None
    sort: Annotated[
        Literal["created", "updated", "comments"] | None, Description("created without one")
    ] = None
    direction: Annotated[Literal["asc", "desc"] | None, Description("desc without one")] = None


class PullRequestListOptions(ListOptions):
    """Filter and order of a list of pull requests."""

    state: State = None
    head: Annotated[
        str | None, Description("the branch to be merged, as owner:branch"), Field(min_length=1)
    ] = None
    base: Annotated[
        str | None, Description("the branch they are merged into"), Field(min_length=1)
    ] = None
    sort: Annotated[
        Literal["created", "updated", "popularity", "longRunning"] | None,
        Description("created without one"),
    ] = None
    direction: Annotated[
        Literal["asc", "desc"] | None,
        Description("desc without one; asc where `sort` is given and is not created"),
    ] = None


class CommentListOptions(ListOptions):
    """Filter of a list of comments."""

    since: Since = None


class SearchOptions(ListOptions):
    """Order and page of a search."""

    order: Annotated[
        Literal["asc", "desc"] | None, Description("desc without one; only with `sort`")
    ] = None


class IssueSearchOptions(SearchOptions):
    """Order and page of a search of issues and pull requests."""

    sort: Annotated[
        Literal["comments", "created", "interactions", "reactions", "updated"] | None,
        Description("by best match without one"),
    ] = None


class RepositorySearchOptions(SearchOptions):
    """Order and page of a search of repositories."""

    sort: Annotated[
        Literal["forks", "help-wanted-issues", "stars", "updated"] | None,
        Description("by best match without one"),
    ] = None


class CommitListOptions(ListOptions):
    """Filter of a list of commits."""

    sha: Annotated[
        str | None,
        Description("the branch, tag or commit to begin at; the default branch without"),
        Field(min_length=1),
    ] = None
    path: Annotated[
        str | None, Description("only commits that change this file or folder"), Field(min_length=1)
    ] = None
    author: Annotated[
        str | None, Description("login or email address of their author"), Field(min_length=1)
    ] = None
    since: Annotated[
        Annotated[datetime, AfterValidator(_in_utc)] | None,
        Description("only commits of this time or later"),
    ] = None
    until: Annotated[
        Annotated[datetime, AfterValidator(_in_utc)] | None,
        Description("only commits of this time or earlier"),
    ] = None


class WorkflowRunListOptions(ListOptions):
    """Filter of a list of workflow runs."""

    branch: Annotated[str | None, Description("only runs for this branch"), Field(min_length=1)] = (
        None
    )
    event: Annotated[
        str | None,
        Description("only runs that this event began, such as push"),
        Field(min_length=1),
    ] = None
    status: Annotated[
        str | None,
        Description("only runs with this status or conclusion, such as in_progress or failure"),
        Field(min_length=1),
    ] = None
    actor: Annotated[str | None, Description("only runs of this login"), Field(min_length=1)] = None
    head_sha: Annotated[
        str | None, Description("only runs of this commit"), Field(min_length=1)
    ] = None


def parameter(value: Any) -> str:
    """Return a value as GitHub reads it in a query.

    Example:
        >>> parameter(["bug", "help wanted"]), parameter(True)
        ('bug,help wanted', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, list):
        return ",".join(map(parameter, value))
    return "long-running" if value == "longRunning" else str(value)
