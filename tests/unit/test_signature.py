"""Annotations become a Cypher signature, or the import fails and says what to write."""

import collections.abc
import inspect
import types
import typing
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from conformance.cases import nested_list

from sidecypher import (
    Context,
    DateTime,
    Description,
    Duration,
    LocalDateTime,
    LocalTime,
    Node,
    OpaqueTemporal,
    Path,
    Point,
    Relationship,
    Row,
    Time,
)
from sidecypher.errors import SignatureError
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.sdk.signature.names import RESERVED_NAMESPACES, camel_case, check_procedure_name
from sidecypher.sdk.signature.reader import read_columns, read_function_signature, read_signature
from sidecypher.values.cypher import CypherType


class Found(Row):
    value: int


class Empty(Row):
    pass


def taking(annotation, *default):
    """Return a body with one parameter of this type, and perhaps a default."""

    def body(value):
        raise NotImplementedError

    body.__annotations__ = {"value": annotation, "return": Found}
    body.__defaults__ = default or None
    return body


def giving(annotation):
    """Return a body with this return type."""

    def body():
        raise NotImplementedError

    body.__annotations__ = {"return": annotation}
    return body


def taking_named(name):
    """Return a body whose one parameter, an `int`, has this name."""
    body = taking(int)
    body.__code__ = body.__code__.replace(co_varnames=(name,))
    body.__annotations__ = {name: int, "return": Found}
    return body


def row(name, **columns):
    """Return a Row class with these columns."""
    return type(Row)(name, (Row,), {"__annotations__": columns, "__module__": __name__})


def refused(body):
    """Return the error of a body that cannot be a procedure; it names the body and its place."""
    with pytest.raises(SignatureError) as caught:
        read_signature(body)
    error = caught.value
    assert error.code == "SC-101"
    assert error.hint
    assert f"(test_signature.py:{body.__code__.co_firstlineno})" in error.message
    assert f"`{body.__qualname__}`" in error.message
    return error


ANY = CypherType("ANY", nullable=True)

TYPES = [
    (bool, CypherType("BOOLEAN"), "BOOLEAN"),
    (int, CypherType("INTEGER"), "INTEGER"),
    (float, CypherType("FLOAT"), "FLOAT"),
    (str, CypherType("STRING"), "STRING"),
    (date, CypherType("DATE"), "DATE"),
    (datetime, CypherType("ZONED DATETIME"), "ZONED DATETIME"),
    (DateTime, CypherType("ZONED DATETIME"), "ZONED DATETIME"),
    (LocalDateTime, CypherType("LOCAL DATETIME"), "LOCAL DATETIME"),
    (time, CypherType("ZONED TIME"), "ZONED TIME"),
    (Time, CypherType("ZONED TIME"), "ZONED TIME"),
    (LocalTime, CypherType("LOCAL TIME"), "LOCAL TIME"),
    (Duration, CypherType("DURATION"), "DURATION"),
    (bytes, CypherType("BYTES"), "BYTES"),
    (Point, CypherType("POINT"), "POINT"),
    (Node, CypherType("NODE"), "NODE"),
    (Relationship, CypherType("RELATIONSHIP"), "RELATIONSHIP"),
    (Path, CypherType("PATH"), "PATH"),
    (list[Node | None], CypherType("LIST", CypherType("NODE", None, True)), "LIST<NODE>"),
    (Any, ANY, "ANY"),
    (object, ANY, "ANY"),
    (list, CypherType("LIST", ANY), "LIST<ANY>"),
    (list[int], CypherType("LIST", CypherType("INTEGER")), "LIST<INTEGER>"),
    (typing.List[str], CypherType("LIST", CypherType("STRING")), "LIST<STRING>"),  # noqa: UP006
    (
        list[list[LocalDateTime]],
        CypherType("LIST", CypherType("LIST", CypherType("LOCAL DATETIME"))),
        "LIST<LIST<LOCAL DATETIME>>",
    ),
    (list[int | None], CypherType("LIST", CypherType("INTEGER", None, True)), "LIST<INTEGER>"),
    (dict, CypherType("MAP", ANY), "MAP"),
    (dict[str, Any], CypherType("MAP", ANY), "MAP"),
    (dict[str, list[float]], CypherType("MAP", CypherType("LIST", CypherType("FLOAT"))), "MAP"),
    (int | None, CypherType("INTEGER", nullable=True), "INTEGER"),
    (Optional[str], CypherType("STRING", nullable=True), "STRING"),  # noqa: UP045
    (Union[None, date], CypherType("DATE", nullable=True), "DATE"),  # noqa: UP007
    (LocalDateTime | None, CypherType("LOCAL DATETIME", nullable=True), "LOCAL DATETIME"),
    (dict[str, int] | None, CypherType("MAP", CypherType("INTEGER"), True), "MAP"),
    (Any | None, ANY, "ANY"),
    (Annotated[int, "a note of another tool"], CypherType("INTEGER"), "INTEGER"),
    ("list[int]", CypherType("LIST", CypherType("INTEGER")), "LIST<INTEGER>"),
]


@pytest.mark.parametrize(("annotation", "kind", "text"), TYPES, ids=str)
def test_each_accepted_annotation_has_its_cypher_type(annotation, kind, text):
    """An annotation that is accepted gives the same type to a parameter and to a column."""
    [parameter] = read_signature(taking(annotation)).parameters
    [column] = read_signature(giving(row("One", value=annotation))).columns

    assert parameter.type == column.type == kind
    assert str(parameter.type) == text


@pytest.mark.parametrize(
    "annotation",
    [
        bytearray,
        timedelta,
        complex,
        set[int],
        tuple[int, int],
        Decimal,
        int | str,
        int | str | None,
        None,
        dict[int, str],
        dict[Any, Any],
        list[bytearray],
        dict[str, bytearray],
        collections.abc.Sequence,
        Found,
        type,
        OpaqueTemporal,
        typing.Generic[typing.TypeVar("T")],
        Annotated[Decimal, "a note"],
    ],
    ids=str,
)
def test_another_annotation_is_refused_with_the_list_of_types(annotation):
    """A type that Cypher does not have is refused; the hint lists those it has."""
    parameter = refused(taking(annotation))
    column = refused(giving(row("One", value=annotation)))

    assert "parameter `value`" in parameter.message
    assert "column `One.value`" in column.message
    assert parameter.hint.startswith("Use bool, int, float, str, bytes")
    for name in ("time", "LocalTime", "datetime", "LocalDateTime", "Path", "Any"):
        assert f" {name}, " in parameter.hint


LITERALS = [
    (Literal["a", "b"], CypherType("STRING", allowed=("a", "b"))),
    (Literal["ä", ""], CypherType("STRING", allowed=("ä", ""))),
    (Literal[1, -2], CypherType("INTEGER", allowed=(1, -2))),
    (Literal["a", None], CypherType("STRING", nullable=True, allowed=("a",))),  # noqa: PYI061
    (Literal["a"] | None, CypherType("STRING", nullable=True, allowed=("a",))),
    (Annotated[Literal["a"], "a note"], CypherType("STRING", allowed=("a",))),
    (Literal["a", "b"], CypherType("STRING", allowed=("a", "b"))),
]


@pytest.mark.parametrize(("annotation", "kind"), LITERALS, ids=str)
def test_a_literal_is_a_type_with_few_values(annotation, kind):
    """A Literal of texts is a STRING, one of integers an INTEGER, that allows these values only."""
    [parameter] = read_signature(taking(annotation)).parameters
    [column] = read_signature(giving(row("One", value=annotation))).columns

    assert parameter.type == column.type == kind
    assert str(parameter.type) == kind.name


@pytest.mark.parametrize(
    "annotation",
    [
        Literal["a", 1],
        Literal[True],
        Literal[1, True],
        Literal[b"a"],
        Literal[None],  # noqa: PYI061
        Literal[2**63],
        Literal[typing.cast("Any", ReturnKind.ROW)],
        list[Literal["a", 1]],
    ],
    ids=str,
)
def test_a_literal_that_mixes_types_is_refused(annotation):
    """A Literal must be all texts or all 64-bit integers."""
    error = refused(taking(annotation))

    assert "annotates the parameter `value` with a Literal that is neither" in error.message
    assert "Literal[1, 2]" in error.hint


@pytest.mark.parametrize(
    ("annotation", "answer"),
    [
        (Found, ReturnKind.ROW),
        (Found | None, ReturnKind.OPTIONAL_ROW),
        (Optional[Found], ReturnKind.OPTIONAL_ROW),  # noqa: UP045
        (list[Found], ReturnKind.LIST),
        (Iterator[Found], ReturnKind.ITERATOR),
        (Annotated[Found, "a note"], ReturnKind.ROW),
    ],
    ids=str,
)
def test_the_return_type_tells_how_rows_come(annotation, answer):
    """One row, perhaps a row, a list and an iterator are told apart by the annotation."""
    signature = read_signature(giving(annotation))

    assert (signature.row, signature.returns) == (Found, answer)


def test_async_bodies_answer_as_plain_ones_do():
    """An async function returns rows; an async generator is annotated `AsyncIterator`."""

    async def one() -> Found:
        raise NotImplementedError

    async def stream() -> AsyncIterator[Found]:
        yield Found(value=1)

    assert read_signature(one).returns is ReturnKind.ROW
    assert read_signature(stream).returns is ReturnKind.ITERATOR


async def _iterator_from_async() -> Iterator[Found]:
    yield Found(value=1)


async def _stream_from_coroutine() -> Iterator[Found]:
    raise NotImplementedError


@pytest.mark.parametrize(
    "body",
    [
        giving(int),
        giving(dict[str, int]),
        giving(Row),
        giving(list[Row]),
        giving(list[int]),
        giving(Found | int),
        giving(Iterator[int]),
        giving(AsyncIterator[Found]),
        _iterator_from_async,
        _stream_from_coroutine,
    ],
    ids=lambda body: f"{body.__name__} {body.__annotations__['return']}",
)
def test_a_return_type_without_rows_is_refused(body):
    """A body whose annotation gives no rows of a Row class of its own is refused."""
    error = refused(body)

    assert "has no return type with rows" in error.message
    assert "Return a Row, dataclass or model" in error.hint


def test_a_body_without_return_type_is_refused():
    """A body that does not say what it returns is refused."""

    def body(value: int):
        raise NotImplementedError

    assert "has no return type with rows" in refused(body).message


def test_a_body_that_returns_none_has_no_columns():
    """`-> None` makes a void procedure: no rows and no columns."""
    signature = read_signature(giving(None))

    assert (signature.returns, signature.columns) == (ReturnKind.VOID, ())


def test_a_generator_cannot_return_none():
    """A generator that is annotated with None would lose its rows."""

    def body() -> None:
        yield

    async def later() -> None:
        yield

    for generator in (body, later):
        error = refused(generator)
        assert "is a generator that returns no rows" in error.message
        kind = "AsyncIterator" if generator is later else "Iterator"
        assert error.hint == f"Return `{kind}[MyRow]`."


async def _yields_later():
    yield


def _yields():
    yield


@pytest.mark.parametrize("body", [_yields, _yields_later])
@pytest.mark.parametrize("annotation", [Found, Found | None, list[Found]], ids=str)
def test_a_generator_is_annotated_as_a_stream(body, annotation):
    """A generator that is annotated with a row or a list of rows would fail at every call."""

    body = types.FunctionType(body.__code__, {})
    body.__annotations__ = {"return": annotation}
    error = refused(body)

    assert "is a generator, and its return type is not a stream" in error.message
    kind = "AsyncIterator" if body.__name__ == "_yields_later" else "Iterator"
    assert error.hint == f"Return `{kind}[MyRow]`."


def test_a_function_gives_one_value():
    """A function's return annotation is the type of its one value."""

    def body(ctx: Context, text: str = "") -> list[int] | None:
        raise NotImplementedError

    signature = read_function_signature(body)

    assert (signature.returns, signature.takes_context) == (ReturnKind.VALUE, True)
    assert [(each.name, str(each.type), each.type.nullable) for each in signature.columns] == [
        ("value", "LIST<INTEGER>", True)
    ]
    assert [parameter.name for parameter in signature.parameters] == ["text"]


def test_what_gives_no_one_value_is_no_function():
    """A function without a result type, with rows, or as a generator is refused."""

    def untyped(x: int):
        raise NotImplementedError

    def rows() -> Found:
        raise NotImplementedError

    def void() -> None:
        raise NotImplementedError

    def generator() -> list[int]:
        yield 1

    for body, told in [
        (untyped, "has no return type"),
        (rows, "annotates its result with a type that is not a Cypher type"),
        (void, "annotates its result with a type that is not a Cypher type"),
        (generator, "is a generator, and a function returns one value"),
    ]:
        with pytest.raises(SignatureError) as caught:
            read_function_signature(body)
        assert told in caught.value.message
        assert caught.value.hint


def test_a_row_without_columns_is_refused():
    """A Row class without columns is refused by its name."""
    error = refused(giving(Empty))

    assert "returns `Empty`, which has no columns" in error.message
    assert error.hint == "Annotate one."


def test_the_context_is_not_an_argument_of_cypher():
    """A first parameter annotated as `Context` gets the context, whatever its name is."""

    def usual(ctx: Context, value: int) -> Found:
        raise NotImplementedError

    def named(context: "Context", value: int) -> Found:
        raise NotImplementedError

    for body in (usual, named):
        signature = read_signature(body)

        assert signature.takes_context
        assert [parameter.name for parameter in signature.parameters] == ["value"]
    assert not read_signature(taking(int)).takes_context


def test_a_parameter_named_ctx_must_be_the_context():
    """A first parameter `ctx` without an annotation, or with another one, is refused."""

    def bare(ctx, value: int) -> Found:
        raise NotImplementedError

    def other(ctx: str, value: int) -> Found:
        raise NotImplementedError

    for body in (bare, other):
        error = refused(body)
        assert "has a parameter `ctx` that is not annotated as the context" in error.message
        assert "`ctx: Context`" in error.hint


def test_the_context_is_the_first_parameter():
    """A context after another parameter is refused by its name."""

    def body(value: int, context: Context) -> Found:
        raise NotImplementedError

    error = refused(body)

    assert "has the context as its parameter `context`, which is not the first" in error.message


def test_names_become_camel_case_and_attributes_stay():
    """Cypher sees camelCase; the Row is still read by its Python attribute."""

    def body(node_id: int, max_score_2: float) -> row("One", element_id=str, plain=int):  # type: ignore[valid-type]
        raise NotImplementedError

    signature = read_signature(body)

    assert [parameter.name for parameter in signature.parameters] == ["nodeId", "maxScore2"]
    assert [(column.name, column.attribute) for column in signature.columns] == [
        ("elementId", "element_id"),
        ("plain", "plain"),
    ]


def test_columns_keep_their_order_and_those_of_a_base_come_first():
    """Columns are in the order of the class, inherited ones before its own."""

    class Base(Row):
        zeta: int
        alpha: str

    class Derived(Base):
        beta: float

    columns = read_signature(giving(Derived)).columns

    assert [column.name for column in columns] == ["zeta", "alpha", "beta"]


def test_a_description_is_kept_beside_the_type():
    """`Annotated[T, Description(...)]` describes a column and leaves its type as it is."""
    described = row(
        "One",
        score=Annotated[float, Description("0..1")],
        at=Annotated[LocalDateTime, Description("local")],
        plain=int,
    )

    columns = read_signature(giving(described)).columns

    assert [(str(column.type), column.description) for column in columns] == [
        ("FLOAT", "0..1"),
        ("LOCAL DATETIME", "local"),
        ("INTEGER", ""),
    ]


def test_a_parameter_can_have_a_description():
    """`Annotated[T, Description(...)]` describes a parameter and leaves its type as it is."""
    [described] = read_signature(taking(Annotated[int | None, Description("most rows")])).parameters
    [plain] = read_signature(taking(int)).parameters

    assert (str(described.type), described.description) == ("INTEGER", "most rows")
    assert plain.description == ""


def _any_number(*values: int) -> Found:
    raise NotImplementedError


def _keyword_only(*, value: int) -> Found:
    raise NotImplementedError


def _keywords(**values: int) -> Found:
    raise NotImplementedError


@pytest.mark.parametrize("body", [_any_number, _keyword_only, _keywords])
def test_only_plain_parameters_are_accepted(body):
    """`*args`, keyword-only parameters and `**kwargs` have no form in Cypher."""
    error = refused(body)

    assert "Cypher has only positional ones" in error.message
    assert error.hint == "Take a LIST or a MAP."


def test_a_parameter_may_be_positional_only():
    """Arguments are passed by their position, so a function may ask for that."""

    def body(value: int, /, other: int = 1) -> Found:
        raise NotImplementedError

    assert [each.name for each in read_signature(body).parameters] == ["value", "other"]


def test_a_parameter_without_type_is_refused():
    """A missing annotation is refused by name, with an example."""

    def body(node, limit: int) -> Found:
        raise NotImplementedError

    error = refused(body)

    assert "has no type for `node`" in error.message
    assert error.hint == "Write `node: str`, say."


def test_an_unknown_name_in_annotations_is_refused():
    """A forward reference to nothing is refused by that name."""

    def body(value: "Nowhere") -> Found:  # type: ignore[name-defined]  # noqa: F821
        raise NotImplementedError

    error = refused(body)

    assert "uses the unknown name `Nowhere`" in error.message
    assert error.hint == "Import it."


@pytest.mark.parametrize(
    "name",
    ["wait", "notify", "notify_all", "clone", "finalize", "hash_code", "to_string", "get_class"],
)
def test_columns_that_java_records_cannot_have_are_refused(name):
    """A column whose name is a method of every Java object is refused; a parameter may have it."""
    assert f"has the column `{name}`" in refused(giving(row("One", **{name: int}))).message

    [parameter] = read_signature(taking_named(name)).parameters

    assert parameter.name == camel_case(name)


@pytest.mark.parametrize("name", ["int", "null", "true", "goto", "switch", "class_", "import_"])
def test_columns_that_are_java_keywords_are_refused(name):
    """A column whose Cypher name is a Java keyword is refused."""
    error = refused(giving(row("One", **{name: int})))

    assert f"has the column `{name}`, which cannot be a name in Java or Cypher" in error.message
    assert "no Java keyword" in error.hint


@pytest.mark.parametrize("name", ["Value", "_value", "größe", "naïve", "VALUE", "_One__v", "ünit"])
def test_names_are_ascii_and_begin_in_lower_case(name):
    """A column or parameter that is not a plain camelCase name is refused."""
    assert f"has the column `{name}`" in refused(giving(row("One", **{name: int}))).message
    assert f"has the parameter `{name}`" in refused(taking_named(name)).message


def test_more_than_java_can_pass_is_refused():
    """A Java method has 255 slots for arguments, one of them for `this`."""
    names = [f"p{number}" for number in range(255)]
    wide = dict.fromkeys(names, int)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names
    ]

    def body(*_values) -> Found: ...

    body.__signature__ = inspect.Signature(parameters)
    body.__annotations__ = wide | {"return": Found}
    row = type("Wide", (Row,), {"__annotations__": wide})

    with pytest.raises(SignatureError, match="has 255 parameters, and Java allows 254"):
        read_signature(body)
    with pytest.raises(SignatureError, match="has 255 columns, and Java allows 254"):
        read_columns(row)


def test_names_that_meet_in_camel_case_are_refused():
    """Two names that are one in Cypher are refused, for columns and for parameters."""

    def body(node_id: int, nodeId: int) -> Found:  # noqa: N803
        raise NotImplementedError

    columns = refused(giving(row("One", a_b=int, aB=int)))

    assert "has two columns that are both `aB` in Cypher" in columns.message
    assert columns.hint == "Rename one of them."
    assert "has two parameters that are both `nodeId` in Cypher" in refused(body).message


DEFAULTS = [
    (bool, True, "true"),
    (bool, False, "false"),
    (int, 0, "0"),
    (int, -(2**63), "-9223372036854775808"),
    (int, 2**63 - 1, "9223372036854775807"),
    (float, 0.5, "0.5"),
    (float, 2, "2.0"),
    (float, 1e300, "1e+300"),
    (float, -0.0, "-0.0"),
    (str, "", ""),
    (str, "null", "null"),
    (str, 'it\'s \\ "raw" \n', 'it\'s \\ "raw" \n'),
    (list[int], [], "[]"),
    (list[float], [1, 2.5], "[1.0, 2.5]"),
    (list[str], ["it's", "\\", "\n"], "['it\\'s', '\\\\', '\n']"),
    (list[int | None], [1, None], "[1, null]"),
    (list[list[bool]], [[True], []], "[[true], []]"),
    (list, [1, "a", None, [2.0]], "[1, 'a', null, [2.0]]"),
    (dict[str, Any], {}, "{}"),
    (dict[str, Any], {"a": 1, "b": {"c": [None, "x"]}}, "{a: 1, b: {c: [null, 'x']}}"),
    (dict[str, Any], {"two words": 1, "`": 2, "": 3}, "{`two words`: 1, ````: 2, ``: 3}"),
    (dict[str, float], {"a": 1}, "{a: 1.0}"),
    (int | None, 5, "5"),
    (Literal["a", "b"], "b", "b"),
    (Literal[1, 2], 2, "2"),
    (list[Literal["a"]], ["a"], "['a']"),
]


@pytest.mark.parametrize(("annotation", "value", "text"), DEFAULTS, ids=repr)
def test_a_default_is_a_literal_that_neo4j_reads(annotation, value, text):
    """A default that Cypher can write is written: STRING as it stands, the rest as a literal."""
    default = read_signature(taking(annotation, value)).parameters[0].default

    assert (default.value, default.text, default.by_null) == (value, text, False)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int | None, None),
        (str | None, None),
        (list[int] | None, None),
        (Any, None),
        (Any, 5),
        (date, date(2024, 2, 29)),
        (datetime, datetime(2024, 2, 29, tzinfo=UTC)),
        (LocalDateTime, datetime(2024, 2, 29)),  # noqa: DTZ001
        (time, time(10, tzinfo=UTC)),
        (LocalTime, time(10)),
        (Duration, Duration(months=1)),
        (Point, Point(4326, 1.0, 2.0)),
        (bytes, b"abc"),
        (float, float("nan")),
        (float, float("inf")),
        (list, [float("nan")]),
        (list[date], []),
        (list[list[Duration]], [[Duration()]]),
        (list[int], list(range(10_000))),
        (str, "x" * 20_001),
        (list, nested_list(40)),
        (dict[str, Any], {"\\u0041": 2}),
        (dict[str, Any], {"a": date(2024, 1, 1)}),
        (date, OpaqueTemporal("DATE", "-0044-03-15")),
        (Literal["a"] | None, None),
        (Node | None, None),
        (date | None, None),
    ],
    ids=str,
)
def test_a_default_that_neo4j_cannot_hold_is_stood_for_by_null(annotation, value):
    """None, dates and defaults of ANY cross as null, which means the Python default."""
    default = read_signature(taking(annotation, value)).parameters[0].default

    assert (repr(default.value), default.text, default.by_null) == (repr(value), "null", True)


def test_a_parameter_without_default_has_none():
    """A required parameter has no default at all."""
    assert read_signature(taking(int)).parameters[0].default is None


@pytest.mark.parametrize(
    "annotation", [bool, int, float, str, date, datetime, LocalDateTime, list[int], dict], ids=str
)
def test_none_is_a_default_only_where_null_is_allowed(annotation):
    """A None default without `| None` is refused, with what to write."""
    error = refused(taking(annotation, None))

    assert "has the default None for `value`" in error.message
    assert error.hint == "Write `value: ... | None = None`."


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, 1.0),
        (int, True),
        (int, 2**63),
        (int, -(2**63) - 1),
        (bool, 1),
        (float, "1.0"),
        (float, True),
        (str, 5),
        (str, b"hunter2"),
        (str, "\ud800"),
        (list[int], {1, 2}),
        (list[int], ["1"]),
        (list[int], [None]),
        (list, [range(2)]),
        (dict[str, int], [1]),
        (dict[str, int], {"a": "b"}),
        (dict[str, Any], {1: 2}),
        (date, "hunter2"),
        (date, datetime(2024, 2, 29)),  # noqa: DTZ001
        (datetime, datetime(2024, 2, 29)),  # noqa: DTZ001
        (LocalDateTime, datetime(2024, 2, 29, tzinfo=UTC)),
        (time, time(10)),
        (LocalTime, time(10, tzinfo=UTC)),
        (Duration, timedelta(1)),
        (Point, Point(1, 2.0, 3.0)),
        (bytes, "hunter2"),
        (list[date], [datetime(2024, 2, 29)]),  # noqa: DTZ001
        (Any, {1}),
        (Literal["a", "b"], "hunter2"),
        (Literal[1, 2], 3),
    ],
    ids=repr,
)
def test_a_default_of_another_type_is_refused(annotation, value):
    """A default that is not a value of the annotated type is refused, without showing the value."""
    error = refused(taking(annotation, value))

    assert "has a default for `value` that " in error.message
    assert "hunter2" not in error.message
    assert error.hint == "Write a default of the annotated type, or `| None = None`."


@pytest.mark.parametrize(
    "name", ["kg.score", "a.b", "deep.name.space.go", "kg.v2Score", "KG.Score"]
)
def test_a_namespace_and_a_name_are_a_procedure_name(name):
    """Letters and digits in at least two parts are a procedure's name."""
    assert check_procedure_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "score",
        "kg.",
        ".score",
        "kg..score",
        "kg.1score",
        "1kg.score",
        "kg.my_score",
        "kg.my-score",
        "kg.score\n",
        " kg.score",
        "kg.score() YIELD x //",
        "kg.`score`",
        "kg.größe",
        "kg.score\0",
        "kg." + "a" * 198,
    ],
)
def test_anything_else_is_no_procedure_name(name):
    """A name without namespace or with another character is refused, with an example."""
    with pytest.raises(SignatureError, match="is not a procedure name") as caught:
        check_procedure_name(name)

    assert "`kg.score`" in caught.value.hint
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("namespace", sorted(RESERVED_NAMESPACES))
def test_namespaces_of_neo4j_are_refused(namespace):
    """A namespace that Neo4j keeps for itself is refused as the first part, and only there."""
    with pytest.raises(SignatureError, match=f"namespace `{namespace}`, which Neo4j keeps"):
        check_procedure_name(f"{namespace}.score")
    assert check_procedure_name(f"kg.{namespace}.score")


@pytest.mark.parametrize("name", ["kg.class", "int.score", "kg.null.score", "kg.true", "new.score"])
def test_java_keywords_are_refused_in_every_part(name):
    """No part of a procedure's name may be a Java keyword."""
    with pytest.raises(SignatureError, match="holds the Java keyword"):
        check_procedure_name(name)


def test_a_row_takes_keywords_only_and_has_slots():
    """A Row is built by keyword, compares by value and takes no other attribute."""
    made = Found(value=1)

    assert made == Found(value=1)
    assert repr(made) == "Found(value=1)"
    with pytest.raises(TypeError):
        Found(1)
    with pytest.raises(AttributeError):
        made.other = 2
    assert not hasattr(made, "__dict__")
