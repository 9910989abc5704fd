"""Merges: fetching all data from GitHub before anything is locked, then writing nodes."""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, Final

from sidecypher import Context, Node
from sidecypher_procedures.github import store
from sidecypher_procedures.github.client import GithubClient, Snapshot
from sidecypher_procedures.github.errors import (
    GithubError,
    Gone,
    NotAnIssue,
    NotFound,
    UnusableAnswer,
)
from sidecypher_procedures.github.lists import COMMENTS, List, Listed, Page, listed
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import CommentListOptions, FetchOptions
from sidecypher_procedures.github.rows import Merged, instead
from sidecypher_procedures.github.store import Placed, Reported, written

MOST_ISSUES: Final = 20
"""The most issues read from one text: each may cost a request, and anybody can write the text."""

MOST_PULLS: Final = 50
"""The most pull requests of a query: GitHub computes 500 000 nodes, and each has up to 100."""

# The most issues that the texts of one merge may name: each may cost a request.
_MOST_NAMED: Final = 2_000
_ISSUES_AT_A_TIME: Final = 20

# Unclosed blocks end with the text, which avoids quadratic searches.
_NOT_PROSE: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]*`", re.DOTALL
)
_KEYWORD: Final = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+"


def closed_issues(body: str, full_name: str, url: str) -> list[int]:
    """Return the numbers of the issues that a pull request's text closes in its own repository.

    The text may use the full name of the repository, ``owner/name``, or the URL of its page.

    Example:
        >>> url = "https://github.com/o/r"
        >>> closed_issues("Fixes #1, closes: o/r#2, resolves o/other#3.", "o/r", url)
        [1, 2]
    """
    places = "|".join((rf"(?:{re.escape(full_name)})?#", rf"{re.escape(url)}/issues/"))
    pattern = rf"{_KEYWORD}(?:{places})([1-9][0-9]{{0,17}})\b"
    prose = _NOT_PROSE.sub(" ", body)
    found = (int(number) for number in re.findall(pattern, prose, re.IGNORECASE))
    return list(dict.fromkeys(found))[:MOST_ISSUES]


class MergeSource:
    """Source of the data for one merge, fetched before anything is written or locked.

    It keeps the last `kept` seconds of the call for writing.
    """

    def __init__(self, ctx: Context, how: FetchOptions, *, kept: float = 0.0) -> None:
        self.how = how
        self._deadline = ctx.deadline
        self._kept = kept
        self._client = ctx.resource(GithubClient)
        self._repositories: dict[str, Reported] = {}
        self._named: dict[Target, Placed | None] = {}
        self._gate = asyncio.Semaphore(_ISSUES_AT_A_TIME)

    @property
    def may_read_texts(self) -> bool:
        """Whether the texts of as many pull requests as are resolved at once may still be read."""
        return len(self._named) + MOST_PULLS * MOST_ISSUES <= _MOST_NAMED

    async def get(self, target: Target) -> tuple[Reported, str | None]:
        """Return an entity, and ``owner/name`` of its current repository."""
        how = self.how
        found = await self._client.get(target, max_age=how.max_age, wait=self._wait(), api=how.api)
        full_name = found.identity.repository if found.identity is not None else None
        return _reported(found, target), full_name

    async def repository_of(self, target: Target, full_name: str | None) -> Reported:
        """Return the current repository of an issue, which may have been transferred."""
        owner, _, name = (full_name or "").partition("/")
        if not name:
            owner, name = target.owner, target.repo
        key = f"{owner}/{name}".lower()
        if key not in self._repositories:
            found, _ = await self.get(Target(Kind.REPOSITORY, owner, name))
            # By its name now too, which the entries of a renamed repository have.
            current = f"{found.fields['owner']}/{found.fields['name']}".lower()
            self._repositories[key] = self._repositories[current] = found
        return self._repositories[key]

    async def comments(self, issue: Target) -> list[dict[str, Any]]:
        """Return the comments of an issue."""
        first = Page.first(issue, "comments", CommentListOptions().query)
        found = listed(self._client, first, COMMENTS, self._wait)
        return [thing.fields async for thing in found]

    async def resolved(self, pulls: Sequence[Reported], repository: Reported) -> list[list[Placed]]:
        """Return the issues that each pull request closes, from GraphQL or else from its text."""
        if not pulls:
            return []
        if self.how.api == "rest" or not self._client.has_token:
            return await self._resolved_by_text(pulls, repository)
        fields = repository.fields
        targets = [
            Target(Kind.PULL_REQUEST, fields["owner"], fields["name"], pull.fields["number"])
            for pull in pulls
        ]
        found: list[list[Placed]] = []
        for start in range(0, len(targets), MOST_PULLS):
            group = targets[start : start + MOST_PULLS]
            closing = await self._client.closing(group, wait=self._wait())
            found += [
                [
                    Placed(written(_reported(issue, target)), written(_reported(home, target)))
                    for issue, home in each
                ]
                for target, each in zip(group, closing, strict=True)
            ]
        return found

    async def _resolved_by_text(
        self, pulls: Sequence[Reported], repository: Reported
    ) -> list[list[Placed]]:
        fields = repository.fields
        named = [
            closed_issues(pull.fields["body"] or "", fields["full_name"], fields["url"])
            if pull.fields["base_branch"] == fields["default_branch"]
            else []
            for pull in pulls
        ]
        issues = await self._issues(repository, sorted({n for numbers in named for n in numbers}))
        return [[issues[n] for n in numbers if n in issues] for numbers in named]

    async def _issues(self, repository: Reported, numbers: Sequence[int]) -> dict[int, Placed]:
        """Return the issues with these numbers that are in the repository."""
        owner, name = repository.fields["owner"], repository.fields["name"]
        targets = {number: Target(Kind.ISSUE, owner, name, number) for number in numbers}
        try:
            async with asyncio.TaskGroup() as group:
                for target in targets.values():
                    if target not in self._named:
                        group.create_task(self._name(target, repository))
        except ExceptionGroup as failures:
            # The first failure cancelled the other tasks.
            raise failures.exceptions[0] from None
        return {
            number: issue
            for number, target in targets.items()
            if (issue := self._named[target]) is not None
        }

    async def _name(self, target: Target, repository: Reported) -> None:
        """Note the issue of a number, None if the repository has none with it."""
        async with self._gate:
            try:
                found, full_name = await self.get(target)
            except (NotFound, Gone):
                self._named[target] = None
                return
        here = f"{target.owner}/{target.repo}"
        was_transferred = (full_name or here).lower() != here.lower()
        is_issue = not found.fields["is_pull_request"] and not was_transferred
        self._named[target] = Placed(written(found), repository) if is_issue else None

    def listed(self, wanted: List[Any], first: Page, limit: int) -> AsyncIterator[Listed]:
        """Yield the entities of a list, at most `limit`."""
        return listed(self._client, first, wanted, self._wait, limit)

    def _wait(self) -> float:
        return min(self.how.wait(self._deadline), self._deadline.remaining() - self._kept)


def _reported(found: Snapshot, target: Target) -> Reported:
    if found.identity is None:
        raise UnusableAnswer(f"GitHub's answer for `{target}` does not say whose it is")
    fields = found.fields
    return Reported(fields, found.identity.user, fields["fetched_at"])


async def write_repository(ctx: Context, source: MergeSource, target: Target) -> Node:
    """Merge the node of a repository, with its owner."""
    repository, _ = await source.get(target)
    return await store.merge_repository(ctx, repository)


async def write_issue(
    ctx: Context, source: MergeSource, target: Target, *, with_comments: bool
) -> Node:
    """Merge the node of an issue, with repository and author.

    Raises:
        NotAnIssue: It is a pull request.
    """
    issue, full_name = await source.get(target)
    if issue.fields["is_pull_request"]:
        raise NotAnIssue(f"`{target}` is a pull request, and gets no node of an issue")
    repository = await source.repository_of(target, full_name)
    comments = await source.comments(target) if with_comments else []
    [node] = await store.merge_issues(ctx, [Placed(issue, repository)])
    if comments:
        await store.merge_comments(ctx, issue, comments)
    return node


async def write_pull_request(ctx: Context, source: MergeSource, target: Target) -> Node:
    """Merge the node of a pull request, with the issues that it resolves."""
    pull, full_name = await source.get(target)
    repository = await source.repository_of(target, full_name)
    [resolves] = await source.resolved([pull], repository)
    [node] = await store.merge_pull_requests(ctx, [Placed(pull, repository, resolves)])
    return node


async def merged_row(
    ctx: Context, how: FetchOptions, work: Coroutine[Any, Any, Node]
) -> Merged | None:
    """Return the row of a merge, or the row or None for its error, as `on_error` says.

    Raises:
        GithubError: Nothing was written, for example because the entity does not exist. Raised
            with `on_error` ``fail``, or if the error cannot be hidden.
    """
    try:
        return Merged(node=await work, error=None)
    except GithubError as error:
        ctx.log.debug("github.not_merged", code=error.code)
        if how.on_error == "fail":
            raise
        return instead(Merged, error, how.on_error)
