"""Results of `ctx.run` that have many pages, over each transport."""

import pytest

from sidecypher.errors import CallError

pytestmark = pytest.mark.not_over_http("it has no transaction")

STREAMS = ["result.stream", "result.streamAsync", "result.all"]


def numbers(rows, *call):
    return [value for [value] in rows(*call)]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(("to", "page"), [(0, 5), (1, 5), (5, 5), (23, 5), (3_000, 1_000)])
def test_records_come_once_and_in_order(rows, name, to, page):
    """However many pages a result has, its records arrive once and in order."""
    assert numbers(rows, name, to, page) == list(range(to))


@pytest.mark.parametrize("name", ["result.stream", "result.streamAsync"])
def test_a_result_may_be_larger_than_a_message(rows, transaction, name):
    """The sum of all pages has no bound; here it is 32 MiB through messages of at most 2 MiB."""
    assert numbers(rows, name, 320, 10, 100_000) == list(range(320))
    assert transaction.methods == ["run"] + ["next"] * 31


def test_a_loop_over_a_result_keeps_no_more_than_its_pages(rows):
    """A body that reads a long result needs memory for the page it is at."""
    [most] = numbers(rows, "result.kept", 1_000, 10)

    assert most <= 21


def test_a_body_reads_no_further_than_it_must(rows, transaction):
    """A body that takes the first record causes no second page."""
    assert numbers(rows, "result.first", 1_000, 10) == [0]
    assert transaction.methods == ["run"]


@pytest.mark.parametrize("name", ["result.interleaved", "result.together"])
def test_a_statement_within_a_loop_over_another(rows, transaction, name):
    """What is left of an open result is fetched before the next statement; none is lost."""
    assert numbers(rows, name, 12, 5) == list(range(12))
    assert transaction.methods[:4] == ["run", "next", "next", "run"]
    assert transaction.open == {}


@pytest.mark.parametrize(
    ("name", "arguments"), [("result.broken", [20, 5, 12]), ("result.all", [20, 5, 12])]
)
def test_a_result_that_breaks_in_a_later_page_dooms_the_call(rows, name, arguments):
    """A failure while records are fetched fails the call, even when the body swallows it."""
    with pytest.raises(CallError, match="Invalid input") as caught:
        rows(name, *arguments)

    assert caught.value.code == "SC-206"


def test_an_error_in_place_of_that_of_a_statement_is_not_told(rows):
    """The transaction is lost, whatever a body raises: the caller learns why."""
    with pytest.raises(CallError, match="Invalid input") as caught:
        rows("result.replaced")

    assert caught.value.code == "SC-206"


def test_an_open_result_goes_on_across_pages_of_the_procedure(client, transaction):
    """A generator's open result is read on while later pages of its rows are served."""
    stream = client.rows("result.stream", 100, 10)

    assert [next(stream) for _ in range(17)] == [[value] for value in range(17)]
    asked = len(transaction.methods)
    assert [value for [value] in stream] == list(range(17, 100))
    assert asked < len(transaction.methods) == 10


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("null", "is null where STRING is expected"),
        ("number", "is a Python int where STRING is expected"),
        ("surrogate", "is a string with half of a surrogate pair"),
    ],
)
def test_what_is_not_a_statement_is_told(rows, transaction, kind, told):
    """A statement that is not text never leaves the sidecar; the error names it."""
    with pytest.raises(CallError, match=f"The statement of `ctx.run` {told}") as caught:
        rows("fault.statement", kind)

    assert caught.value.code == "SC-215"
    assert transaction.asked == []
