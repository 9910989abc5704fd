"""An `EncodedRow` stands for its row: the same values, checked and written once."""

import gc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from conformance.cases import VALUES, same
from fix_describe import describe

from sidecypher import EncodedRow, ProcedureError, Row, procedure
from sidecypher.errors import RowError
from sidecypher.testing import ProcedureEnvironment


class Anything(Row):
    value: Any
    then_text: str | None = None


class Pair(Row):
    left: int
    right_one: datetime | None


AT = datetime(2024, 2, 29, 10, 11, 12, 500_000, tzinfo=UTC)


def pair() -> Pair:
    """Stand in for a body."""
    raise NotImplementedError


PAIR = describe(pair, "kg.pair")


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_row_comes_back_as_it_was(case):
    """A value of each type is in the row that is read as it was in the one that was written."""
    row = EncodedRow.of(Anything(value=case.value, then_text="a")).decode()

    assert same(row.value, case.value)
    assert row.then_text == "a"


def test_it_is_sent_as_its_row_is():
    """Each column has the JSON that the row itself would be sent as."""
    row = Pair(left=1, right_one=AT)
    values = PAIR.encode_row(EncodedRow.of(row))

    assert [msgspec.json.decode(value) for value in values] == PAIR.encode_row(row)


def test_the_row_of_another_class_is_refused():
    """A body cannot give the encoded row of a class that is not its own."""
    with pytest.raises(RowError, match="where a row is expected") as caught:
        PAIR.encode_row(EncodedRow.of(Anything(value=1)))

    assert caught.value.hint == "Return `Pair(...)`."


def test_a_value_of_another_type_is_refused_when_it_is_made():
    """The column is named as Cypher names it, and the value is not told."""
    with pytest.raises(RowError) as caught:
        EncodedRow.of(Pair(left=1, right_one=b"hunter2"))

    assert caught.value.message == (
        "The column `rightOne` of `Pair` is a Python bytes where ZONED DATETIME is expected"
    )


def test_a_value_that_holds_itself_is_refused_when_it_is_made():
    """A list in itself is not a value, however it is given."""
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(RowError, match=r"column `value` of `Anything` nests"):
        EncodedRow.of(Anything(value=endless))


def test_the_garbage_collector_has_nothing_to_do_with_it():
    """However many are kept, a search for garbage takes no longer."""
    assert not gc.is_tracked(EncodedRow.of(Anything(value=[])))


def test_any_body_may_give_one_for_a_row():
    """Alone, in a list or in a stream, it is the row that it was made of."""
    kept = EncodedRow.of(Pair(left=1, right_one=AT))

    @procedure("test.one")
    def one() -> Pair | None:
        return kept

    @procedure("test.many")
    def many() -> list[Pair]:
        return [kept, Pair(left=2, right_one=None)]

    @procedure("test.stream")
    def stream() -> Iterator[Pair]:
        yield kept

    with ProcedureEnvironment(one, many, stream) as environment:
        found = [environment.call(f"test.{name}") for name in ("one", "many", "stream")]

    first = {"left": 1, "rightOne": AT}
    assert found == [[first], [first, {"left": 2, "rightOne": None}], [first]]


def test_an_own_batch_may_give_one_for_a_row():
    """It is a row like any other, between other entries, also as a map and in a list."""
    kept = EncodedRow.of(Pair(left=1, right_one=AT))
    entries = [kept, Pair(left=2, right_one=None), ProcedureError("none", code="test.none"), kept]

    def together(_ctx, _rows):
        return entries

    @procedure("test.pair", batch=together)
    def one(number: int) -> Pair:
        raise NotImplementedError(number)

    with ProcedureEnvironment(one) as environment:
        rows = environment.call("test.pair.batch", [[number] for number in range(4)])

    assert [(row["index"], row["left"], row["rightOne"]) for row in rows] == [
        (0, 1, AT),
        (1, 2, None),
        (2, None, None),
        (3, 1, AT),
    ]
    codes = [row["error"] and row["error"]["code"] for row in rows]
    assert codes == [None, None, "test.none", None]
