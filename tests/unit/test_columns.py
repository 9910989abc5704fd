"""A procedure with `batch="columns"` takes a list for each parameter and returns columns."""

import array
import math
from typing import Annotated

import numpy as np
import pytest

from sidecypher import Columns, Context, Description, ProcedureError, Row, procedure
from sidecypher.errors import CallError, RowError, SignatureError
from sidecypher.sdk.registry import MARK
from sidecypher.sdk.signature.reader import read_columns_signature
from sidecypher.testing import ProcedureEnvironment


class Scored(Row):
    text: str
    score: float
    count: int | None
    vector: list[float]


def answer(texts, weights):
    """The columns that every procedure of these tests returns."""
    weights = np.array(weights)
    return Columns(
        Scored,
        text=[text.upper() for text in texts],
        score=weights * 2,
        count=[None] * len(texts),
        vector=np.stack([weights, -weights], axis=1),
    )


@procedure("col.score", batch="columns")
def score(text: list[str], weight: list[float]) -> Columns[Scored]:
    """Score texts."""
    return answer(text, weight)


@procedure("col.scoreAsync", batch="columns")
async def score_async(ctx: Context, text: list[str], weight: list[float]) -> Columns[Scored]:
    """Score texts."""
    ctx.check()
    return answer(text, weight)


@procedure("col.scoreProcess", batch="columns", executor="process")
def score_process(text: list[str], weight: list[float]) -> Columns[Scored]:
    """Score texts."""
    return answer(text, weight)


@procedure("col.write", mode="WRITE", batch="columns")
def write(text: list[str], weight: list[float]) -> Columns[Scored]:
    """Score texts."""
    return answer(text, weight)


@procedure("col.fails", batch="columns")
def fails(text: list[str]) -> Columns[Scored]:
    """Fail."""
    raise ProcedureError(f"no {len(text)}")


NAMES = ["col.score", "col.scoreAsync", "col.scoreProcess", "col.write"]


@pytest.fixture(scope="module")
def call():
    with ProcedureEnvironment(score, score_async, score_process, write, fails) as environment:
        yield environment.call


def row(text, weight):
    return {
        "text": text.upper(),
        "score": 2 * weight,
        "count": None,
        "vector": [weight, -weight],
    }


def test_the_signature_is_that_of_one_row():
    """Cypher passes a value for each parameter, not a list."""
    assert getattr(score, MARK).usage() == (
        "col.score(text :: STRING, weight :: FLOAT) :: "
        "(text :: STRING, score :: FLOAT, count :: INTEGER, vector :: LIST<FLOAT>)"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_call_passes_columns_of_one_value(call, name):
    """The procedure by itself answers one row."""
    assert call(name, "a", 1.5) == [row("a", 1.5)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [0, 1, 5_000])
def test_a_batch_is_one_call(call, name, length):
    """The function gets the arguments of all rows, and each row of its columns has its number."""
    rows = [[f"é{number}", float(number)] for number in range(length)]

    assert call(f"{name}.batch", rows) == [
        {"index": number, **row(text, weight), "error": None}
        for number, (text, weight) in enumerate(rows)
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "col.write"])
def test_arguments_that_do_not_fit_are_told_in_their_row(call, name):
    """The function gets the other rows only."""
    rows = [["a", 1.0], ["b", "x"], "c", ["d", 4], ["e"]]

    found = call(f"{name}.batch", rows)

    assert [each["text"] for each in found] == ["A", None, None, "D", None]
    assert [each["error"] and each["error"]["code"] for each in found] == [
        None,
        "SC-204",
        "SC-204",
        None,
        "SC-204",
    ]
    assert [each["index"] for each in found] == [0, 1, 2, 3, 4]
    assert [each["score"] for each in call(f"{name}.batch", [["b", "x"]])] == [None]


def test_of_a_procedure_that_writes_a_wrong_argument_is_the_error(call):
    """Its writes would be committed without that row."""
    with pytest.raises(CallError, match="In row 1 of the batch"):
        call("col.write.batch", [["a", 1.0], ["b", "x"]])


def test_an_error_of_the_function_is_that_of_the_call(call):
    """It answers all rows at once or none."""
    with pytest.raises(CallError, match="no 2"):
        call("col.fails.batch", [["a"], ["b"]])


@pytest.mark.parametrize(
    ("column", "read"),
    [
        ([1, 2], [1, 2]),
        ((1, 2), (1, 2)),
        (array.array("q", [1, 2]), [1, 2]),
        (np.array([1, 2], dtype=np.int8), [1, 2]),
        (np.array([True, False]), [True, False]),
        (np.array([0.5, 1], dtype=np.float16), [0.5, 1.0]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.ma.array([1, 2], mask=[False, True]), [1, None]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    ],
    ids=str,
)
def test_lists_and_arrays_are_columns(column, read):
    """Values of arrays become Python's own."""

    class One(Row):
        value: object

    assert Columns(One, value=column).values == {"value": read}


class Pair(Row):
    number: int
    text: str


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"number": [1]}, "`Pair` was given no column `text`"),
        ({"number": [1], "text": ["a"], "more": [1]}, "`Pair` does not have the column `more`"),
        (
            {"number": [1, 2], "text": ["a"]},
            "The columns of `Pair` have different lengths: `number` has 2, `text` has 1",
        ),
        ({"number": {1, 2}, "text": ["a", "b"]}, "The column `number` is a Python set, not a list"),
        ({"number": np.int64(1), "text": ["a"]}, "The column `number` is a Python int64, not a"),
        ({"number": [1], "text": "a"}, "The column `text` is a Python str, not a list"),
    ],
)
def test_what_is_no_table_is_refused(columns, problem):
    """The error names the column, and tells none of its values."""
    with pytest.raises(RowError) as caught:
        Columns(Pair, **columns)

    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"number": np.array([1.0, math.nan]), "text": ["a", "b"]}, "a Python float"),
        ({"number": np.array([1, 2]).astype(complex), "text": ["a", "b"]}, "a Python complex"),
        ({"number": np.array([1, None], dtype=object), "text": ["a", "b"]}, "null"),
        ({"number": np.array([2**63, 1], dtype=np.uint64), "text": ["a", "b"]}, "64 bits"),
        ({"number": [1, 2], "text": ["a", math.nan]}, "a Python float"),
        ({"number": [1, 2], "text": ["a", "\ud800"]}, "half of a surrogate pair"),
        ({"number": [1], "text": ["a"]}, "returned 1 rows for 2"),
    ],
)
def test_a_value_that_does_not_fit_is_the_error_of_the_call(columns, problem):
    """Numbers of arrays are not made to fit, since that would change them."""

    @procedure("col.pair", batch="columns")
    def pair(number: list[int]) -> Columns[Pair]:
        return Columns(Pair, **columns)

    with (
        ProcedureEnvironment(pair) as environment,
        pytest.raises(CallError, match=problem) as caught,
    ):
        environment.call("col.pair.batch", [[1], [2]])

    assert caught.value.code == "SC-205"


@pytest.mark.parametrize(
    "wrong",
    [None, [Pair(number=1, text="")], Columns(Scored, text=[], score=[], count=[], vector=[])],
)
def test_another_answer_than_its_columns_is_an_error(wrong):
    """Rows one by one are not accepted, nor are the columns of another class."""

    @procedure("col.pair", batch="columns")
    def pair(number: list[int]) -> Columns[Pair]:
        return wrong

    with (
        ProcedureEnvironment(pair) as environment,
        pytest.raises(CallError, match="where columns are expected"),
    ):
        environment.call("col.pair", 1)


def test_a_list_can_have_a_description():
    """The description of a parameter may be that of its list or of the value of one row."""

    def pair(
        number: Annotated[list[int], Description("numbers")],
        other: list[Annotated[int, Description("a number")]],
    ) -> Columns[Pair]: ...

    assert [
        (str(each.type), each.description) for each in read_columns_signature(pair).parameters
    ] == [("INTEGER", "numbers"), ("INTEGER", "a number")]


def takes_no_list(number: int) -> Columns[Pair]: ...
def returns_a_row(number: list[int]) -> Pair: ...
def takes_nothing() -> Columns[Pair]: ...
def has_a_default(number: list[int] = [1]) -> Columns[Pair]: ...  # noqa: B006
def is_a_generator(number: list[int]) -> Columns[Pair]:
    yield


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (takes_no_list, "has the parameter `number`, which is not annotated as a list"),
        (returns_a_row, "does not return columns"),
        (takes_nothing, "has no column to take"),
        (has_a_default, "has a default for `number`"),
        (is_a_generator, "is a generator"),
    ],
)
def test_what_cannot_take_columns_is_refused_at_import(function, problem):
    """The error names the function and its place."""
    with pytest.raises(SignatureError, match=problem) as caught:
        procedure("col.refused", batch="columns")(function)

    assert "test_columns.py:" in str(caught.value)
