"""Statements of `ctx.run` and their results, which arrive page by page.

A result's pages are a chain. Who reads holds the page it is at, and only the `Result` holds the
first one: so records can be read as often as wanted, and yet a loop over `ctx.run(...)` keeps no
more than one page of them.
"""

import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from functools import partial
from itertools import islice
from typing import Any

from sidecypher.errors import ArgumentError, ContextExpired, CypherError
from sidecypher.protocol.envelope import CallBackRequest, CursorRequest, RunRequest
from sidecypher.sdk.call import Call
from sidecypher.values.coders import decode_any

Record = dict[str, Any]
"""One record of a statement: values by column name."""

Hand = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
"""Runs a function on the thread that serves the call, and waits for it on the event loop."""


class _Page:
    """Some records, and the page after them once it is there."""

    __slots__ = ("next", "records")

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.next: _Page | None = None


class Cursor:
    """The open end of a result.

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
        """Return the page after `page`, if there is one; fetch it if it is not there yet."""
        if page.next is None:
            if self._broken is not None:
                raise self._broken
            if self.more:
                self.fetch()
        return page.next

    def fetch(self) -> None:
        """Fetch a page and add it to the chain.

        Raises:
            CypherError: The statement failed on the way; the call is doomed.
        """
        try:
            records, self.more = self._statements.fetch(self.number)
        except Exception as error:
            # The records of this page will never come: no later ones may be read as the next.
            self._broken, self.more = error, False
            raise
        self._last.next = page = _Page(records)
        self._last = page

    def close(self) -> None:
        """Fetch no more; who reads on is told so."""
        if self.more:
            self._broken, self.more = _closed(), False

    def fetch_all(self) -> None:
        """Fetch what is left."""
        while self.more:
            self.fetch()


class Statements:
    """The statements of one call; to be used on the thread that serves it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._count = 0
        self._open: dict[int, weakref.ref[Cursor]] = {}

    def run(self, cypher: str, params: dict[str, Any]) -> tuple[_Page, Cursor | None]:
        """Run a statement; return its first page, and the way to the others.

        Raises:
            CypherError: It failed; the call is doomed.
        """
        # Otherwise a statement could change rows that an earlier one has yet to read.
        if self._open:
            self._settle()
        self._count += 1
        number = self._count
        records, more = self._ask("run", RunRequest(self._call.call_id, number, cypher, params))
        page = _Page(records)
        if not more:
            return page, None
        cursor = Cursor(self, number, page)
        self._open[number] = weakref.ref(cursor)
        return page, cursor

    def fetch(self, number: int) -> tuple[list[Record], bool]:
        """Return the next page of an open result, and whether there are more."""
        self._call.check()
        records, more = self._ask("next", CursorRequest(self._call.call_id, number))
        if not more:
            del self._open[number]
        return records, more

    def _settle(self) -> None:
        """Fetch what open results have left, and give up those that cannot be read any more."""
        for number, reference in list(self._open.items()):
            cursor = reference()
            if cursor is not None and cursor.more:
                cursor.fetch_all()
            else:
                del self._open[number]
                self._ask("discard", CursorRequest(self._call.call_id, number))

    def _ask(self, method: str, message: CallBackRequest) -> tuple[list[Record], bool]:
        reply = self._call.call_back(method, message)
        if reply.error is not None:
            failure = CypherError(reply.error.message, neo4j_code=reply.error.code)
            self._call.failure = self._call.failure or failure
            raise self._call.failure
        columns = reply.columns
        records = [dict(zip(columns, map(decode_any, row), strict=True)) for row in reply.rows]
        return records, reply.more


class Result:
    """Records of a statement, each a dict by column name.

    Iterate over it in a plain body; in an async one `await` it, which fetches all records, or use
    `async for`, which fetches them page by page. Records can be read as often as wanted; a loop
    over `ctx.run(...)` itself keeps no more than one page of them.

    Example:
        >>> list(Result.of([{"n": 1}]))
        [{'n': 1}]
    """

    __slots__ = ("_begin", "_cursor", "_hand", "_is_closed", "_page")

    def __init__(
        self,
        page: _Page | None,
        cursor: Cursor | None = None,
        begin: Coroutine[Any, Any, tuple[_Page, Cursor | None]] | None = None,
        hand: Hand | None = None,
    ) -> None:
        self._page = page
        self._cursor = cursor
        self._begin = begin
        self._hand = hand
        self._is_closed = False

    @classmethod
    def of(cls, records: list[Record]) -> "Result":
        """Return a result whose records are there."""
        return cls(_Page(records))

    @classmethod
    def later(cls, begin: Callable[[], tuple[_Page, Cursor | None]], hand: Hand) -> "Result":
        """Return the result of a statement that an async body is yet to wait for."""
        # A coroutine, because Python itself warns of one that was not awaited.
        return cls(None, None, hand(begin), hand)

    def __await__(self) -> Generator[Any, None, "Result"]:
        """Wait for all records; in async bodies."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._page, self._cursor = yield from begin.__await__()
        if self._hand is not None and self._cursor is not None and self._cursor.more:
            yield from self._hand(self._cursor.fetch_all).__await__()
        self._ready()
        return self

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Iterate over the records page by page; in async bodies."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._page, self._cursor = await begin
        page, cursor, hand = self._ready(), self._cursor, self._hand
        # Only who still holds the result keeps the pages that were read.
        del self
        while True:
            for record in page.records:
                yield record
            following = page.next
            if following is None and hand is not None and cursor is not None:
                following = await hand(partial(cursor.follow, page))
            if following is None:
                return
            page = following

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records; in plain bodies, or after `await`."""
        page = self._ready()
        return iter(page.records) if self._cursor is None else _read(page, self._cursor)

    def __len__(self) -> int:
        """Return the number of records; all of them are fetched."""
        return sum(1 for _ in self)

    def single(self) -> Record:
        """Return the only record.

        Raises:
            ArgumentError: There is none, or there are several.
        """
        records = list(islice(self, 2))
        if len(records) != 1:
            raise ArgumentError(
                f"The statement gave {'several records' if records else 'no record'} "
                "where one is expected",
                hint="Match on a unique property, or iterate over the result.",
            )
        return records[0]

    def close(self) -> None:
        """Fetch no more records. Who reads beyond those that are there gets `ContextExpired`."""
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
                "The result of `ctx.run` was used before it was there",
                hint="In an async body write `await ctx.run(...)`.",
            )
        return self._page


def _closed() -> ContextExpired:
    return ContextExpired(
        "The result of `ctx.run` was read on after it was closed",
        hint="Read what you need of it before `close()`.",
    )


def _read(first: _Page, cursor: Cursor) -> Iterator[Record]:
    page: _Page | None = first
    del first
    while page is not None:
        yield from page.records
        page = cursor.follow(page)
