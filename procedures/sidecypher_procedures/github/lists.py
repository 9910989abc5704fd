"""Lists from GitHub, fetched page by page as they are read."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from msgspec import structs

from sidecypher import Context
from sidecypher_procedures.github import responses
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import (
    ShapeError,
    read_comment,
    read_issue,
    read_pull_request,
)
from sidecypher_procedures.github.errors import GithubError, Gone, UnusableAnswer
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import ListOptions
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.rows import Comment, Issue, PullRequest, instead

Read = Callable[[Mapping[str, Any]], dict[str, Any]]


class Page(Target, frozen=True, gc=False):
    """One page of what belongs to a repository or an issue.

    Attributes:
        place: Path and query below the base URL.

    Example:
        >>> Page.first(Target(Kind.REPOSITORY, "octocat", "Hello-World"), "issues", "a=b").path
        '/repos/octocat/Hello-World/issues?a=b'
    """

    place: str = ""

    @classmethod
    def first(cls, owner: Target, things: str, query: str) -> "Page":
        """Give the first page of the `things` of a repository or an issue."""
        place = f"{owner.path}/{things}?{query}"
        return cls(owner.kind, owner.owner, owner.repo, owner.number, place)

    def at(self, place: str) -> "Page":
        """Give another page of the same list."""
        return structs.replace(self, place=place)

    @property
    def path(self) -> str:
        """The path and query below the base URL."""
        return self.place

    @property
    def key(self) -> str:
        """What identifies the page, below its repository; the case of a cursor matters."""
        return f"{self.home}/{self.place}"


async def listed(
    client: GithubClient, first: Page, read: Read, wait: Callable[[], float]
) -> AsyncIterator[tuple[dict[str, Any], datetime]]:
    """Yield the columns of each thing in the list, with the time it was fetched.

    The next page is asked for when a caller wants more. What moves on to it because the list has
    changed meanwhile is given once.

    Args:
        client: Fetches the pages.
        first: The first page.
        read: Reads the columns of one thing.
        wait: Gives the seconds to wait for the next answer.

    Raises:
        NotFound: There is no list.
        Gone: The list was there, or is switched off.
        GithubError: A page cannot be had; what was before it has been given.
    """
    page: Page | None = first
    visited: set[str] = set()
    given: set[str] = set()
    while page is not None:
        if page.place in visited:
            raise UnusableAnswer(f"GitHub's list for `{page}` never ends")
        visited.add(page.place)
        reply, further = await client.page(page, wait=wait())
        fetched_at = client.now()
        for fields in _read_page(reply, page, read, fetched_at, is_first=page is first):
            if fields["id"] not in given:
                given.add(fields["id"])
                yield fields, fetched_at
        page = None if further is None else page.at(further)


def _read_page(
    reply: Reply, page: Page, read: Read, now: datetime, *, is_first: bool
) -> list[dict[str, Any]]:
    missing = responses.MISSING.get(reply.status)
    if missing is not None:
        # A list that ends half-way must not look complete, nor as if it had never been there.
        raise _absence(missing, page) if is_first else responses.failure(reply, page, now)
    try:
        return [read(item) for item in responses.items(reply, page)]
    except ShapeError as error:
        raise UnusableAnswer(f"GitHub's list for `{page}` cannot be read: {error}") from error


def _absence(missing: type[GithubError], page: Page) -> GithubError:
    if missing is Gone and page.kind is Kind.REPOSITORY:
        text = f"The repository `{page}` has its issues switched off"
        return Gone(text, details={"status": 410})
    return responses.absence(missing, page)


R = TypeVar("R", Issue, PullRequest, Comment)


@dataclass(frozen=True, slots=True)
class List(Generic[R]):
    """What a repository or an issue has many of: as rows, in a path and in JSON."""

    row: type[R]
    things: str
    read: Read


ISSUES: Final = List(Issue, "issues", read_issue)
PULL_REQUESTS: Final = List(PullRequest, "pulls", read_pull_request)
COMMENTS: Final = List(Comment, "comments", read_comment)


async def list_rows(
    ctx: Context, wanted: List[R], whose: Target, options: ListOptions
) -> AsyncIterator[R]:
    """Yield the rows of a list; an error that ends it becomes what the caller wants of errors."""
    first = Page.first(whose, wanted.things, options.query)
    client = ctx.resource(GithubClient)
    try:
        async for fields, fetched_at in listed(
            client, first, wanted.read, lambda: options.wait(ctx.deadline)
        ):
            yield wanted.row(**fields, fetched_at=fetched_at, stale=False, error=None)
    except GithubError as error:
        ctx.log.debug("github.list_ended", code=error.code)
        row = instead(wanted.row, error, options.on_error)
        if row is not None:
            yield row
