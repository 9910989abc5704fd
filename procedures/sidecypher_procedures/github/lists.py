"""`github.listIssues`, `github.listPullRequests` and `github.listComments`."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sidecypher import Context, procedure
from sidecypher_procedures.github import filters
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import read_comment, read_issue, read_pull_request
from sidecypher_procedures.github.errors import GithubError
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.options import FetchOptions
from sidecypher_procedures.github.paging import Page, Read, listed
from sidecypher_procedures.github.procedures import NO_OPTIONS
from sidecypher_procedures.github.rows import Comment, Issue, PullRequest, instead

R = TypeVar("R", Issue, PullRequest, Comment)


@dataclass(frozen=True, slots=True)
class _List(Generic[R]):
    """What a repository or an issue has many of: as rows, in a path, in JSON and in options."""

    row: type[R]
    things: str
    read: Read
    filters: Mapping[str, filters.Reader]


# Lists are REST's alone.
_MEANINGLESS: Final = ("api",)

_ISSUES: Final = _List(Issue, "issues", read_issue, filters.ISSUES)
_PULL_REQUESTS: Final = _List(PullRequest, "pulls", read_pull_request, filters.PULL_REQUESTS)
_COMMENTS: Final = _List(Comment, "comments", read_comment, filters.COMMENTS)


@procedure("github.listIssues", mode="READ", timeout=300.0)
async def list_issues(
    ctx: Context, owner: str, repo: str, options: dict[str, Any] = NO_OPTIONS
) -> AsyncIterator[Issue]:
    """List the issues of a repository, pull requests among them, page by page."""
    async for row in _rows(ctx, _ISSUES, Target(Kind.REPOSITORY, owner, repo), options):
        yield row


@procedure("github.listPullRequests", mode="READ", timeout=300.0)
async def list_pull_requests(
    ctx: Context, owner: str, repo: str, options: dict[str, Any] = NO_OPTIONS
) -> AsyncIterator[PullRequest]:
    """List the pull requests of a repository, page by page."""
    async for row in _rows(ctx, _PULL_REQUESTS, Target(Kind.REPOSITORY, owner, repo), options):
        yield row


@procedure("github.listComments", mode="READ", timeout=300.0)
async def list_comments(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> AsyncIterator[Comment]:
    """List the comments of an issue or a pull request, the oldest first, page by page."""
    async for row in _rows(ctx, _COMMENTS, Target(Kind.ISSUE, owner, repo, number), options):
        yield row


async def _rows(
    ctx: Context, wanted: _List[R], whose: Target, options: Mapping[str, Any]
) -> AsyncIterator[R]:
    how = FetchOptions.parse(options, wanted.filters, without=_MEANINGLESS)
    first = Page.first(whose, wanted.things, filters.query(options, wanted.filters))
    client = ctx.resource(GithubClient)
    try:
        async for fields, fetched_at in listed(
            client, first, wanted.read, lambda: how.wait(ctx.deadline)
        ):
            yield wanted.row(**fields, fetched_at=fetched_at, stale=False, error=None)
    except GithubError as error:
        ctx.log.debug("github.list_ended", code=error.code)
        row = instead(wanted.row, error, how.on_error)
        if row is not None:
            yield row
