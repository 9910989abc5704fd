"""Single things of GitHub, what is in memory of them, and what GitHub says of who asks."""

import asyncio
from dataclasses import asdict
from typing import Any, Final, TypeVar

from sidecypher import Context, EncodedRow, ProcedureError, procedure
from sidecypher_procedures.github.client import GithubClient, Snapshot
from sidecypher_procedures.github.errors import GithubError, InvalidOption
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.options import FetchOptions
from sidecypher_procedures.github.rows import (
    Credentials,
    Dropped,
    Issue,
    PullRequest,
    RateLimit,
    Repository,
    failed,
    instead,
)

R = TypeVar("R", Issue, PullRequest, Repository)

NO_OPTIONS: Final[dict[str, Any]] = {}


_Batch = list[tuple[Any, ...]]
_Entries = list[R | EncodedRow[R] | ProcedureError | None]


async def _issues(ctx: Context, rows: _Batch) -> "_Entries[Issue]":
    return await _fetch_many(ctx, Issue, Kind.ISSUE, rows)


async def _pull_requests(ctx: Context, rows: _Batch) -> "_Entries[PullRequest]":
    return await _fetch_many(ctx, PullRequest, Kind.PULL_REQUEST, rows)


async def _repositories(ctx: Context, rows: _Batch) -> "_Entries[Repository]":
    return await _fetch_many(ctx, Repository, Kind.REPOSITORY, rows)


@procedure("github.getIssue", mode="READ", timeout=30.0, batch=_issues)
async def get_issue(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> Issue | None:
    """Get an issue with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, Issue, Target(Kind.ISSUE, owner, repo, number), options)


@procedure("github.getPullRequest", mode="READ", timeout=30.0, batch=_pull_requests)
async def get_pull_request(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> PullRequest | None:
    """Get a pull request with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, PullRequest, Target(Kind.PULL_REQUEST, owner, repo, number), options)


@procedure("github.getRepository", mode="READ", timeout=30.0, batch=_repositories)
async def get_repository(
    ctx: Context, owner: str, name: str, options: dict[str, Any] = NO_OPTIONS
) -> Repository | None:
    """Get a repository with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, Repository, Target(Kind.REPOSITORY, owner, name), options)


@procedure("github.invalidate", mode="READ", timeout=5.0)
async def invalidate(ctx: Context, owner: str, repo: str, number: int | None = None) -> Dropped:
    """Drop what the sidecar has in memory of a repository and all in it, or of one number."""
    return Dropped(dropped=ctx.resource(GithubClient).invalidate(owner, repo, number))


@procedure("github.rateLimit", mode="READ", timeout=30.0)
async def rate_limit(ctx: Context) -> list[RateLimit]:
    """Tell how many requests GitHub still answers; no row where it has no limits."""
    wait = FetchOptions().wait(ctx.deadline)
    found = await ctx.resource(GithubClient).budgets(wait=wait)
    return [RateLimit(**asdict(budget)) for budget in found]


@procedure("github.credentials", mode="READ", timeout=30.0, admin=True)
async def credentials(ctx: Context) -> Credentials:
    """Tell who asks GitHub and whether GitHub accepts that, without any secret."""
    wait = FetchOptions().wait(ctx.deadline)
    found = await ctx.resource(GithubClient).standing(wait=wait)
    return Credentials(**asdict(found))


async def _fetch(ctx: Context, row: type[R], target: Target, options: dict[str, Any]) -> R | None:
    wanted = FetchOptions.parse(options)
    client = ctx.resource(GithubClient)
    try:
        found = await client.get(
            target, max_age=wanted.max_age, wait=wanted.wait(ctx.deadline), api=wanted.api
        )
    except GithubError as error:
        ctx.log.debug("github.no_row", code=error.code)
        return instead(row, error, wanted.on_error)
    given: R = found.row.decode()
    return given


async def _fetch_many(ctx: Context, row: type[R], kind: Kind, rows: _Batch) -> "_Entries[R]":
    """Fetch what rows with the same options want together."""
    entries: _Entries[R] = [None] * len(rows)
    groups: dict[FetchOptions, dict[int, Target]] = {}
    for index, (*names, options) in enumerate(rows):
        try:
            wanted = FetchOptions.parse(options)
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
        return instead(row, found, wanted.on_error)
    except GithubError as error:
        return failed(row, error)
