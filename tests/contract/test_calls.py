"""What a call gives, whatever carries it."""

import itertools
import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Session
from sidecypher.errors import CallError
from sidecypher.host.limits import Limits
from sidecypher.sdk.call import no_transaction
from sidecypher.testing import wire
from sidecypher.transport._messages import Messages
from sidecypher.transport.memory import Client, memory
from sidecypher.values.temporal import DateTime

VALUES = [
    None,
    True,
    0,
    2**63 - 1,
    -(2**63),
    1.0,
    -0.0,
    1e308,
    math.inf,
    -math.inf,
    "",
    "\\ \" ' \n \r \t \0 \x1a \x7f \u2028 ünïcödé 😀",
    [],
    [[], [None, [1, "a"]]],
    {},
    {"$date": "no date"},
    {"$map": {"$float": "NaN"}},
    {"a": {"$x": 1}, "": None},
    date(1, 1, 1),
    date(9999, 12, 31),
    datetime(2024, 2, 29, 10, 11, 12),  # noqa: DTZ001 - LOCAL DATETIME has no zone
    DateTime.of(datetime(2024, 2, 29, 10, 11, 12, 123456), 789),  # noqa: DTZ001
    datetime(2024, 2, 29, tzinfo=UTC),
    datetime(2024, 2, 29, 23, 59, 59, 1, tzinfo=timezone(-timedelta(hours=5, minutes=30))),
    datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    DateTime.of(datetime(2024, 7, 1, tzinfo=ZoneInfo("America/New_York")), 1),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_value_comes_back_equal_and_of_the_same_type(rows, value):
    """A value that goes through a procedure comes back equal and of its own type."""
    [[back]] = rows("test.echoAny", value)

    assert (back, type(back)) == (value, type(value))
    assert not isinstance(value, datetime) or back.utcoffset() == value.utcoffset()


def test_nan_comes_back_as_nan(rows):
    """NaN, which equals nothing, is kept."""
    [[back]] = rows("test.echoAny", math.nan)

    assert math.isnan(back)


def test_long_texts_of_nothing_but_escapes_survive(rows):
    """A text of quotes and backslashes comes back as it was."""
    text = "\\\"'\n" * 50_000

    assert rows("test.echo", text) == [[text]]


@pytest.mark.parametrize("name", ["test.count", "test.countAsync", "test.countList"])
@pytest.mark.parametrize("length", [0, 1, 16, 17, 80, 3_000])
def test_rows_come_once_and_in_order_across_pages(rows, name, length):
    """However many pages a stream has, each row arrives once and in order."""
    assert rows(name, length) == [[value] for value in range(length)]


def test_optional_row(rows):
    """A body that returns None where a row may be missing gives no row."""
    assert rows("test.maybe", True) == [["there"]]
    assert rows("test.maybe", False) == []


def as_json(dispatcher):
    """Send requests as a JVM does, so that their arguments have a size."""
    messages, session = Messages(dispatcher), Session(no_transaction)
    return wire.request_sender(lambda method, payload: messages.answer(method, payload, session))


def test_large_arguments_of_many_calls_are_bounded(stand):
    """Beyond the bound a call is refused as busy before it is read; when others end, it is not."""
    text = "x" * 200_000
    dispatcher, signatures = stand.further(stand.loaded.registry, Limits(message_bytes=65_000))
    client = Client(as_json(dispatcher), signatures)
    open_call = client.rows("test.closing", text)
    next(open_call)

    with pytest.raises(CallError) as caught:
        list(client.rows("trouble.length", text))
    small = list(client.rows("trouble.length", "small"))
    open_call.close()

    assert (caught.value.code, caught.value.retryable) == ("SC-211", True)
    assert small == [[5]]
    for _ in range(3):
        assert list(client.rows("trouble.length", text)) == [[len(text)]]
        with pytest.raises(CallError, match="is a STRING where INTEGER"):
            list(client.rows("test.count", text))


def test_left_out_arguments_take_their_defaults(rows):
    """Arguments that are left out have the values of the Python signature."""
    [[values]] = rows("test.defaults")

    assert values == [
        True, -7, 2, "null", ["it's", "`", "\\"], {"deep key": [1, {"a": None}]},
        date(2024, 2, 29), None,
    ]  # fmt: skip


def test_a_default_that_a_body_could_change_is_its_own_each_time(stand):
    """No call sees the default list of another call."""
    procedure = stand.loaded.registry.get("test.defaults")

    first, second = procedure.arguments([]), procedure.arguments([])

    assert first == second
    assert first[4] is not second[4]


def test_closing_the_rows_closes_the_generator(client, rows):
    """A caller that wants no more rows closes the body's generator."""
    label = f"closed by {id(client)}"
    stream = client.rows("test.closing", label)

    assert list(itertools.islice(stream, 40)) == [[value] for value in range(40)]
    stream.close()

    wait_until(lambda: [label] in rows("test.closed"))


@pytest.mark.not_over_http("it has no transaction")
def test_callbacks_reach_the_transaction_with_their_parameters(rows, transaction):
    """`ctx.run` sends statement and parameters to the caller's transaction."""
    [[record]] = rows("test.run", "RETURN $x AS x", {"x": [1.0, None, "\\"]})

    assert record == {"given": {"x": [1.0, None, "\\"]}, "one": 1}
    assert transaction.asked[0].cypher == "RETURN $x AS x"


@pytest.mark.not_over_http("it has no transaction")
def test_async_bodies_may_run_statements_at_once(rows):
    """Statements of concurrent tasks of one async body are served one after the other."""
    found = rows("test.runAsync", "RETURN $x AS x", {"x": 1})

    assert [value["given"] for [value] in found] == [{"x": 1}, {}]


@pytest.mark.not_over_http("it has no transaction")
@pytest.mark.parametrize("name", ["test.run", "test.swallow"])
def test_a_failed_statement_dooms_the_call(rows, name):
    """A statement that failed fails the call, even when the body swallows the error."""
    with pytest.raises(CallError, match="Invalid input") as caught:
        rows(name, "FAIL")

    assert caught.value.code == "SC-206"
    assert caught.value.details == {"neo4jCode": "Neo.ClientError.Statement.SyntaxError"}


@pytest.mark.parametrize(
    "code",
    [
        *("SC-210", "SC-213", "SC-210] [x", "SC-651", "SC-000"),
        *("SC-999] [x", "kg.a\n", "kg.a b", "kg.\0", "", "x" * 101),
    ],
)
def test_a_function_speaks_with_a_code_of_its_own(rows, code):
    """Callers act on codes of the bridge, and a code that is not a word blurs an error's text."""
    with pytest.raises(CallError, match="It failed") as caught:
        rows("http.fail", code, False)

    assert caught.value.code == "SC-201"


def test_the_codes_of_shipped_procedures_are_those_of_functions(rows):
    """Their errors are a function's like any other."""
    with pytest.raises(CallError) as caught:
        rows("http.fail", "SC-503", False)

    assert caught.value.code == "SC-503"


SECRET = "hunter2-payload"


@pytest.mark.parametrize(
    ("kind", "code", "told"),
    [
        ("author", "kg.no-such-index", "No index `people`"),
        ("value", "SC-202", "ValueError"),
        ("exit", "SC-202", "SystemExit"),
        ("str", "SC-202", "_Unprintable"),
        ("deep", "SC-202", "RecursionError"),
        ("name", "SC-202", r"failed with A__SC_999__x{88,90} in call"),
        ("row", "SC-205", "returned a dict where a row is expected"),
        ("column", "SC-205", "The column `value` of `test.fail` is a Python int where STRING"),
        ("surrogate", "SC-205", "half of a surrogate pair"),
    ],
)
def test_each_failure_has_its_code_and_tells_no_payload(rows, capfd, kind, code, told):
    """A failure names the procedure and its kind; no value shows up in error or log."""
    with pytest.raises(CallError, match=told) as caught:
        rows("test.fail", kind, SECRET)

    assert caught.value.code == code
    shown = f"{caught.value} {caught.value.hint} {caught.value.details} {capfd.readouterr()}"
    assert SECRET not in shown


def test_the_sidecar_survives_every_failure(rows):
    """After a body has raised whatever it likes, the next call is served."""
    for kind in ("value", "exit", "str", "deep"):
        with pytest.raises(CallError):
            rows("test.fail", kind, "")
    for kind in ("value", "exit"):
        with pytest.raises(CallError):
            rows("test.failAsync", kind)

    assert rows("test.echo", "alive") == [["alive"]]
    assert rows("test.echoAsync", "alive") == [["alive"]]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "told"),
    [
        ("test.nothing", [], "SC-203", "no procedure `test.nothing`"),
        ("test.echo", [], "SC-204", "without its argument `value`"),
        ("test.echo", ["a", "b"], "SC-204", "takes 1 arguments and was given 2"),
        ("test.echo", [1], "SC-204", "`value` of `test.echo` is an INTEGER where STRING"),
        ("test.echo", [None], "SC-204", "is null where STRING"),
        ("test.count", [1.5], "SC-204", "is a FLOAT where INTEGER"),
        ("test.count", [True], "SC-204", "is a BOOLEAN where INTEGER"),
        ("test.count", [date(2024, 1, 1)], "SC-204", "is a DATE where INTEGER"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(rows, name, arguments, code, told):
    """Wrong numbers and types of arguments are refused, naming procedure and argument."""
    with pytest.raises(CallError, match=told) as caught:
        rows(name, *arguments)

    assert caught.value.code == code


def test_a_call_that_takes_too_long_fails_with_its_deadline(stand):
    """An async body that outlives the deadline is cancelled and the caller told so."""
    client = Client(memory(stand.dispatcher), stand.signatures, timeout=0.1)

    with pytest.raises(CallError, match="did not answer within its time") as caught:
        list(client.rows("test.hangAsync", 30.0))

    assert caught.value.code == "SC-213"
    wait_until(lambda: len(stand.dispatcher.calls) == 0)


def test_another_signature_is_a_mismatch(stand):
    """A plugin built from another signature is told to be rebuilt; other procedures run."""
    client = Client(memory(stand.dispatcher), stand.signatures | {"test.echo": "0" * 16})

    with pytest.raises(CallError, match=r"disagree about `test\.echo`") as caught:
        list(client.rows("test.echo", "x"))

    assert caught.value.code == "SC-217"
    assert list(client.rows("test.maybe", True)) == [["there"]]
