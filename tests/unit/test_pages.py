"""When the rows of a call are encoded and sent."""

import contextlib
import math
from collections.abc import Iterator

import pytest

from sidecypher import EncodedRow, Row, procedure
from sidecypher.calls.executors._pages import Pages, joined
from sidecypher.errors import RowError
from sidecypher.sdk.registry import MARK


class Number(Row):
    value: int


class Text(Row):
    text: str


class Things(Row):
    value: int
    things: list[str]


@procedure("page.count")
def count() -> list[Number]:
    """Stand for a procedure with rows."""
    return []


@procedure("page.countWrite", mode="WRITE")
def count_write() -> list[Number]:
    """Stand for a procedure that writes."""
    return []


@procedure("page.text")
def text() -> list[Text]:
    """Stand for a procedure with rows of any size."""
    return []


@procedure("page.things")
def things() -> list[Things]:
    """Stand for a procedure whose rows hold what may change."""
    return []


@pytest.fixture
def begun():
    """Begin the first page of a call."""

    def make(rows=16, size=1000, flush_seconds=math.inf, function=count):
        pages = Pages(getattr(function, MARK), flush_seconds)
        pages.begin(rows, size)
        return pages

    return make


def test_a_row_is_not_held_back_when_the_next_one_takes_its_time(begun):
    """A page with rows is due when the time since the first of them is over, full or not."""
    due, early = begun(flush_seconds=0.0), begun(flush_seconds=60.0)

    assert not due.add(Number(value=1))
    assert not early.add(Number(value=1))

    assert due.seconds_to_flush() == 0.0
    assert early.seconds_to_flush() > 50.0


def test_what_is_added_after_a_page_was_sent_begins_the_next(begun):
    """The function goes no further than that row, and none is lost or sent twice."""
    pages = begun()
    pages.add(Number(value=1))
    first = joined(pages.take()).json

    assert pages.add(Number(value=2))
    pages.begin(16, 1000)
    assert not pages.add(Number(value=3))

    assert first == b"[[1]]"
    assert joined(pages.take()).json == b"[[2],[3]]"


@pytest.mark.parametrize(
    "limits", [{"rows": 16}, {"rows": 1000, "size": len("[") + 16 * len("[1],")}]
)
def test_a_page_ends_with_its_rows_or_bytes(begun, limits):
    """Whatever its producer has left stays with it until the next page is asked for."""
    rows, full = iter([Number(value=1)] * 18), begun(**limits)

    assert full.add_all(rows)

    assert joined(full.take()).json == b"[" + b",".join([b"[1]"] * 16) + b"]"
    assert len(list(rows)) == 2


def test_a_page_that_takes_the_last_row_is_the_last(begun):
    """A caller asks for no further page when the producer is known to have ended."""
    assert not begun(rows=2).add_all(iter([Number(value=1)] * 2))
    assert not begun(rows=2).add_all(iter([]))


def test_rows_that_suddenly_are_large_go_on_several_pages(begun):
    """Rows that were collected for one page are divided when they are too large for it."""
    pages = begun(rows=1000, size=1000, function=text)
    rows = [Text(text="")] * 100 + [Text(text="x" * 600)] * 20
    left, sent = iter(rows), []

    while pages.add_all(left) or pages.has_more:
        taken = pages.take()
        sent.append((sum(each.count for each in taken), len(joined(taken).json)))
        pages.begin(1000, 1000)

    assert sum(count for count, _size in sent) == 120
    assert max(size for _count, size in sent) < 2 * 1000


@pytest.mark.parametrize("before", [0, 1, 15, 16, 17])
def test_the_rows_before_one_that_does_not_fit_are_sent(begun, before):
    """Then it is an error, whether it was encoded for its function or for the page."""
    pages = begun(rows=100)
    rows = [*([Number(value=1)] * before), Number(value="hunter2"), Number(value=3)]

    with contextlib.suppress(RowError):
        pages.add_all(iter(rows))
    sent = joined(pages.take()).json if before else b"[]"

    assert sent == b"[" + b",".join([b"[1]"] * before) + b"]"
    with pytest.raises(RowError, match=r"column `value` of `page\.count` is a Python str"):
        pages.take()


def test_of_a_function_that_writes_no_row_is_sent_before_an_error(begun):
    """A caller that reads no further would commit what it wrote."""
    pages = begun(function=count_write)

    with pytest.raises(RowError):
        pages.add_all(iter([*[Number(value=1)] * 15, Number(value=None)]))
    with pytest.raises(RowError):
        pages.take()


def test_a_row_may_change_after_it_was_added(begun):
    """What counts is a row, and what it holds, when it was returned or yielded."""

    def change() -> Iterator[Things]:
        row = Things(value=0, things=[])
        for value in range(3):
            row.value = value
            row.things.append(str(value))
            yield row

    pages = begun(function=things)
    pages.add_all(change())

    assert joined(pages.take()).json == b'[[0,["0"]],[1,["0","1"]],[2,["0","1","2"]]]'


def test_rows_and_encoded_rows_keep_their_order(begun):
    """A function may return both."""
    pages = begun()
    rows = [Number(value=n) if n % 3 else EncodedRow.of(Number(value=n)) for n in range(9)]

    pages.add_all(iter(rows))

    assert joined(pages.take()).json == b"[[0],[1],[2],[3],[4],[5],[6],[7],[8]]"
