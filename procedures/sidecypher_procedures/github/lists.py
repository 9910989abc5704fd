"""Lists from GitHub, fetched page by page on demand."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar
from urllib.parse import urlencode

from msgspec import structs

from sidecypher import Context, Row
from sidecypher_procedures.github import activity, errors, responses, rows
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.entities import (
    ShapeError,
    read_comment,
    read_issue,
    read_pull_request,
    read_repository,
)
from sidecypher_procedures.github.model import Kind, Resource, Target
from sidecypher_procedures.github.options import ListOptions

Read = Callable[[Mapping[str, Any]], dict[str, Any]]

# In bytes: servers accept URLs of 8 kB. GitHub allows 256 characters without operators and
# qualifiers, and more with them.
_LONGEST_SEARCH: Final = 6_000


class Page(Resource, frozen=True, gc=False):
    """One page of a list.

    Attributes:
        whose: The repository, issue or pull request whose list it is; None for a search.
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

    whose: Target | None = None
    digest: str = ""
    done: int = 0
    is_first: bool = True

    @classmethod
    def first(cls, whose: Target, things: str, query: str, cursor: str | None = None) -> "Page":
        """Return the first page of the `things` of a repository, an issue or a pull request.

        With the cursor of a row, it is the page with the rows after that row.

        Raises:
            InvalidOption: The cursor belongs to another list.
        """
        list_ = cls(
            *(whose.kind.value, str(whose), whose.home, f"{whose.path}/{things}"), whose=whose
        )
        return list_.begin(f"{whose.key}/{things}?{query}", query, cursor)

    @classmethod
    def search(cls, things: str, query: str, cursor: str | None = None) -> "Page":
        """Return the first page of a search, or with a cursor the page after that row.

        Raises:
            InvalidOption: The cursor belongs to another list.
        """
        path = f"/search/{things}"
        return cls("search", things, "", path).begin(f"{path}?{query}", query, cursor)

    def begin(self, list_key: str, query: str, cursor: str | None) -> Self:
        """Return the page of the query, or with a cursor the one with the rows after its row."""
        digest = blake2b(list_key.encode(), digest_size=6).hexdigest()
        done = "0"
        if cursor is not None:
            of, done, query = cursor.split(" ")
            if of != digest:
                raise errors.InvalidOption(
                    "The option `cursor` is of another list",
                    hint="Give the `cursor` of a row that has the same arguments and filters.",
                )
        # The path is never read from the cursor, which a caller may have forged.
        path = f"{self.path}?{query}"
        return structs.replace(
            self, path=path, digest=digest, done=int(done), is_first=cursor is None
        )

    def at(self, path: str) -> Self:
        """Return another page of the same list."""
        return structs.replace(self, path=path, done=0, is_first=False)

    def cursor(self, done: int) -> str:
        """Return the cursor that continues after `done` rows of the page."""
        return f"{self.digest} {done} {self.path.partition('?')[2]}"


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class List(Generic[R]):
    """A kind of list: its rows, its segment in a path, the reader of its JSON, and its key.

    The column `key` has another value in each row of a list.
    """

    row: type[R]
    things: str
    read: Read
    key: str = "id"


ISSUES: Final = List(rows.ListedIssue, "issues", read_issue)
PULL_REQUESTS: Final = List(rows.ListedPullRequest, "pulls", read_pull_request)
COMMENTS: Final = List(rows.Comment, "comments", read_comment)
REVIEWS: Final = List(rows.Review, "reviews", activity.read_review)
FILES: Final = List(rows.File, "files", activity.read_file, "path")
COMMITS: Final = List(rows.Commit, "commits", activity.read_commit, "sha")
RELEASES: Final = List(rows.Release, "releases", activity.read_release)
WORKFLOW_RUNS: Final = List(rows.WorkflowRun, "actions/runs", activity.read_workflow_run)
FOUND_ISSUES: Final = List(rows.FoundIssue, "issues", activity.read_found_issue)
FOUND_REPOSITORIES: Final = List(rows.FoundRepository, "repositories", read_repository)
FOUND_FILES: Final = List(rows.FoundFile, "code", activity.read_found_file, "url")


class Listed(NamedTuple):
    """An entity in a list: its columns, the time of its page, and the cursor after it."""

    fields: dict[str, Any]
    fetched_at: datetime
    cursor: str


async def listed(
    client: GithubClient,
    first: Page,
    wanted: List[R],
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
        if page.path in visited:
            raise errors.UnusableAnswer(f"GitHub's list for `{page}` never ends")
        visited.add(page.path)
        since = client.generation
        reply, further = await client.page(page, wait=wait())
        fetched_at = client.now()
        things = _read_page(reply, page, wanted.read, fetched_at)
        if wanted is ISSUES and page.whose is not None:
            for json, fields in zip(responses.items(reply, page), things, strict=True):
                client.keep_issue(page.whose, json, fields, reply, since)
        following = None if further is None else page.at(further)
        for done, fields in enumerate(things[page.done :], page.done + 1):
            if fields[wanted.key] in given:
                continue
            given.add(fields[wanted.key])
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
        found = [read(item) for item in responses.items(reply, page)]
    except ShapeError as error:
        raise errors.UnusableAnswer(
            f"GitHub's list for `{page}` cannot be read: {error}"
        ) from error
    if page.whose is None:
        incomplete = responses.is_incomplete(reply)
        return [{**fields, "incomplete": incomplete} for fields in found]
    return found


def _absence(missing: type[errors.GithubError], page: Page) -> errors.GithubError:
    if missing is errors.Gone and page.kind == Kind.REPOSITORY.value:
        text = f"The repository `{page}` has its issues switched off"
        return errors.Gone(text, details={"status": 410})
    return responses.absence(missing, page)


def list_rows(
    ctx: Context, wanted: List[R], whose: Target, options: ListOptions
) -> AsyncIterator[R]:
    """Yield the rows of a list; an error is raised, hidden or becomes a row, as `on_error` says."""
    first = Page.first(whose, wanted.things, options.query, options.cursor)
    return _rows(ctx, wanted, first, options)


def search_rows(
    ctx: Context, wanted: List[R], query: str, options: ListOptions
) -> AsyncIterator[R]:
    """Yield the rows of a search, as `list_rows` does for a list.

    Raises:
        InvalidRequest: The query is empty, or longer than a URL can be.
    """
    asked = urlencode({"q": query})
    if not query or len(asked) > _LONGEST_SEARCH:
        raise errors.InvalidRequest(
            f"A search needs a query of 1 to {_LONGEST_SEARCH} bytes in a URL",
            hint="Give a query such as 'repo:octocat/Hello-World is:open label:bug'.",
        )
    parameters = f"{asked}&{options.query}"
    return _rows(ctx, wanted, Page.search(wanted.things, parameters, options.cursor), options)


async def _rows(
    ctx: Context, wanted: List[R], first: Page, options: ListOptions
) -> AsyncIterator[R]:
    client = ctx.resource(GithubClient)
    try:
        async for thing in listed(
            client, first, wanted, lambda: options.wait(ctx.deadline), options.limit
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
