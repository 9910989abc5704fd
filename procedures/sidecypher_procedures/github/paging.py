"""Lists from GitHub, fetched page by page as they are read."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

from sidecypher_procedures.github import outcomes
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import ShapeError
from sidecypher_procedures.github.errors import GithubError, Gone, UnusableAnswer
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.replies import Reply

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
        for fields in _read(reply, page, read, fetched_at, is_first=page is first):
            if fields["id"] not in given:
                given.add(fields["id"])
                yield fields, fetched_at
        page = None if further is None else page.at(further)


def _read(
    reply: Reply, page: Page, read: Read, now: datetime, *, is_first: bool
) -> list[dict[str, Any]]:
    missing = outcomes.MISSING.get(reply.status)
    if missing is not None:
        # A list that ends half-way must not look complete, nor as if it had never been there.
        raise _absence(missing, page) if is_first else outcomes.failure(reply, page, now)
    try:
        return [read(item) for item in outcomes.items(reply, page)]
    except ShapeError as error:
        raise UnusableAnswer(f"GitHub's list for `{page}` cannot be read: {error}") from error


def _absence(missing: type[GithubError], page: Page) -> GithubError:
    if missing is Gone and page.kind is Kind.REPOSITORY:
        text = f"The repository `{page}` has its issues switched off"
        return Gone(text, details={"status": 410})
    return outcomes.absence(missing, page)
