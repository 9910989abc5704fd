"""What authors, operators and strangers get wrong in ways nobody expects."""

import contextlib
import enum
import sys
import typing

import pytest
from fix_describe import describe

from sidecypher import Description, Row, procedure
from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.errors import (
    ArgumentError,
    CallError,
    RunFolderError,
    SettingsError,
    SidecypherError,
    SignatureError,
    ValueTypeError,
)
from sidecypher.host.credentials import load_credentials
from sidecypher.host.limits import Limits
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.sdk.registry import Registry
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.reader import read_signature
from sidecypher.telemetry.calls import Telemetry
from sidecypher.testing import ProcedureEnvironment
from sidecypher.transport._messages import Messages
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType


class Number(Row):
    value: int


class Text(Row):
    value: str


class Anything(Row):
    value: typing.Any


class Unknown(Row):
    value: "Nope"  # noqa: F821


@pytest.fixture
def dispatcher():
    """A dispatcher whose only procedure takes any value."""

    def body(x: typing.Any) -> Number: ...

    loop = EventLoop()
    registry = Registry([describe(body, "kg.any", "READ", 1)])
    yield Dispatcher(registry, loop, Resources(), Telemetry(), Limits())
    loop.stop()


def test_an_argument_that_nests_too_deeply_is_an_argument_error():
    """A list nested deeper than Python recurses is refused by the argument's name."""

    def body(x: typing.Any) -> Number: ...

    nested = []
    for _ in range(sys.getrecursionlimit()):
        nested = [nested]

    with pytest.raises(ArgumentError, match=r"`x` of `kg\.any` nests too deeply"):
        describe(body, "kg.any", "READ", 1).arguments([nested])


def test_a_message_that_nests_too_deeply_is_answered(dispatcher):
    """A deep message gets an error as its answer, or ends its connection; no thread dies of it."""
    signature = dispatcher.registry.get("kg.any").entry.signature
    depth = sys.getrecursionlimit() - 100
    request = (
        f'{{"id":"1","name":"kg.any","signature":"{signature}","args":[{"[" * depth}{"]" * depth}],'
        '"remaining_ms":1000,"mode":"READ","database":"","user":""}'
    )

    with contextlib.suppress(SidecypherError):
        reply = Messages(dispatcher).answer("call", request.encode(), Session(run, jvm="j"))
        assert b'"error"' in reply


def run(_method, request):
    return request


def test_a_row_that_holds_itself_names_its_column():
    """A cyclic value is an error of its column, not a crash."""
    cycle = []
    cycle.append(cycle)

    @procedure("kg.cycle")
    def body() -> Anything:
        return Anything(value=cycle)

    with ProcedureEnvironment(body) as environment, pytest.raises(CallError) as caught:
        environment.call("kg.cycle")

    assert caught.value.code == "SC-205"
    assert "`value`" in caught.value.message


@pytest.mark.parametrize("around", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_a_value_nests_ninety_levels_deep(around):
    """Ninety lists or maps in each other are written, and one more is refused."""
    value = 1
    for _ in range(90):
        value = around(value)

    assert encoder(CypherType("ANY"))(value) == value
    with pytest.raises(ValueTypeError, match="nests deeper than 90 levels"):
        encoder(CypherType("ANY"))(around(value))


@pytest.mark.parametrize("kind", ["INTEGER", "ANY"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_integers_outside_64_bits_are_not_read(kind, value):
    """An integer that Cypher cannot hold is refused on its way in as well."""
    with pytest.raises(ValueTypeError, match="outside 64 bits"):
        decoder(CypherType(kind))(value)


def test_a_time_that_no_clock_holds_is_a_protocol_error():
    """Milliseconds beyond a day are not time a peer may send."""
    with pytest.raises(SidecypherError):
        envelope.read(b'{"id":"1","remaining_ms":' + b"9" * 400 + b"}", envelope.PageRequest)


def test_a_member_of_a_text_enumeration_is_its_value():
    """Enumerations that are strings are written as their value, not their name."""

    class Colour(str, enum.Enum):  # noqa: UP042 - `str()` of its members is not their value
        RED = "red"

    assert encoder(CypherType("STRING"))(Colour.RED) == "red"


def bare_dict(x: typing.Dict) -> Number: ...  # noqa: UP006
def bare_list() -> typing.List: ...  # noqa: UP006
def bare_iterator() -> typing.Iterator: ...
def huge_default(x: float = 10**400) -> Number: ...
def unknown_in_row() -> Unknown: ...
def no_expression(x: "int int") -> Number: ...  # noqa: F722
def no_attribute(x: "enum.nope") -> Number: ...


@pytest.mark.parametrize(
    "function",
    [bare_list, bare_iterator, huge_default, unknown_in_row, no_expression, no_attribute],
)
def test_odd_annotations_are_signature_errors(function):
    """Whatever an annotation holds, reading it gives an error that names the function."""
    with pytest.raises(SignatureError, match=f"`{function.__name__}`"):
        read_signature(function)


def test_a_bare_dict_is_a_map():
    """`typing.Dict` without parameters is a MAP of anything."""
    assert str(read_signature(bare_dict).parameters[0].type) == "MAP"


def test_a_description_inside_a_union_is_kept():
    """`Annotated[float, Description(...)] | None` describes its column."""

    class Scored(Row):
        value: typing.Annotated[float, Description("0..1")] | None

    def body() -> Scored: ...

    assert read_signature(body).columns[0].description == "0..1"


def test_the_decorator_without_a_name_is_refused():
    """`@procedure` without parentheses says how it is written."""
    with pytest.raises(SignatureError, match="without a name"):

        @procedure
        def body() -> Number: ...


def test_a_tiny_timeout_is_not_none():
    """A timeout below a millisecond counts as one; 0 would mean the default."""

    def body() -> Number: ...

    assert describe(body, "kg.a", "READ", 0.0001).entry.timeout_ms == 1


def test_an_exception_without_a_text_leaves_its_module_out(tmp_path):
    """An exception at import whose text cannot be had is told by its type."""
    (tmp_path / "bad.py").write_text(
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n"
    )

    [failure] = load([tmp_path]).failures

    assert (failure.module, failure.reason) == ("bad.py", "Odd at import")


def test_a_module_may_import_a_later_one(tmp_path):
    """Procedures that one module imports from another are loaded once."""
    source = (
        "from sidecypher import Row, procedure\nclass R(Row):\n    v: int\n"
        "@procedure('kg.{0}')\ndef {0}() -> R:\n    return R(v=1)\n"
    )
    (tmp_path / "z.py").write_text(source.format("z"))
    (tmp_path / "a.py").write_text("from .z import z\n" + source.format("a"))

    loaded = load([tmp_path])

    assert loaded.failures == ()
    assert {found.name for found in loaded.registry} >= {"kg.a", "kg.z"}


def test_the_home_of_nobody_is_a_settings_error():
    """A home below an unknown user's is refused by the setting's name."""
    with pytest.raises(SettingsError, match="`home`"):
        load_settings({}, {"SIDECYPHER_HOME": "~nobody-there/x"})


@pytest.mark.parametrize("line", ['home = "a\\u0000b"', 'procedures = ["a", "b\\u0000c"]'])
def test_a_path_that_no_system_has_is_refused(tmp_path, line):
    """A file can name a path with a NUL, of which nothing can be read."""
    config = tmp_path / "odd.toml"
    config.write_text(line)

    with pytest.raises(SettingsError, match=f"`{line.split()[0]}`.* no NUL"):
        load_settings({}, {}, config=config)


def test_a_secret_file_that_is_no_text_is_named_by_its_variable(tmp_path):
    """A binary secret file is refused, naming the variable and not the path."""
    (tmp_path / "secret").write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsError, match="SIDECYPHER_NEO4J_PASSWORD_FILE"):
        load_settings({}, {"SIDECYPHER_NEO4J_PASSWORD_FILE": str(tmp_path / "secret")})


def test_a_home_that_cannot_be_made_is_a_named_error(tmp_path):
    """A run folder below a file is an error that says what to change."""
    (tmp_path / "file").write_text("")

    with pytest.raises(RunFolderError, match="run folder cannot be used"):
        load_credentials(tmp_path / "file" / "run")


def test_a_damaged_certificate_says_what_to_delete(tmp_path):
    """A certificate that cannot be read is an error with the way out."""
    load_credentials(tmp_path)
    (tmp_path / "certificate.pem").write_text("broken")

    with pytest.raises(RunFolderError) as caught:
        load_credentials(tmp_path)

    assert "`certificate.pem`" in caught.value.hint


def test_an_empty_token_file_opens_nothing(tmp_path):
    """An empty token is replaced; it would let everybody in."""
    load_credentials(tmp_path)
    (tmp_path / "token").write_bytes(b"\n")
    (tmp_path / "http-token").write_bytes(b"")
    credentials = load_credentials(tmp_path)

    assert len(credentials.token) == len(credentials.http_token) == 64


def test_invented_names_make_no_series_while_stopping(dispatcher):
    """Names that do not exist never become labels, also when calls are refused."""
    telemetry = dispatcher._telemetry
    dispatcher.refuse_new()
    request = (
        b'{"id":"1","name":"made.up","signature":"","args":[],'
        b'"remaining_ms":1,"mode":"","database":"","user":""}'
    )

    Messages(dispatcher).answer("call", request, Session(run, jvm="j"))

    samples = [each.labels for family in telemetry.metrics.collect() for each in family.samples]
    assert "made.up" not in str(samples)


def test_a_single_large_row_needs_one_message():
    """A row of a megabyte that is the only one is not followed by an empty page."""

    @procedure("kg.big")
    def body() -> Text:
        return Text(value="x" * (1024 * 1024))

    sent = []
    with ProcedureEnvironment(body) as environment:
        send = environment._client._send
        environment._client._send = lambda request: (sent.append(request), send(request))[1]
        environment.call("kg.big")

    assert [request.name for request in sent] == ["kg.big"]


def test_a_class_with_the_name_of_a_builtin_is_told_with_its_module():
    """A `bool` of numpy is not a Python `bool`, and the error says so."""
    foreign = type("bool", (), {"__module__": "numpy"})()

    with pytest.raises(ValueTypeError, match=r"is a Python numpy\.bool where BOOLEAN is expected"):
        encoder(CypherType("BOOLEAN"))(foreign)
