"""The procedures `github.*`, and the webhook for GitHub."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, TypeVar, cast

from sidecypher import (
    Context,
    EncodedRow,
    ProcedureError,
    WebhookAnswer,
    WebhookRequest,
    procedure,
    webhook,
)
from sidecypher_procedures.github import bulk, lists, rows
from sidecypher_procedures.github.client import GithubClient, Snapshot
from sidecypher_procedures.github.console import show_github  # noqa: F401 - offered here
from sidecypher_procedures.github.errors import GithubError, InvalidOption, no_token
from sidecypher_procedures.github.lists import list_rows, search_rows
from sidecypher_procedures.github.merges import (
    MergeSource,
    merged_row,
    write_issue,
    write_pull_request,
    write_repository,
)
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import (
    CommentListOptions,
    CommitListOptions,
    FetchOptions,
    GraphqlOptions,
    IssueListOptions,
    IssueSearchOptions,
    ListOptions,
    MergeIssueOptions,
    MergeListOptions,
    PullRequestListOptions,
    RawOptions,
    RepositorySearchOptions,
    WorkflowRunListOptions,
)
from sidecypher_procedures.github.raw import graphql_request, raw_rows, rest_request
from sidecypher_procedures.github.webhooks.effects import write_delivery
from sidecypher_procedures.github.webhooks.receiving import (
    check_headers,
    check_signature,
    receive_delivery,
)
from sidecypher_procedures.github.webhooks.writing import write_all

R = TypeVar("R", rows.Issue, rows.PullRequest, rows.Repository)

_Batch = list[tuple[Any, ...]]
_Entries = list[R | EncodedRow[R] | ProcedureError | None]


async def _issues(ctx: Context, calls: _Batch) -> "_Entries[rows.Issue]":
    return await _fetch_many(ctx, rows.Issue, Kind.ISSUE, calls)


async def _pull_requests(ctx: Context, calls: _Batch) -> "_Entries[rows.PullRequest]":
    return await _fetch_many(ctx, rows.PullRequest, Kind.PULL_REQUEST, calls)


async def _repositories(ctx: Context, calls: _Batch) -> "_Entries[rows.Repository]":
    return await _fetch_many(ctx, rows.Repository, Kind.REPOSITORY, calls)


@procedure("github.getIssue", mode="READ", timeout=30.0, batch=_issues, cache=0.0)
async def get_issue(
    ctx: Context, owner: str, repo: str, number: int, options: FetchOptions = FetchOptions()
) -> rows.Issue | None:
    """Get an issue with its live data from GitHub; no row if it does not exist."""
    return await _fetch(ctx, rows.Issue, Target(Kind.ISSUE, owner, repo, number), options)


@procedure("github.getPullRequest", mode="READ", timeout=30.0, batch=_pull_requests, cache=0.0)
async def get_pull_request(
    ctx: Context, owner: str, repo: str, number: int, options: FetchOptions = FetchOptions()
) -> rows.PullRequest | None:
    """Get a pull request with its live data from GitHub; no row if it does not exist."""
    return await _fetch(
        ctx, rows.PullRequest, Target(Kind.PULL_REQUEST, owner, repo, number), options
    )


@procedure("github.getRepository", mode="READ", timeout=30.0, batch=_repositories, cache=0.0)
async def get_repository(
    ctx: Context, owner: str, name: str, options: FetchOptions = FetchOptions()
) -> rows.Repository | None:
    """Get a repository with its live data from GitHub; no row if it does not exist."""
    return await _fetch(ctx, rows.Repository, Target(Kind.REPOSITORY, owner, name), options)


@procedure("github.invalidate", mode="READ", timeout=5.0)
async def invalidate(
    ctx: Context, owner: str, repo: str, number: int | None = None
) -> rows.Dropped:
    """Drop the cache entries of a repository and its content, or of one number in it."""
    return rows.Dropped(dropped=ctx.resource(GithubClient).invalidate(owner, repo, number))


@procedure("github.rateLimit", mode="READ", timeout=30.0)
async def rate_limit(ctx: Context) -> list[rows.RateLimit]:
    """List GitHub's rate limits and how much of them is left; no rows if GitHub has no limits."""
    wait = FetchOptions().wait(ctx.deadline)
    return await ctx.resource(GithubClient).budgets(wait=wait)


@procedure("github.credentials", mode="READ", timeout=30.0, admin=True)
async def credentials(ctx: Context) -> rows.Credentials:
    """Return the source of the credential and whether GitHub accepts it, without any secret."""
    wait = FetchOptions().wait(ctx.deadline)
    return await ctx.resource(GithubClient).credentials(wait=wait)


async def _fetch(ctx: Context, row: type[R], target: Target, wanted: FetchOptions) -> R | None:
    client = ctx.resource(GithubClient)
    try:
        found = await client.get(
            target, max_age=wanted.max_age, wait=wanted.wait(ctx.deadline), api=wanted.api
        )
    except GithubError as error:
        ctx.log.debug("github.no_row", code=error.code)
        return rows.instead(row, error, wanted.on_error)
    seconds, tags = client.kept(target, wanted.max_age)
    ctx.cache(seconds, *tags)
    # It is checked and written already; the annotation names the row all the same.
    return cast("R", found.row)


async def _fetch_many(ctx: Context, row: type[R], kind: Kind, calls: _Batch) -> "_Entries[R]":
    """Fetch the targets of many calls, together for each distinct set of options."""
    entries: _Entries[R] = [None] * len(calls)
    groups: dict[FetchOptions, dict[int, Target]] = {}
    for index, (*names, wanted) in enumerate(calls):
        try:
            groups.setdefault(wanted, {})[index] = Target(kind, *names)
        except GithubError as error:
            entries[index] = error
    client = ctx.resource(GithubClient)

    async def fetch(wanted: FetchOptions, group: dict[int, Target]) -> None:
        try:
            found = await client.get_many(
                group.values(),
                max_age=wanted.max_age,
                wait=wanted.wait(ctx.deadline),
                api=wanted.api,
            )
        except InvalidOption as error:
            for index in group:
                entries[index] = error
            return
        for index, each in zip(group, found, strict=True):
            entries[index] = _entry(row, each, wanted)

    await asyncio.gather(*(fetch(wanted, group) for wanted, group in groups.items()))
    return entries


def _entry(
    row: type[R], found: Snapshot | GithubError, wanted: FetchOptions
) -> R | EncodedRow[R] | None:
    if not isinstance(found, GithubError):
        return found.row
    try:
        return rows.instead(row, found, wanted.on_error)
    except GithubError as error:
        return rows.failed(row, error)


@procedure("github.rest", mode="READ", timeout=300.0)
async def rest(
    ctx: Context,
    path: str,
    params: dict[str, Any] = {},  # noqa: B006 - it is copied for each call
    options: RawOptions = RawOptions(),
) -> AsyncIterator[rows.RawValue]:
    """Get a path of GitHub's REST API: a row for each entry of a list, else one row."""
    async for row in raw_rows(ctx, rest_request(path, params), options):
        yield row


@procedure("github.graphql", mode="READ", timeout=300.0)
async def graphql(
    ctx: Context,
    query: str,
    variables: dict[str, Any] = {},  # noqa: B006 - it is copied for each call
    options: GraphqlOptions = GraphqlOptions(),
) -> AsyncIterator[rows.RawValue]:
    """Send a query to GitHub's GraphQL API: a row with its data for each page."""
    # In a thread, since a long document would hold up all other calls.
    asked = await asyncio.to_thread(
        graphql_request, query, variables, options, options.operation_name
    )
    if not ctx.resource(GithubClient).has_token:
        raise no_token("`github.graphql` cannot be called")
    async for row in raw_rows(ctx, asked, options):
        yield row


@procedure("github.listIssues", mode="READ", timeout=300.0)
async def list_issues(
    ctx: Context, owner: str, repo: str, options: IssueListOptions = IssueListOptions()
) -> AsyncIterator[rows.ListedIssue]:
    """List the issues of a repository, pull requests among them, page by page."""
    async for row in list_rows(ctx, lists.ISSUES, Target(Kind.REPOSITORY, owner, repo), options):
        yield row


@procedure("github.listPullRequests", mode="READ", timeout=300.0)
async def list_pull_requests(
    ctx: Context, owner: str, repo: str, options: PullRequestListOptions = PullRequestListOptions()
) -> AsyncIterator[rows.ListedPullRequest]:
    """List the pull requests of a repository, page by page."""
    async for row in list_rows(
        ctx, lists.PULL_REQUESTS, Target(Kind.REPOSITORY, owner, repo), options
    ):
        yield row


@procedure("github.listComments", mode="READ", timeout=300.0)
async def list_comments(
    ctx: Context,
    owner: str,
    repo: str,
    number: int,
    options: CommentListOptions = CommentListOptions(),
) -> AsyncIterator[rows.Comment]:
    """List the comments of an issue or a pull request, the oldest first, page by page."""
    async for row in list_rows(
        ctx, lists.COMMENTS, Target(Kind.ISSUE, owner, repo, number), options
    ):
        yield row


@procedure("github.listReviews", mode="READ", timeout=300.0)
async def list_reviews(
    ctx: Context, owner: str, repo: str, number: int, options: ListOptions = ListOptions()
) -> AsyncIterator[rows.Review]:
    """List the reviews of a pull request, the oldest first, page by page."""
    target = Target(Kind.PULL_REQUEST, owner, repo, number)
    async for row in list_rows(ctx, lists.REVIEWS, target, options):
        yield row


@procedure("github.listFiles", mode="READ", timeout=300.0)
async def list_files(
    ctx: Context, owner: str, repo: str, number: int, options: ListOptions = ListOptions()
) -> AsyncIterator[rows.File]:
    """List the files that a pull request changes, page by page; GitHub lists at most 3 000."""
    target = Target(Kind.PULL_REQUEST, owner, repo, number)
    async for row in list_rows(ctx, lists.FILES, target, options):
        yield row


@procedure("github.listCommits", mode="READ", timeout=300.0)
async def list_commits(
    ctx: Context, owner: str, repo: str, options: CommitListOptions = CommitListOptions()
) -> AsyncIterator[rows.Commit]:
    """List the commits of a repository, the newest first, page by page."""
    target = Target(Kind.REPOSITORY, owner, repo)
    async for row in list_rows(ctx, lists.COMMITS, target, options):
        yield row


@procedure("github.listReleases", mode="READ", timeout=300.0)
async def list_releases(
    ctx: Context, owner: str, repo: str, options: ListOptions = ListOptions()
) -> AsyncIterator[rows.Release]:
    """List the releases of a repository, the newest first, page by page."""
    target = Target(Kind.REPOSITORY, owner, repo)
    async for row in list_rows(ctx, lists.RELEASES, target, options):
        yield row


@procedure("github.listWorkflowRuns", mode="READ", timeout=300.0)
async def list_workflow_runs(
    ctx: Context, owner: str, repo: str, options: WorkflowRunListOptions = WorkflowRunListOptions()
) -> AsyncIterator[rows.WorkflowRun]:
    """List the workflow runs of a repository, the newest first, page by page."""
    target = Target(Kind.REPOSITORY, owner, repo)
    async for row in list_rows(ctx, lists.WORKFLOW_RUNS, target, options):
        yield row


@procedure("github.searchIssues", mode="READ", timeout=300.0)
async def search_issues(
    ctx: Context, query: str, options: IssueSearchOptions = IssueSearchOptions()
) -> AsyncIterator[rows.FoundIssue]:
    """Search issues and pull requests by GitHub's syntax; GitHub returns at most 1 000."""
    async for row in search_rows(ctx, lists.FOUND_ISSUES, query, options):
        yield row


@procedure("github.searchRepositories", mode="READ", timeout=300.0)
async def search_repositories(
    ctx: Context, query: str, options: RepositorySearchOptions = RepositorySearchOptions()
) -> AsyncIterator[rows.FoundRepository]:
    """Search repositories by GitHub's syntax; GitHub returns at most 1 000."""
    async for row in search_rows(ctx, lists.FOUND_REPOSITORIES, query, options):
        yield row


@procedure("github.searchCode", mode="READ", timeout=300.0)
async def search_code(
    ctx: Context, query: str, options: ListOptions = ListOptions()
) -> AsyncIterator[rows.FoundFile]:
    """Search code on default branches by GitHub's syntax; it needs a token."""
    async for row in search_rows(ctx, lists.FOUND_FILES, query, options):
        yield row


@procedure("github.mergeRepository", mode="WRITE", timeout=300.0)
async def merge_repository(
    ctx: Context, owner: str, name: str, options: FetchOptions = FetchOptions()
) -> rows.Merged | None:
    """Merge the node of a repository, with its owner; an error if it does not exist."""
    source = MergeSource(ctx, options)
    target = Target(Kind.REPOSITORY, owner, name)
    return await merged_row(ctx, source.how, write_repository(ctx, source, target))


@procedure("github.mergeIssue", mode="WRITE", timeout=300.0)
async def merge_issue(
    ctx: Context,
    owner: str,
    repo: str,
    number: int,
    options: MergeIssueOptions = MergeIssueOptions(),
) -> rows.Merged | None:
    """Merge the node of an issue, with repository and author; an error if it does not exist."""
    source = MergeSource(ctx, options)
    work = write_issue(
        ctx, source, Target(Kind.ISSUE, owner, repo, number), with_comments=options.comments
    )
    return await merged_row(ctx, source.how, work)


@procedure("github.mergePullRequest", mode="WRITE", timeout=300.0)
async def merge_pull_request(
    ctx: Context, owner: str, repo: str, number: int, options: FetchOptions = FetchOptions()
) -> rows.Merged | None:
    """Merge the node of a pull request, with what it resolves; an error if it does not exist."""
    source = MergeSource(ctx, options)
    target = Target(Kind.PULL_REQUEST, owner, repo, number)
    return await merged_row(ctx, source.how, write_pull_request(ctx, source, target))


@procedure("github.mergeIssues", mode="WRITE", timeout=300.0)
async def merge_issues(
    ctx: Context, owner: str, repo: str, options: MergeListOptions = MergeListOptions()
) -> rows.MergedList | None:
    """Merge the nodes of many issues from pages of a list; pull requests are skipped."""
    return await bulk.merge_issues(ctx, Target(Kind.REPOSITORY, owner, repo), options)


@procedure("github.mergePullRequests", mode="WRITE", timeout=300.0)
async def merge_pull_requests(
    ctx: Context, owner: str, repo: str, options: MergeListOptions = MergeListOptions()
) -> rows.MergedList | None:
    """Merge the nodes of many pull requests from pages of a list, with what they resolve."""
    return await bulk.merge_pull_requests(ctx, Target(Kind.REPOSITORY, owner, repo), options)


@procedure("github.receiveWebhook", mode="WRITE", timeout=30.0, admin=True)
async def receive_webhook(
    ctx: Context, delivery: str, event: str, payload: str, received_at: datetime | None = None
) -> rows.Received:
    """Write a webhook delivery from GitHub to the graph, unless it was written before."""
    return await write_delivery(ctx, delivery, event, payload, received_at)


@webhook("/webhooks/github", check=check_headers, verify=check_signature, background=write_all)
async def receive(request: WebhookRequest) -> WebhookAnswer:
    """Receive a delivery from GitHub."""
    return await receive_delivery(request)
