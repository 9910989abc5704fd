"""Where a page of a list in the order of time begins."""

import pytest

from sidecypher import CallError
from sidecypher_procedures.paging import TimePage


def test_a_cursor_is_a_time_and_what_tells_rows_of_that_time_apart():
    """All behind the first space belongs to the row, spaces included."""
    page = TimePage(cursor="2026-01-01T00:00:00.123456789Z a b")

    assert page.after == {"after": "2026-01-01T00:00:00.123456789Z", "afterId": "a b"}
    assert page.before == {"before": "2026-01-01T00:00:00.123456789Z", "beforeId": "a b"}


def test_without_a_cursor_a_list_is_whole():
    """It begins before the earliest time, or behind the latest one."""
    assert TimePage().after == {"after": "0001-01-01T00:00:00+00:00", "afterId": ""}
    assert TimePage().before == {"before": "9999-12-31T23:59:59.999999+00:00", "beforeId": ""}


@pytest.mark.parametrize("cursor", ["", "r1", "r1 r2", "2026-01-01T00:00Z", "2026-01-01T00:00Z "])
def test_what_is_not_a_cursor_is_refused(cursor):
    """The error names the option."""
    with pytest.raises(CallError, match=r"`options.cursor` cannot be used: it is not a `cursor`"):
        TimePage.from_map({"cursor": cursor})
