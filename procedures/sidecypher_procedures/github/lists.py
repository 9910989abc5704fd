"""Lists from GitHub, fetched page by page on demand."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import structs

from sidecypher import Context
from sidecypher_procedures.github import errors, responses, rows
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import (
    ShapeError,
    read_comment,
    read_issue,
    read_pull_request,
)
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import ListOptions

Read = Callable[[Mapping[str, Any]], dict[str, Any]]


class Page(Target, frozen=True, gc=False):
    """One page of a list of a repository or an issue.

    Attributes:
        place: Path and query below the base URL.
        digest: Digest of the list and its filters.
        done: Number of rows of the page that the caller has already.
        is_first: Whether it is the first page, so that a missing page means a missing list.

    Example:
        >>> page = Page.first(Target(Kind.REPOSITORY, "octocat", "Hello-World"), "issues", "a=b")
        >>> page.path
        '/repos/octocat/Hello-World/issues?a=b'
        >>> page.cursor(7).partition(" ")[2]
        '7 a=b'
    """

    place: str = ""
    digest: str = ""
    done: int = 0
    is_first: bool = True

    @classmethod
    def first(cls, owner: Target, things: str, query: str, cursor: str | None = None) -> "Page":
        """Return the first page of the `things` of a repository or an issue.

        With the cursor of a row, it is the page with the rows after that row.

        Raises:
            InvalidOption: The cursor belongs to another list.
        """
        digest = blake2b(f"{owner.key}/{things}?{query}".encode(), digest_size=6).hexdigest()
        done = "0"
        if cursor is not None:
            of, done, query = cursor.split(" ")
            if of != digest:
                raise errors.InvalidOption(
                    "The option `cursor` is of another list",
                    hint="Give the `cursor` of a row that has the same arguments and filters.",
                )
        # The path is never read from the cursor, which a caller may have forged.
        place = f"{owner.path}/{things}?{query}"
        return cls(
            *(owner.kind, owner.owner, owner.repo, owner.number, place, digest, int(done)),
            is_first=cursor is None,
        )

    def at(self, place: str) -> "Page":
        """Return another page of the same list."""
        return structs.replace(self, place=place, done=0, is_first=False)

    def cursor(self, done: int) -> str:
        """Return the cursor that continues after `done` rows of the page."""
        return f"{self.digest} {done} {self.place.partition('?')[2]}"

    @property
    def path(self) -> str:
        """The path and query below the base URL."""
        return self.place

    @property
    def key(self) -> str:
        """Key of the page, below that of its repository; a cursor in it is case-sensitive."""
        return f"{self.home}/{self.place}"


class Listed(NamedTuple):
    """An entity in a list: its columns, the time of its page, and the cursor after it."""

    fields: dict[str, Any]
    fetched_at: datetime
    cursor: str


async def listed(
    client: GithubClient,
    first: Page,
    read: Read,
    wait: Callable[[], float],
    limit: int | None = None,
) -> AsyncIterator[Listed]:
    """Yield each entity in the list, at most `limit`; all if it is None.

    The next page is fetched on demand. Entities that move to it because the list has changed
    meanwhile are yielded once.

    `wait` returns the seconds to wait for the next answer.

    Raises:
        NotFound: The list does not exist.
        Gone: The list was deleted or is switched off.
        GithubError: A page cannot be fetched; the ones before it were yielded.
    """
    page: Page | None = None if limit == 0 else first
    visited: set[str] = set()
    given: set[str] = set()
    while page is not None:
        if page.place in visited:
            raise errors.UnusableAnswer(f"GitHub's list for `{page}` never ends")
        visited.add(page.place)
        since = client.generation
        reply, further = await client.page(page, wait=wait())
        fetched_at = client.now()
        things = _read_page(reply, page, read, fetched_at)
        if read is read_issue:
            for json, fields in zip(responses.items(reply, page), things, strict=True):
                client.keep_issue(page, json, fields, reply, since)
        following = None if further is None else page.at(further)
        for done, fields in enumerate(things[page.done :], page.done + 1):
            if fields["id"] in given:
                continue
            given.add(fields["id"])
            # The cursor of the last row points to the next page, so this one is not fetched again.
            after = following if done == len(things) else None
            cursor = page.cursor(done) if after is None else after.cursor(0)
            yield Listed(fields, fetched_at, cursor)
            if len(given) == limit:
                return
        page = following


def _read_page(
    reply: responses.Reply, page: Page, read: Read, now: datetime
) -> list[dict[str, Any]]:
    missing = responses.MISSING.get(reply.status)
    if missing is not None:
        # A missing later page must look neither like the end nor like a missing list.
        if page.is_first:
            raise _absence(missing, page)
        error = responses.failure(reply, page, now)
        error.hint = "The list ended while it was read: begin again, without a `cursor`."
        raise error
    try:
        return [read(item) for item in responses.items(reply, page)]
    except ShapeError as error:
        raise errors.UnusableAnswer(
            f"GitHub's list for `{page}` cannot be read: {error}"
        ) from error


def _absence(missing: type[errors.GithubError], page: Page) -> errors.GithubError:
    if missing is errors.Gone and page.kind is Kind.REPOSITORY:
        text = f"The repository `{page}` has its issues switched off"
        return errors.Gone(text, details={"status": 410})
    return responses.absence(missing, page)


R = TypeVar("R", rows.ListedIssue, rows.ListedPullRequest, rows.Comment)


@dataclass(frozen=True, slots=True)
class List(Generic[R]):
    """A kind of list: its rows, its segment in a path, and the reader of its JSON."""

    row: type[R]
    things: str
    read: Read


ISSUES: Final = List(rows.ListedIssue, "issues", read_issue)
PULL_REQUESTS: Final = List(rows.ListedPullRequest, "pulls", read_pull_request)
COMMENTS: Final = List(rows.Comment, "comments", read_comment)


async def list_rows(
    ctx: Context, wanted: List[R], whose: Target, options: ListOptions
) -> AsyncIterator[R]:
    """Yield the rows of a list; an error is raised, hidden or becomes a row, as `on_error` says."""
    first = Page.first(whose, wanted.things, options.query, options.cursor)
    client = ctx.resource(GithubClient)
    try:
        async for thing in listed(
            client, first, wanted.read, lambda: options.wait(ctx.deadline), options.limit
        ):
            yield wanted.row(
                **thing.fields,
                fetched_at=thing.fetched_at,
                stale=False,
                error=None,
                cursor=thing.cursor,
            )
    except errors.GithubError as error:
        ctx.log.debug("github.list_ended", code=error.code)
        row = rows.instead(wanted.row, error, options.on_error)
        if row is not None:
            yield row
