"""When the rows of a stream are sent."""

import math

import pytest

from sidecypher import Row, procedure
from sidecypher.calls.executors._pages import Page
from sidecypher.sdk.registry import MARK


class Number(Row):
    value: int


@procedure("page.count")
def count() -> list[Number]:
    """Stand for a procedure with rows."""
    return []


@pytest.fixture
def page():
    """Make an empty page."""

    def make(rows=16, size=1000, flush_seconds=math.inf):
        return Page(getattr(count, MARK), rows, size, flush_seconds)

    return make


def test_a_row_is_not_held_back_when_the_next_one_takes_its_time(page):
    """A page with rows is due when the time since the first of them is over, full or not."""
    due, early = page(flush_seconds=0.0), page(flush_seconds=60.0)

    assert not due.add(Number(value=1))
    assert not early.add(Number(value=1))

    assert due.seconds_to_flush() == 0.0
    assert early.seconds_to_flush() > 50.0


def test_what_is_added_after_a_page_was_sent_begins_the_next(page):
    """The body goes no further than that row, and none is lost or sent twice."""
    sent, following = page(), page()
    sent.add(Number(value=1))
    first = list(map(bytes, sent.take()))

    assert sent.add(Number(value=2))
    assert not following.take_over(sent)
    assert not following.add(Number(value=3))

    assert first == [b"[1]"]
    assert list(map(bytes, following.take())) == [b"[2]", b"[3]"]


@pytest.mark.parametrize("limits", [{"rows": 3}, {"size": 3 * len("[1]")}])
def test_a_page_ends_with_its_rows_or_bytes(page, limits):
    """Whatever its producer has left stays with it until the next page is asked for."""
    rows, full = iter([Number(value=1)] * 5), page(**limits)

    assert full.add_all(rows)

    assert list(map(bytes, full.rows)) == [b"[1]"] * 3
    assert len(list(rows)) == 2


def test_a_page_that_takes_the_last_row_is_the_last(page):
    """A caller asks for no further page when the producer is known to have ended."""
    assert not page(rows=2).add_all(iter([Number(value=1)] * 2))
    assert not page(rows=2).add_all(iter([]))
