"""`github.mergeRepository`, `github.mergeIssue` and `github.mergePullRequest`."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from sidecypher import Context, Node, procedure
from sidecypher_procedures.github import filters, merging
from sidecypher_procedures.github.client import GithubClient, Snapshot
from sidecypher_procedures.github.closing import closed_issues
from sidecypher_procedures.github.entities import read_comment
from sidecypher_procedures.github.errors import (
    GithubError,
    Gone,
    InvalidOption,
    NotAnIssue,
    NotFound,
    UnusableAnswer,
)
from sidecypher_procedures.github.merging import Resolved, Told
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.options import FetchOptions
from sidecypher_procedures.github.paging import Page, listed
from sidecypher_procedures.github.procedures import NO_OPTIONS
from sidecypher_procedures.github.rows import Merged, instead

_COMMENTS: Final = "comments"


@procedure("github.mergeRepository", mode="WRITE", timeout=300.0)
async def merge_repository(
    ctx: Context, owner: str, name: str, options: dict[str, Any] = NO_OPTIONS
) -> Merged | None:
    """Merge the node of a repository, with its owner; no row if there is no such repository."""
    source = _Source(ctx, FetchOptions.parse(options))
    return await _row(ctx, source.how, _merge_repository(ctx, source, _repository(owner, name)))


@procedure("github.mergeIssue", mode="WRITE", timeout=300.0)
async def merge_issue(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> Merged | None:
    """Merge the node of an issue, with repository and author; no row if there is no such issue."""
    source = _Source(ctx, FetchOptions.parse(options, [_COMMENTS]))
    work = _merge_issue(
        ctx, source, Target(Kind.ISSUE, owner, repo, number), with_comments=_flag(options)
    )
    return await _row(ctx, source.how, work)


@procedure("github.mergePullRequest", mode="WRITE", timeout=300.0)
async def merge_pull_request(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> Merged | None:
    """Merge the node of a pull request, with what it resolves; no row if there is no such one."""
    source = _Source(ctx, FetchOptions.parse(options))
    target = Target(Kind.PULL_REQUEST, owner, repo, number)
    return await _row(ctx, source.how, _merge_pull_request(ctx, source, target))


class _Source:
    """Fetches what one call merges, all of it before anything is written or locked."""

    def __init__(self, ctx: Context, how: FetchOptions) -> None:
        self.how = how
        self._deadline = ctx.deadline
        self._client = ctx.resource(GithubClient)

    async def get(self, target: Target) -> tuple[Told, str | None]:
        """Give a thing, and ``owner/name`` of the repository that it is in now."""
        how = self.how
        found = await self._client.get(target, max_age=how.max_age, wait=self._wait(), api=how.api)
        full_name = found.identity.repository if found.identity is not None else None
        return _told(found, target), full_name

    async def repository_of(self, target: Target, full_name: str | None) -> Told:
        """Give the repository that an issue is in: it may have been transferred."""
        owner, _, name = (full_name or "").partition("/")
        wanted = _repository(owner, name) if name else _repository(target.owner, target.repo)
        found, _ = await self.get(wanted)
        return found

    async def comments(self, issue: Target) -> list[dict[str, Any]]:
        first = Page.first(issue, "comments", filters.query({}, filters.COMMENTS))
        found = listed(self._client, first, read_comment, self._wait)
        return [fields async for fields, _ in found]

    async def resolved(self, pull: Told, repository: Told) -> list[Resolved]:
        """Give the issues that a pull request closes: by GitHub's word, or by its own text."""
        if self.how.api == "rest" or not self._client.has_token:
            return await self._resolved_by_text(pull, repository)
        fields = repository.fields
        target = Target(Kind.PULL_REQUEST, fields["owner"], fields["name"], pull.fields["number"])
        found = await self._client.closing(target, wait=self._wait())
        return [Resolved(_told(issue, target), _told(home, target)) for issue, home in found]

    async def _resolved_by_text(self, pull: Told, repository: Told) -> list[Resolved]:
        fields = repository.fields
        if pull.fields["base_branch"] != fields["default_branch"]:
            return []
        numbers = closed_issues(pull.fields["body"] or "", fields["full_name"], fields["url"])
        targets = [Target(Kind.ISSUE, fields["owner"], fields["name"], n) for n in numbers]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._issue(target)) for target in targets]
        except ExceptionGroup as failures:
            # The first one cancelled the others: they are not worth waiting for.
            raise failures.exceptions[0] from None
        return [Resolved(issue, repository) for task in tasks if (issue := task.result())]

    async def _issue(self, target: Target) -> Told | None:
        try:
            found, full_name = await self.get(target)
        except (NotFound, Gone):
            return None
        here = f"{target.owner}/{target.repo}"
        was_transferred = (full_name or here).lower() != here.lower()
        return None if found.fields["is_pull_request"] or was_transferred else found

    def _wait(self) -> float:
        return self.how.wait(self._deadline)


def _told(found: Snapshot, target: Target) -> Told:
    if found.identity is None:
        raise UnusableAnswer(f"GitHub's answer for `{target}` does not say whose it is")
    fields = found.fields
    return Told(fields, found.identity.user, fields["fetched_at"])


async def _merge_repository(ctx: Context, source: _Source, target: Target) -> Node:
    repository, _ = await source.get(target)
    return await merging.merge_repository(ctx, repository)


async def _merge_issue(
    ctx: Context, source: _Source, target: Target, *, with_comments: bool
) -> Node:
    issue, full_name = await source.get(target)
    if issue.fields["is_pull_request"]:
        raise NotAnIssue(f"`{target}` is a pull request, and gets no node of an issue")
    repository = await source.repository_of(target, full_name)
    comments = await source.comments(target) if with_comments else []
    return await merging.merge_issue(ctx, issue, repository, comments)


async def _merge_pull_request(ctx: Context, source: _Source, target: Target) -> Node:
    pull, full_name = await source.get(target)
    repository = await source.repository_of(target, full_name)
    resolves = await source.resolved(pull, repository)
    return await merging.merge_pull_request(ctx, pull, repository, resolves)


async def _row(ctx: Context, how: FetchOptions, work: Coroutine[Any, Any, Node]) -> Merged | None:
    try:
        return Merged(node=await work, error=None)
    except GithubError as error:
        ctx.log.debug("github.not_merged", code=error.code)
        return instead(Merged, error, how.on_error)


def _repository(owner: str, name: str) -> Target:
    return Target(Kind.REPOSITORY, owner, name)


def _flag(options: dict[str, Any]) -> bool:
    value = options.get(_COMMENTS)
    if value is not None and not isinstance(value, bool):
        raise InvalidOption(
            f"The option `{_COMMENTS}` must be a BOOLEAN", hint="Give true or false."
        )
    return bool(value)
