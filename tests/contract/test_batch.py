"""`NAME.batch` gives for each row what a call would have given, whatever carries it."""

import itertools

import pytest

from sidecypher.errors import CallError

DIVIDES = ["test.divide", "test.divideAsync"]


def facts(rows):
    """Rows with the code of their error in its place."""
    return [[*row[:-1], row[-1] and row[-1]["code"]] for row in rows]


@pytest.fixture
def state(stand):
    """What the bodies note."""
    noted = stand.state_of("test.divideAsync")
    noted["most"] = 0
    noted["closed"].clear()
    return noted


@pytest.mark.parametrize("name", DIVIDES)
def test_each_row_is_answered_in_its_place(rows, name):
    """The rows come in the order of the arguments, with their number; defaults fill up."""
    found = rows(f"{name}.batch", [[1.0, 4.0], [3.0], [10.0, 5.0]])

    assert found == [
        [0, 0.25, "1/4", None],
        [1, 1.5, "3/2", None],
        [2, 2.0, "10/5", None],
    ]


@pytest.mark.parametrize("name", DIVIDES)
def test_a_batch_without_rows_gives_none(rows, name):
    """No arguments, no rows, and no error."""
    assert rows(f"{name}.batch", []) == []


@pytest.mark.parametrize("name", DIVIDES)
@pytest.mark.parametrize("length", [1, 16, 17, 80, 81, 336, 337, 1_500])
def test_order_is_kept_over_pages(rows, name, length):
    """However many rows there are and whichever ends first, each is in its place."""
    found = rows(f"{name}.batch", [[float(number % 30), 1.0] for number in range(length)])

    assert [row[0] for row in found] == list(range(length))
    assert [row[1] for row in found] == [number % 30 for number in range(length)]


@pytest.mark.parametrize("name", DIVIDES)
def test_an_error_of_one_row_is_told_in_that_row(rows, name):
    """A `ProcedureError` and arguments that do not fit are the row's own; the others go on."""
    found = rows(
        f"{name}.batch",
        [[1.0, 1.0], [1.0, 0.0], ["one"], [], [1.0, 2.0, 3.0], None, 7, [None], [4.0, 1.0]],
    )

    assert facts(found) == [
        [0, 1.0, "1/1", None],
        [1, None, None, "test.zero"],
        *([index, None, None, "SC-204"] for index in range(2, 8)),
        [8, 4.0, "4/1", None],
    ]
    assert found[1][-1] == {
        "code": "test.zero",
        "message": "`b` is 0",
        "hint": "Give another number.",
    }
    assert "`a` of `test.divide" in found[2][-1]["message"]


def test_a_key_without_a_row_gives_nulls_where_a_row_is_expected(rows):
    """A call that may have no row keeps its caller's row, with nulls."""
    assert rows("test.even.batch", [[1], [2], [3]]) == [
        [0, None, None],
        [1, "2", None],
        [2, None, None],
    ]


@pytest.mark.parametrize("name", ["test.partsList", "test.parts", "test.partsAsync"])
def test_a_key_may_have_many_rows_or_none(rows, name):
    """Rows of one call come together; a list of none gives none."""
    found = rows(f"{name}.batch", [["a,b"], ["c"], ["d,e,f"]])

    assert [row[:2] for row in found] == [
        [0, "a"], [0, "b"], [1, "c"], [2, "d"], [2, "e"], [2, "f"],
    ]  # fmt: skip


def test_a_list_without_rows_gives_none(rows):
    """A procedure of lists has no row for a key whose list is empty."""
    assert rows("test.partsList.batch", [["a"], [""], ["b"]]) == [
        [0, "a", None],
        [2, "b", None],
    ]


@pytest.mark.parametrize("name", ["test.parts", "test.partsAsync"])
def test_a_stream_that_breaks_keeps_the_rows_before_its_error(rows, name):
    """What a body gave before its error is there, then the error, then the other keys."""
    found = facts(rows(f"{name}.batch", [["a,b,!,c"], ["d"]]))

    assert found == [[0, "a", None], [0, "b", None], [0, None, "test.bang"], [1, "d", None]]


def test_an_error_column_of_its_own_takes_the_errors_of_the_batch(rows):
    """There is one column `error`, where the procedure has it."""
    found = rows("test.checked.batch", [[1], [0], [-1], ["x"]])

    assert [(row[0], row[2]) for row in found] == [(0, 1), (1, None), (2, None), (3, None)]
    assert [row[1] and row[1].get("code", row[1]) for row in found] == [
        None,
        {"own": True},
        "test.negative",
        "SC-204",
    ]


@pytest.mark.not_over_http("it has no transaction")
def test_a_void_procedure_gives_a_row_for_each_key(rows, transaction):
    """The caller's rows stay, as they do with the procedure itself."""
    assert rows("test.touch.batch", [["a"], ["b"]]) == [[0, None], [1, None]]
    assert [asked.params for asked in transaction.asked] == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [
        ([[1.0], [1.0, 0.0]], "test.zero", "In row 1 of the batch: `b` is 0"),
        ([["one"]], "SC-204", "In row 0 of the batch: The argument `a`"),
    ],
)
def test_an_error_fails_a_batch_that_writes(rows, sent, code, told):
    """Half a write is none: the call fails and tells which row it was."""
    with pytest.raises(CallError) as caught:
        rows("test.divideWriting.batch", sent)

    assert caught.value.code == code
    assert str(caught.value).startswith(told)


def test_a_batch_that_writes_runs_one_body_at_a_time(rows, state):
    """Each write sees the ones before it."""
    assert len(rows("test.divideWriting.batch", [[1.0]] * 40)) == 40
    assert state["most"] == 1


def test_async_bodies_run_together_but_not_too_many(rows, state):
    """Sixteen bodies of a batch wait at a time."""
    assert len(rows("test.divideAsync.batch", [[1.0]] * 100)) == 100
    assert state["most"] == 16


@pytest.mark.not_over_http("it has no transaction")
def test_a_failed_statement_fails_the_batch(rows):
    """The transaction is lost, so no row can be told as if it were not."""
    with pytest.raises(CallError, match="Invalid input") as caught:
        rows("test.find.batch", [["RETURN 1"], ["FAIL"], ["RETURN 2"]])

    assert caught.value.code == "SC-206"


@pytest.mark.not_over_http("it has no transaction")
def test_an_error_after_a_failed_statement_is_not_the_rows_own(rows):
    """A body that swallows the failure and raises an error of its own fails the batch too."""
    with pytest.raises(CallError, match="Invalid input") as caught:
        rows("test.find.batch", [["FAIL", True], ["RETURN 1"]])

    assert caught.value.code == "SC-206"


@pytest.mark.not_over_http("it has no transaction")
def test_concurrent_bodies_run_their_statements_one_after_the_other(rows, transaction):
    """Statements of all rows go by the one connection of the call."""
    found = rows("test.findAsync.batch", [[str(number)] for number in range(40)])

    assert found == [[index, 1, None] for index in range(40)]
    assert {asked.params["name"] for asked in transaction.asked} == set(map(str, range(40)))


@pytest.mark.parametrize("name", ["test.wrongRow", "test.wrongRowAsync"])
def test_a_row_of_a_wrong_type_is_that_rows_error(rows, name):
    """What a body returns is checked row by row."""
    found = facts(rows(f"{name}.batch", [["type"], ["none"], ["good"]]))

    assert found == [[0, None, "SC-205"], [1, None, "SC-205"], [2, "good", None]]


@pytest.mark.parametrize("name", ["test.wrongRow", "test.wrongRowAsync"])
@pytest.mark.parametrize(("kind", "told"), [("exit", "SystemExit"), ("bug", "ValueError")])
def test_an_unexpected_exception_fails_the_batch(rows, name, kind, told):
    """A bug is not a row's error; the sidecar lives on."""
    with pytest.raises(CallError, match=told) as caught:
        rows(f"{name}.batch", [["good"], [kind], ["good"]])

    assert caught.value.code == "SC-202"
    assert rows(f"{name}.batch", [["good"]]) == [[0, "good", None]]


@pytest.mark.parametrize("name", ["test.twice", "test.twiceAsync"])
def test_an_authors_own_batch_gets_all_rows_at_once(rows, stand, name):
    """Each entry is a row, None, a list or an error; rows that do not fit are not given."""
    found = rows(f"{name}.batch", [[5], ["x"], [0], [-1], [-2], [-3], [], [6]])

    assert facts(found) == [
        [0, 10, None],
        [1, None, "SC-204"],
        [2, None, None],
        [3, None, "test.minus"],
        [4, -2, None],
        [4, -4, None],
        [5, None, "SC-205"],
        [6, None, "SC-204"],
        [7, 12, None],
    ]
    assert stand.state_of("test.twice")["given"] == [(5,), (0,), (-1,), (-2,), (-3,), (6,)]


def test_an_authors_batch_that_forgets_a_row_fails(rows):
    """Entries that cannot be told apart are given to nobody."""
    with pytest.raises(CallError, match="returned 1 entries for 2 rows") as caught:
        rows("test.shortBatch.batch", [[1], [2]])

    assert caught.value.code == "SC-205"


def test_the_rows_must_be_a_list(rows):
    """An argument that is not a list is refused before anything runs."""
    with pytest.raises(CallError, match=r"`rows` of `test\.divide\.batch`") as caught:
        rows("test.divide.batch", "no list")

    assert caught.value.code == "SC-204"


@pytest.mark.not_over_http("it makes as many rows ahead as the connection takes")
def test_a_caller_that_wants_no_more_closes_the_body(client, state):
    """`LIMIT` ends the generator of the row it stopped in."""
    stream = client.rows("test.parts.batch", [["a,b,c"], [",".join("x" * 200)], ["never"]])

    assert [row[0] for row in itertools.islice(stream, 10)] == [0] * 3 + [1] * 7
    stream.close()

    assert state["closed"] == ["a,b,c", ",".join("x" * 200)]
