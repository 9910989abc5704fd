"""Statements of `ctx.run` and their results, which arrive page by page.

A result's pages are a chain. An iterator holds its current page, and only the `Result` holds the
first one. So records can be read several times, but a loop over `ctx.run(...)` keeps only one page
in memory.
"""

import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from functools import partial
from itertools import islice
from typing import Any

from sidecypher.errors import ArgumentError, ContextExpired, CypherError
from sidecypher.protocol.envelope import CallBackRequest, CursorRequest, RunReply, RunRequest
from sidecypher.sdk.call import Call
from sidecypher.values.coders import decode_all

Record = dict[str, Any]
"""One record of a statement: values by column name."""

Submit = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
"""Runs a function on the thread that serves the call, and waits for it on the event loop."""


class _Page:
    """Some records, and the next page once it is fetched."""

    __slots__ = ("next", "records")

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.next: _Page | None = None


class Cursor:
    """Position in a result after its last fetched page.

    Attributes:
        more: Whether the JVM has more records.
    """

    __slots__ = ("__weakref__", "_broken", "_last", "_statements", "more", "number")

    def __init__(self, statements: "Statements", number: int, first: _Page) -> None:
        self.number = number
        self.more = True
        self._statements = statements
        self._last = first
        self._broken: Exception | None = None

    def follow(self, page: _Page) -> _Page | None:
        """Return the page after `page`, or None; fetch it if necessary."""
        if page.next is None:
            if self._broken is not None:
                raise self._broken
            if self.more:
                self.fetch()
        return page.next

    def fetch(self) -> None:
        """Fetch a page and add it to the chain.

        Raises:
            CypherError: The statement failed; the call is doomed.
        """
        try:
            records, self.more = self._statements.fetch(self.number)
        except Exception as error:
            # The records of this page are lost, so no later ones may be read in their place.
            self._broken, self.more = error, False
            raise
        self._last.next = page = _Page(records)
        self._last = page

    def close(self) -> None:
        """Stop fetching; iterators that need another page raise `ContextExpired`."""
        if self.more:
            self._broken, self.more = _closed(), False

    def fetch_all(self) -> None:
        """Fetch all remaining pages."""
        while self.more:
            self.fetch()


class Statements:
    """The statements of one call, used on the thread that serves it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._count = 0
        self._open: dict[int, weakref.ref[Cursor]] = {}

    def run(self, cypher: str, params: dict[str, Any]) -> tuple[_Page, Cursor | None]:
        """Run a statement; return its first page, and a cursor for the others.

        Raises:
            CypherError: It failed; the call is doomed.
        """
        # Otherwise a statement could change rows that an earlier one has yet to read.
        if self._open:
            self._finish_open_results()
        self._count += 1
        number = self._count
        records, more = self._send("run", RunRequest(self._call.call_id, number, cypher, params))
        page = _Page(records)
        if not more:
            return page, None
        cursor = Cursor(self, number, page)
        self._open[number] = weakref.ref(cursor)
        return page, cursor

    def fetch(self, number: int) -> tuple[list[Record], bool]:
        """Return the next page of an open result, and whether there are more."""
        self._call.check()
        records, more = self._send("next", CursorRequest(self._call.call_id, number))
        if not more:
            del self._open[number]
        return records, more

    def _finish_open_results(self) -> None:
        """Fetch the rest of open results, and discard those that nothing refers to."""
        for number, reference in list(self._open.items()):
            cursor = reference()
            if cursor is not None and cursor.more:
                cursor.fetch_all()
            else:
                del self._open[number]
                self._send("discard", CursorRequest(self._call.call_id, number))

    def _send(self, method: str, message: CallBackRequest) -> tuple[list[Record], bool]:
        reply = self._call.call_back(method, message)
        check_reply(self._call, reply)
        columns = [decode_all(column) for column in zip(*reply.rows, strict=True)]
        names = reply.columns
        return [dict(zip(names, row)) for row in zip(*columns, strict=True)], reply.more  # noqa: B905


def check_reply(call: Call, reply: RunReply) -> None:
    """Raise if a statement failed.

    Raises:
        CypherError: It failed; the call is doomed.
    """
    if reply.error is not None:
        failure = CypherError(reply.error.message, neo4j_code=reply.error.code)
        call.failure = call.failure or failure
        raise call.failure


class Result:
    """Records of a statement, each a dict by column name.

    In a plain function, iterate over it. In an async one, `await` it to fetch all records, or use
    `async for` to fetch them page by page. Records can be read several times. A loop over
    `ctx.run(...)` itself keeps only one page of them in memory.

    Example:
        >>> list(Result.of([{"n": 1}]))
        [{'n': 1}]
    """

    __slots__ = ("_begin", "_cursor", "_is_closed", "_page", "_submit")

    def __init__(
        self,
        page: _Page | None,
        cursor: Cursor | None = None,
        begin: Coroutine[Any, Any, tuple[_Page, Cursor | None]] | None = None,
        submit: Submit | None = None,
    ) -> None:
        self._page = page
        self._cursor = cursor
        self._begin = begin
        self._submit = submit
        self._is_closed = False

    @classmethod
    def of(cls, records: list[Record]) -> "Result":
        """Return a result of these records."""
        return cls(_Page(records))

    @classmethod
    def later(cls, begin: Callable[[], tuple[_Page, Cursor | None]], submit: Submit) -> "Result":
        """Return the result of a statement that an async function has yet to await."""
        # A coroutine, because Python itself warns of one that was not awaited.
        return cls(None, None, submit(begin), submit)

    def __await__(self) -> Generator[Any, None, "Result"]:
        """Wait for all records; in async functions."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._page, self._cursor = yield from begin.__await__()
        if self._submit is not None and self._cursor is not None and self._cursor.more:
            yield from self._submit(self._cursor.fetch_all).__await__()
        self._ready()
        return self

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Iterate over the records page by page; in async functions."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._page, self._cursor = await begin
        page, cursor, submit = self._ready(), self._cursor, self._submit
        # Without a reference to the result, pages that were read can be freed.
        del self
        while True:
            for record in page.records:
                yield record
            following = page.next
            if following is None and submit is not None and cursor is not None:
                following = await submit(partial(cursor.follow, page))
            if following is None:
                return
            page = following

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records; in plain functions, or after `await`."""
        page = self._ready()
        return iter(page.records) if self._cursor is None else _read(page, self._cursor)

    def __len__(self) -> int:
        """Fetch all records and return their number."""
        return sum(1 for _ in self)

    def single(self) -> Record:
        """Return the only record.

        Raises:
            ArgumentError: There is no record, or there are several.
        """
        records = list(islice(self, 2))
        if len(records) != 1:
            raise ArgumentError(
                f"The statement returned {'several records' if records else 'no record'} "
                "where one is expected",
                hint="Match on a unique property, or iterate over the result.",
            )
        return records[0]

    def close(self) -> None:
        """Stop fetching records; reading beyond the fetched ones raises `ContextExpired`."""
        if self._cursor is not None:
            self._cursor.close()
        if self._begin is not None:
            self._begin.close()
            self._begin = None
            self._is_closed = True

    def _ready(self) -> _Page:
        if self._is_closed:
            raise _closed()
        if self._page is None:
            raise ContextExpired(
                "The result of `ctx.run` was used before it was awaited",
                hint="In an async function write `await ctx.run(...)`.",
            )
        return self._page


def _closed() -> ContextExpired:
    return ContextExpired(
        "The result of `ctx.run` was read after it was closed",
        hint="Read the records that you need before `close()`.",
    )


def _read(first: _Page, cursor: Cursor) -> Iterator[Record]:
    page: _Page | None = first
    del first
    while page is not None:
        yield from page.records
        page = cursor.follow(page)
