"""Projections: the result of a statement as a table, read page by page."""

from datetime import UTC, date, timedelta, timezone
from pathlib import Path

import pytest

from sidecypher.errors import CypherError, MessageTooLarge, ValueTypeError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CursorRequest, RunError, RunReply
from sidecypher.sdk.call import Call
from sidecypher.sdk.projection import project, shared, shared_table
from sidecypher.values.coders import encode_any
from sidecypher.values.graph import Node
from sidecypher.values.temporal import DateTime, Time

PLENTY = 2**30


def projected(*pages, columns=("x",), most_bytes=PLENTY):
    """Return the table of a statement whose result comes in these pages."""
    asked = []

    def answer(method, request):
        asked.append((method, type(request)))
        rows = [list(row) for row in pages[len(asked) - 1]]
        return RunReply(list(columns), rows, more=len(asked) < len(pages))

    call = Call("c", "kg.rank", "neo4j", "ann")
    call.serve(answer, Deadline.after(60.0))
    table = project(call, "RETURN 1 AS x", {}, most_bytes)
    assert asked[0][0] == "run"
    assert asked[1:] == [("next", CursorRequest)] * (len(pages) - 1)
    return table


@pytest.mark.parametrize(
    ("pages", "values", "kind"),
    [
        ([[[1], [2]], [[3]]], [1, 2, 3], "int64"),
        ([[[1]], [[0.5]]], [1.0, 0.5], "double"),
        ([[[None]], [[2]]], [None, 2], "int64"),
        ([[["a"], [None]], [["ö"]]], ["a", None, "ö"], "string"),
        ([[[True]]], [True], "bool"),
        ([[[[1, 2]], [[]]], [[[]]]], [[1, 2], [], []], "list<item: int64>"),
        ([[[[]]], [[[0.5]]]], [[], [0.5]], "list<item: double>"),
        ([[[{"$date": "2026-11-28"}]]], [date(2026, 11, 28)], "date32[day]"),
        ([[]], [], "null"),
    ],
)
def test_pages_become_one_table(pages, values, kind):
    """Pages of one type are joined; integers and floats are floats, and null has any type."""
    table = projected(*pages)

    assert table["x"].to_pylist() == values
    assert str(table.schema.field("x").type) == kind


@pytest.mark.parametrize(
    "pages", [[[[1], ["a"]]], [[[1]], [["a"]]], [[[{"a": 1}], [2]]], [[[[1, "a"]]]]]
)
def test_values_of_two_types_are_refused(pages):
    """A column with values of two types is an error that names the procedure."""
    with pytest.raises(ValueTypeError, match=r"`kg\.rank` has values"):
        projected(*pages)


EAST, WEST = (timezone(timedelta(hours=hours)) for hours in (2, -7))


def test_datetimes_with_a_zone_are_in_utc():
    """Zones of two pages, or of one, become UTC; the moment stays."""
    moments = [DateTime(2026, 11, 28, 12, tzinfo=zone) for zone in (EAST, WEST, UTC)]
    table = projected(*([[encode_any(moment)]] for moment in moments))

    assert table["x"].to_pylist() == moments
    assert str(table.schema.field("x").type) == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize(
    "values",
    [
        [DateTime(2026, 11, 28), DateTime(2026, 11, 28, tzinfo=UTC)],
        [Time(12, tzinfo=EAST)],
        [{"a": 1}],
        [b"bytes"],
        [[{"a": 1}]],
        [Node("4:a:1")],
    ],
)
def test_what_a_table_would_change_is_refused(values):
    """A value that would lose its zone or its form is an error and no other value."""
    with pytest.raises(ValueTypeError, match="column `x`"):
        projected([[encode_any(value)] for value in values])


def test_a_table_that_is_too_large_is_refused():
    """Reading ends with the page that is too much."""
    pages = [[[number] for number in range(1000)]] * 100
    with pytest.raises(MessageTooLarge, match="more than 20000 bytes") as caught:
        projected(*pages, most_bytes=20_000)
    assert "`worker_memory_mb`" in caught.value.hint


def test_a_statement_that_fails_dooms_its_call():
    """The error is that of the statement, and the call cannot go on."""
    call = Call("c", "kg.rank", "neo4j", "ann")
    failure = RunReply(error=RunError("Neo.ClientError.Statement.SyntaxError", "no"))
    call.serve(lambda _method, _request: failure, Deadline.after(60.0))

    with pytest.raises(CypherError):
        project(call, "RETURN", {}, PLENTY)
    with pytest.raises(CypherError):
        call.check()


def test_a_table_is_shared_while_it_is_needed():
    """Others read what is shared by its path, and nothing of it is left afterwards."""
    table = projected([[number, str(number)] for number in range(100)], columns=("x", "y"))

    with shared(table) as path:
        assert shared_table(path).equals(table)
    assert not Path(path).exists()
    with shared(None) as path:
        assert not path
