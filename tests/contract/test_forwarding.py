"""`sidecypher.call` gives what the procedure itself gives, whatever carries it."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from fix_waiting import wait_until

from sidecypher.errors import CallError
from sidecypher.transport.memory import Client, memory


def test_the_rows_come_as_maps_by_column(rows):
    """Each row is one MAP, its keys are the columns, its values those of the procedure."""
    [[row]] = rows("sidecypher.call", "test.divide", [1.0, 4.0])

    assert row == {"value": 0.25, "note": "1/4"}


@pytest.mark.parametrize("name", ["test.echoAny", "sidecypher.call"])
def test_arguments_by_position_and_by_name(rows, name):
    """A LIST holds the arguments in order, a MAP by their Cypher names."""
    value = {"$date": "no date", "day": date(2024, 2, 29)}
    if name == "sidecypher.call":
        assert rows(name, "test.echoAny", [value]) == [[{"value": value}]]
        assert rows(name, "test.echoAny", {"value": value}) == [[{"value": value}]]
    else:
        assert rows(name, value) == [[value]]


def test_left_out_arguments_take_their_defaults(rows):
    """By position from the end, by name anywhere; no arguments at all are none."""
    [[whole]] = rows("sidecypher.call", "test.defaults")
    [[named]] = rows("sidecypher.call", "test.defaults", {"text": "mine"})

    assert whole == {"value": rows("test.defaults")[0][0]}
    assert named["value"] == [*whole["value"][:3], "mine", *whole["value"][4:]]


@pytest.mark.parametrize("name", ["test.count", "test.countAsync", "test.countList"])
def test_pages_are_as_long_as_those_of_the_procedure(rows, name):
    """Streams go on over many pages."""
    found = rows("sidecypher.call", name, [3_000])

    assert found == [[{"value": value}] for value in range(3_000)]


@pytest.mark.not_over_http("it closes its connection, which tests of HTTP look after")
def test_closing_the_rows_closes_the_generator(client, rows):
    """`LIMIT` reaches the body that was called."""
    label = f"forwarded by {id(client)}"
    stream = client.rows("sidecypher.call", "test.closing", [label])

    assert len(list(itertools.islice(stream, 40))) == 40
    stream.close()

    assert [label] in rows("test.closed")


def test_a_batch_is_called_like_any_other(rows):
    """The batch variant of a procedure is a procedure."""
    found = rows("sidecypher.call", "test.divide.batch", [[[1.0], ["one"]]])

    assert [row["index"] for [row] in found] == [0, 1]
    assert [row["error"] and row["error"]["code"] for [row] in found] == [None, "SC-204"]


@pytest.mark.not_over_http("it has no transaction")
def test_a_statement_runs_in_the_callers_transaction(rows, transaction):
    """`ctx.run` of the procedure is that of the call."""
    rows("sidecypher.callWrite", "test.touch", ["a"])

    assert [asked.params for asked in transaction.asked] == [{"name": "a"}]


@pytest.mark.parametrize(
    ("name", "sent", "code", "told"),
    [
        ("sidecypher.call", ["kg.nowhere"], "SC-203", "no procedure `kg.nowhere`"),
        ("sidecypher.call", ["test.touch", ["a"]], "SC-204", "`test.touch` has the mode WRITE"),
        ("sidecypher.callWrite", ["test.echo", ["a"]], "SC-204", "`test.echo` has the mode READ"),
        ("sidecypher.call", ["sidecypher.call"], "SC-204", "cannot call `sidecypher.call`"),
        ("sidecypher.call", ["test.echo", 7], "SC-204", "neither a LIST nor a MAP"),
        ("sidecypher.call", ["test.echo", date(2024, 1, 1)], "SC-204", "neither a LIST nor a MAP"),
        ("sidecypher.call", ["test.echo", [7]], "SC-204", "The argument `value` of `test.echo`"),
        ("sidecypher.call", ["test.echo", {"valu": "a"}], "SC-204", "an argument it does not have"),
        ("sidecypher.call", ["test.echo", {}], "SC-204", "without its argument `value`"),
        ("sidecypher.call", ["test.echo", []], "SC-204", "without its argument `value`"),
        ("sidecypher.call", [7], "SC-204", "The argument `name` of `sidecypher.call`"),
    ],
)
def test_what_cannot_be_called_is_told(rows, name, sent, code, told):
    """The error names the procedure that was asked for, and what to do."""
    with pytest.raises(CallError) as caught:
        rows(name, *sent)

    assert caught.value.code == code
    assert told in str(caught.value)
    assert caught.value.hint


def test_errors_are_those_of_the_procedure(rows):
    """What the body raises reaches the caller as if it had been called by its name."""
    with pytest.raises(CallError, match="`b` is 0") as caught:
        rows("sidecypher.call", "test.divide", [1.0, 0.0])

    assert caught.value.code == "test.zero"


@pytest.mark.parametrize("name", ["ending.brief", "ending.briefAsync"])
def test_the_timeout_is_that_of_the_procedure(rows, stand, name):
    """A call by name has no more time than one of the procedure itself, and says so in its name."""
    with ThreadPoolExecutor(1) as background:
        answer = background.submit(rows, "sidecypher.call", name)
        wait_until(lambda: stand.dispatcher.calls.expire() or answer.done())

    with pytest.raises(CallError, match=f"`{name}` did not answer within its time") as caught:
        answer.result()
    assert caught.value.code == "SC-213"


def test_pages_share_the_timeout_of_the_procedure(rows):
    """What one page has used up is not there for the next, whatever its caller allows."""
    left = [row["left"] for [row] in rows("sidecypher.call", "ending.countDown", [1_000])]

    assert left[0] <= 5.0
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0]


def test_a_caller_with_less_time_keeps_its_own(stand):
    """The caller's deadline holds where it is earlier than the procedure's."""
    client = Client(memory(stand.dispatcher), stand.signatures, timeout=2.0)

    [[row]] = client.rows("sidecypher.call", "ending.countDown", [1])

    assert row["left"] <= 2.0
