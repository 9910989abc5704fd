"""Merges of the issues or pull requests of a repository from the pages of a list."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sidecypher import Context, Node
from sidecypher_procedures.github import rows, store
from sidecypher_procedures.github.entities import read_identity, read_issue, read_pull_request
from sidecypher_procedures.github.errors import GithubError, UnusableAnswer
from sidecypher_procedures.github.lists import List, Listed, Page, Read
from sidecypher_procedures.github.merges import MOST_PULLS, MergeSource
from sidecypher_procedures.github.model import Target
from sidecypher_procedures.github.options import (
    IssueListOptions,
    MergeListOptions,
    PullRequestListOptions,
)
from sidecypher_procedures.github.store import Placed, Reported

# Ten thousand nodes take seconds, and longer while others hold the locks.
_WRITING_SHARE: Final = 0.2

_Place = Callable[[Sequence[Reported], Reported], Awaitable[list[Placed]]]
_Write = Callable[[Context, Sequence[Placed]], Awaitable[list[Node]]]


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
        placed: The things to merge.
        read: Number of entries.
        skipped: Number of pull requests in a list of issues.
        is_done: Whether the list ended.
        error: The error that ended it.
    """

    cursor: str | None
    placed: list[Placed] = field(default_factory=list)
    read: int = 0
    skipped: int = 0
    is_done: bool = False
    error: GithubError | None = None

    def add(self, entries: Sequence[Listed], placed: Sequence[Placed]) -> None:
        """Add entries of the list with the things that they are."""
        self.placed += placed
        self.read += len(entries)
        self.skipped += len(entries) - len(placed)
        self.cursor = entries[-1].cursor


async def merge_issues(
    ctx: Context, repository: Target, how: MergeListOptions
) -> rows.MergedList | None:
    """Merge issues from pages of a list with what surrounds them; return how many."""
    # The oldest first, so that what is new moves nothing to another page.
    filters = IssueListOptions(state=how.state, since=how.since, sort="created", direction="asc")
    first = Page.first(repository, _ISSUES.things, filters.query, how.cursor)
    source = _source(ctx, how)

    async def place(issues: Sequence[Reported], home: Reported) -> list[Placed]:
        return [Placed(store.written(issue), home) for issue in issues]

    entries = _usable(source.listed(_ISSUES, first, how.limit), repository)
    batch = await _read(source, entries, repository, how, place)
    return await _merged(ctx, how, batch, store.merge_issues)


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
    source = _source(ctx, how)

    async def place(pulls: Sequence[Reported], home: Reported) -> list[Placed]:
        resolved = await source.resolved(pulls, home)
        return [
            Placed(store.written(pull), home, resolves)
            for pull, resolves in zip(pulls, resolved, strict=True)
        ]

    entries = _usable(source.listed(_PULL_REQUESTS, first, how.limit), repository, how.since)
    batch = await _read(source, entries, repository, how, place)
    return await _merged(ctx, how, batch, store.merge_pull_requests)


def _source(ctx: Context, how: MergeListOptions) -> MergeSource:
    return MergeSource(ctx, how, kept=_WRITING_SHARE * ctx.deadline.remaining())


async def _usable(
    entries: AsyncIterator[Listed], repository: Target, until: datetime | None = None
) -> AsyncIterator[Listed]:
    """Yield the entries up to one older than `until`.

    Raises:
        UnusableAnswer: An entry cannot be merged; the ones before it were yielded.
    """
    async for entry in entries:
        fields = entry.fields
        updated_at = fields["updated_at"]
        if until is not None and updated_at is not None and updated_at < until:
            return
        if not fields.get("is_pull_request") and fields["identity"] is None:
            raise UnusableAnswer(f"GitHub's list for `{repository}` does not say whose it is")
        yield entry


async def _groups(entries: AsyncIterator[Listed]) -> AsyncIterator[list[Listed]]:
    """Yield the entries in groups; those before an error are yielded before it is raised."""
    group: list[Listed] = []
    failure: GithubError | None = None
    try:
        async for entry in entries:
            group.append(entry)
            if len(group) == MOST_PULLS:
                yield group
                group = []
    except GithubError as error:
        failure = error
    if group:
        yield group
    if failure is not None:
        raise failure


async def _read(
    source: MergeSource,
    entries: AsyncIterator[Listed],
    repository: Target,
    how: MergeListOptions,
    place: _Place,
) -> _Batch:
    """Read a list up to the option `limit`, an error, or the most issues that texts may name."""
    batch = _Batch(how.cursor)
    try:
        # Before the first page, so that what is read can be written whatever GitHub says next.
        await source.repository_of(repository, None)
        async for group in _groups(entries):
            batch.add(group, await _placed(source, repository, group, place))
            if not source.may_read_texts:
                return batch
    except GithubError as error:
        batch.error = error
    else:
        batch.is_done = batch.read < how.limit
    return batch


async def _placed(
    source: MergeSource, repository: Target, entries: Sequence[Listed], place: _Place
) -> list[Placed]:
    """Return the things to merge with the repository that they are in now."""
    things: dict[str | None, list[Reported]] = {}
    for entry in entries:
        if not entry.fields.get("is_pull_request"):
            identity = entry.fields["identity"]
            reported = Reported(entry.fields, identity.user, entry.fetched_at)
            things.setdefault(identity.repository, []).append(reported)
    placed: list[Placed] = []
    for full_name, found in things.items():
        placed += await place(found, await source.repository_of(repository, full_name))
    return placed


async def _merged(
    ctx: Context, how: MergeListOptions, batch: _Batch, write: _Write
) -> rows.MergedList | None:
    """Write a batch; return its row, or the row or None for an error, as `on_error` says."""
    error = batch.error
    if error is not None and (how.on_error == "fail" or error.always_raised or not batch.read):
        ctx.log.debug("github.not_merged", code=error.code)
        if how.on_error == "fail":
            raise error
        return rows.instead(rows.MergedList, error, how.on_error)
    merged = await write(ctx, batch.placed)
    # What is new or has changed in a part of a list may be on a page that was read.
    is_whole = how.state == "all" and how.since is None
    return rows.MergedList(
        merged=len(merged),
        skipped=batch.skipped,
        cursor=batch.cursor if is_whole or not batch.is_done else None,
        done=batch.is_done,
        error=rows.facts(error) if error is not None and how.on_error == "null" else None,
    )
