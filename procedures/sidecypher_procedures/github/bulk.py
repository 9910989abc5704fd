"""Merges of the issues or pull requests of a repository from the pages of a list."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.github import rows, store
from sidecypher_procedures.github.entities import read_identity, read_issue, read_pull_request
from sidecypher_procedures.github.errors import GithubError, UnusableAnswer
from sidecypher_procedures.github.lists import List, Listed, Page, Read
from sidecypher_procedures.github.merges import MergeSource
from sidecypher_procedures.github.model import Target
from sidecypher_procedures.github.options import (
    IssueListOptions,
    MergeListOptions,
    PullRequestListOptions,
)
from sidecypher_procedures.github.store import Placed, Reported


def _with_identity(read: Read) -> Read:
    def read_both(json: Mapping[str, Any]) -> dict[str, Any]:
        return {**read(json), "identity": read_identity(json)}

    return read_both


_ISSUES: Final = List(rows.ListedIssue, "issues", _with_identity(read_issue))
_PULL_REQUESTS: Final = List(rows.ListedPullRequest, "pulls", _with_identity(read_pull_request))


@dataclass(slots=True)
class _Batch:
    """What was read of a list before anything is written.

    Attributes:
        cursor: The cursor after the last entry.
        things: The things to merge, by ``owner/name`` of their repository.
        read: Number of entries.
        skipped: Number of pull requests in a list of issues.
        is_done: Whether the list ended.
        error: The error that ended it.
    """

    cursor: str | None
    things: dict[str, list[Reported]] = field(default_factory=dict)
    read: int = 0
    skipped: int = 0
    is_done: bool = False
    error: GithubError | None = None

    def add(self, entry: Listed, repository: Target) -> None:
        """Add an entry of the list."""
        fields = entry.fields
        self.read += 1
        self.cursor = entry.cursor
        if fields.get("is_pull_request"):
            self.skipped += 1
            return
        identity = fields["identity"]
        if identity is None:
            raise UnusableAnswer(f"GitHub's list for `{repository}` does not say whose it is")
        home = identity.repository or str(repository)
        reported = Reported(fields, identity.user, entry.fetched_at)
        self.things.setdefault(home, []).append(reported)


async def merge_issues(
    ctx: Context, repository: Target, how: MergeListOptions
) -> rows.MergedList | None:
    """Merge issues from pages of a list with what surrounds them; return how many."""
    # The oldest first, so that what is new moves nothing to another page.
    filters = IssueListOptions(state=how.state, since=how.since, sort="created", direction="asc")
    first = Page.first(repository, _ISSUES.things, filters.query, how.cursor)
    source = MergeSource(ctx, how)
    batch = await _read(source.listed(_ISSUES, first, how.limit), repository, how)

    async def write() -> int:
        issues = [
            Placed(thing, home)
            for home, things in await _placed(source, repository, batch)
            for thing in things
        ]
        return len(await store.merge_issues(ctx, issues))

    return await _merged(ctx, how, batch, write)


async def merge_pull_requests(
    ctx: Context, repository: Target, how: MergeListOptions
) -> rows.MergedList | None:
    """Merge pull requests from pages of a list with what they resolve; return how many."""
    # GitHub cannot filter these by time, but sort them by it.
    filters = (
        PullRequestListOptions(state=how.state, sort="created", direction="asc")
        if how.since is None
        else PullRequestListOptions(state=how.state, sort="updated", direction="desc")
    )
    first = Page.first(repository, _PULL_REQUESTS.things, filters.query, how.cursor)
    source = MergeSource(ctx, how)
    entries = source.listed(_PULL_REQUESTS, first, how.limit)
    batch = await _read(entries, repository, how, until=how.since)

    async def write() -> int:
        pulls = [
            Placed(thing, home, resolves)
            for home, things in await _placed(source, repository, batch)
            for thing, resolves in zip(things, await source.resolved(things, home), strict=True)
        ]
        return len(await store.merge_pull_requests(ctx, pulls))

    return await _merged(ctx, how, batch, write)


async def _read(
    entries: AsyncIterator[Listed],
    repository: Target,
    how: MergeListOptions,
    until: datetime | None = None,
) -> _Batch:
    """Read a list up to the option `limit`, an error, or an entry older than `until`."""
    batch = _Batch(how.cursor)
    try:
        async for entry in entries:
            updated_at = entry.fields["updated_at"]
            if until is not None and updated_at is not None and updated_at < until:
                batch.is_done = True
                return batch
            batch.add(entry, repository)
    except GithubError as error:
        batch.error = error
    else:
        batch.is_done = batch.read < how.limit
    return batch


async def _placed(
    source: MergeSource, repository: Target, batch: _Batch
) -> list[tuple[Reported, list[Reported]]]:
    """Return the things with the repository that they are in now."""
    return [
        (await source.repository_of(repository, full_name), things)
        for full_name, things in batch.things.items()
    ]


async def _merged(
    ctx: Context, how: MergeListOptions, batch: _Batch, write: Callable[[], Awaitable[int]]
) -> rows.MergedList | None:
    """Write a batch; return its row, or the row or None for an error, as `on_error` says."""
    error = batch.error
    try:
        if error is not None and (how.on_error == "fail" or error.always_raised or not batch.read):
            raise error
        merged = await write()
    except GithubError as failure:
        ctx.log.debug("github.not_merged", code=failure.code)
        if how.on_error == "fail":
            raise
        return rows.instead(rows.MergedList, failure, how.on_error)
    return rows.MergedList(
        merged=merged,
        skipped=batch.skipped,
        cursor=batch.cursor,
        done=batch.is_done,
        error=rows.facts(error) if error is not None and how.on_error == "null" else None,
    )
