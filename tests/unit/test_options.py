"""A MAP of a call holds what its class of options says, or the error names the field."""

import copy
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Annotated, Any, List, Literal, Self  # noqa: UP035 - people still write it

import msgspec
import pytest
from fix_describe import describe
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
from pydantic import Field, field_validator, model_validator

from sidecypher import (
    Context,
    Description,
    LocalDateTime,
    Node,
    Options,
    ProcedureError,
    Row,
    function,
    procedure,
)
from sidecypher.errors import CallError, SignatureError
from sidecypher.operations.console._view import detail
from sidecypher.sdk.signature.reader import read_signature
from sidecypher.testing import ProcedureEnvironment
from sidecypher.transport.http.openapi import arguments_schema, openapi


class Seen(Row):
    seen: dict[str, Any]


class Freshness(Options):
    """How fresh an answer must be."""

    max_age: Annotated[float, Description("seconds an answer may be old"), Field(ge=0)] = 60.0
    api: Literal["auto", "rest", "graphql"] = "auto"


class Author(Options):
    name: str
    born: date | None = None


class Event(Freshness):
    """What happened."""

    type: Annotated[str, Field(min_length=1, max_length=20)]
    author: Author | None = None
    authors: Annotated[list[Author], Field(max_length=2)] = []
    counts: dict[str, int] = {}
    metadata: dict[str, Any] = {}
    at: datetime | None = None
    local: LocalDateTime | None = None
    node: Node | None = None
    value: Any = None
    parent_ids: list[int] = []
    grid: list[list[int]] = []
    ways: list[Literal["up", "down"]] = []
    order: Literal["", "ascending"] = ""
    code: Annotated[str, Field(min_length=2, max_length=2)] = "de"
    sender: str | Author = "me"
    start: int = 0
    end: int | None = None

    @field_validator("type")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "secret":
            raise ValueError("the type is kept for others")
        if value == "own":
            raise ProcedureError("No such type", code="kg.type")
        if value == "broken":
            raise KeyError(value)
        return value

    @model_validator(mode="after")
    def ordered(self) -> Self:
        if self.end is not None and self.end < self.start:
            raise ValueError("`end` is before `start`")
        return self


def seen(options: Any) -> Seen:
    """Return what a body was given, as a map."""
    return Seen(seen=options.model_dump(exclude={"author", "authors"}))


@procedure("test.fresh", batch=True)
def fresh(name: str, options: Freshness = Freshness()) -> Seen:
    return Seen(seen={"name": name, **options.model_dump()})


@procedure("test.event")
def event(event: Event) -> Seen:
    return seen(event)


@procedure("test.events")
async def events(ctx: Context, events: list[Event]) -> Seen:
    return Seen(seen={"types": [each.type for each in events]})


@procedure("test.maybe")
def maybe(options: Freshness | None = None) -> Seen:
    return Seen(seen={"given": options is not None})


@procedure("test.preset")
def preset(options: Freshness = Freshness(max_age=5)) -> Iterator[Seen]:
    yield seen(options)


@procedure("test.author")
def author(author: str | Author) -> Seen:
    return Seen(seen={"author": author if isinstance(author, str) else author.name})


@function("test.age")
def age(options: Freshness = Freshness()) -> float:
    return options.max_age


@pytest.fixture(scope="module")
def environment():
    with ProcedureEnvironment(fresh, event, events, maybe, preset, author, age) as environment:
        yield environment


def described(body):
    return body.__sidecypher_procedure__


def entry(body):
    return described(body).entry.parameters[-1]


def test_options_are_a_map_in_cypher():
    """A class of options is a MAP, a list of it a LIST<MAP>, and its default a map."""
    assert described(fresh).usage() == "test.fresh(name :: STRING, options :: MAP) :: (seen :: MAP)"
    assert entry(fresh).default.text == "{}"
    assert entry(fresh).nullable
    assert entry(preset).default.text == "{maxAge: 5.0}"
    assert (entry(event).type, entry(event).default, entry(event).nullable) == ("MAP", None, False)
    assert entry(events).type == "LIST<MAP>"
    assert entry(maybe).default.any


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("a",), {"max_age": 60.0, "api": "auto"}),
        (("a", {}), {"max_age": 60.0, "api": "auto"}),
        (("a", None), {"max_age": 60.0, "api": "auto"}),
        (("a", {"maxAge": None}), {"max_age": 60.0, "api": "auto"}),
        (("a", {"maxAge": 3, "api": "rest"}), {"max_age": 3.0, "api": "rest"}),
    ],
)
def test_an_absent_field_has_its_default(environment, arguments, given):
    """An absent map, a null, an absent field and a field of null give the default."""
    assert environment.call("test.fresh", *arguments) == [{"seen": {"name": "a", **given}}]


def test_the_default_of_the_parameter_stands_for_null(environment):
    """A map of the caller replaces the parameter's default; null does not."""
    for arguments, max_age in (((), 5.0), ((None,), 5.0), (({},), 60.0)):
        assert environment.call("test.preset", *arguments)[0]["seen"]["max_age"] == max_age
    assert environment.call("test.maybe") == [{"seen": {"given": False}}]
    assert environment.call("test.maybe", {}) == [{"seen": {"given": True}}]


def test_fields_hold_cypher_values(environment):
    """A field is of any Cypher type; a nested class of options is a map in the map."""
    values = {
        "at": datetime(2024, 2, 29, 10, tzinfo=UTC),
        "local": datetime(2024, 2, 29, 10),  # noqa: DTZ001
        "value": [1, "a", None],
        "metadata": {"$date": 1},
        "counts": {"a": 1},
    }
    nested = {"author": {"name": "Ann", "born": date(1999, 1, 1)}, "authors": [{"name": "Bo"}]}

    found = environment.call("test.event", {"type": "note", **values, **nested})[0]["seen"]

    assert {name: found[name] for name in values} == values
    assert environment.call("test.events", [{"type": "a"}, {"type": "b"}]) == [
        {"seen": {"types": ["a", "b"]}}
    ]


NOTE = {"type": "note"}

WRONG = [
    (5, "`event` of `test.event` is an INTEGER where MAP is expected", "Its signature is"),
    (None, "`event` of `test.event` is null where MAP is expected", "Its signature is"),
    ({}, "`event.type` of `test.event` is missing", "`type` is STRING, a length of at least 1"),
    (
        {**NOTE, "maxage": 1},
        "`event` of `test.event` has no field `maxage`",
        "Did you mean `maxAge`? Its fields: `maxAge`, `api`, `type`",
    ),
    ({**NOTE, "max_age": None}, "has no field `max_age`", "Did you mean `maxAge`?"),
    ({**NOTE, "4711 0815": 1}, "`event` of `test.event` has no field of one of its names", "Its"),
    (
        {**NOTE, "maxAge": "4711"},
        "`event.maxAge` of `test.event` is a STRING where FLOAT is expected",
        "`maxAge` is FLOAT, at least 0, default 60.0: seconds an answer may be old.",
    ),
    ({**NOTE, "maxAge": -4711}, "`event.maxAge` of `test.event` must be greater than or", "`max"),
    ({**NOTE, "start": True}, "`event.start` of `test.event` is a BOOLEAN where INTEGER", ""),
    ({**NOTE, "start": 4711.0}, "`event.start` of `test.event` is a FLOAT where INTEGER", ""),
    (
        {**NOTE, "api": "4711"},
        "`event.api` of `test.event` is not one of `auto`, `rest`, `graphql`",
        "`api` is STRING, one of `auto`, `rest`, `graphql`, default 'auto'.",
    ),
    ({"type": ""}, "`event.type` of `test.event` must have at least 1 character", ""),
    ({**NOTE, "author": {}}, "`event.author.name` of `test.event` is missing", "`name` is"),
    ({**NOTE, "author": {"name": 1}}, "`event.author.name` of `test.event` is an INTEGER", ""),
    ({**NOTE, "author": 4711}, "`event.author` of `test.event` is an INTEGER where MAP", "`auth"),
    (
        {**NOTE, "authors": [{"name": "a"}, {"nam": "4711"}]},
        "`event.authors[1]` of `test.event` has no field `nam`",
        "Did you mean `name`? Its fields: `name`, `born`.",
    ),
    ({**NOTE, "authors": [{"name": "a"}] * 3}, "`event.authors` of `test.event` must have", ""),
    (
        {**NOTE, "api": "Graph_QL"},
        "`event.api` of `test.event` is not one of `auto`, `rest`, `graphql`",
        "Did you mean `graphql`? `api` is STRING, one of `auto`, `rest`, `graphql`",
    ),
    (
        {**NOTE, "parentIds": [1, 2, "4711"]},
        "`event.parentIds[2]` of `test.event` is a STRING where INTEGER is expected",
        "`parentIds` is LIST<INTEGER>, default [].",
    ),
    ({**NOTE, "parentIds": [1, None]}, "`event.parentIds[1]` of `test.event` is null where", ""),
    ({**NOTE, "grid": [[1], [2, "4711"]]}, "`event.grid[1][1]` of `test.event` is a STRING", ""),
    (
        {**NOTE, "ways": ["up", "dwn"]},
        "`event.ways[1]` of `test.event` is not one of `up`, `down`",
        "Did you mean `down`? `ways` is LIST<STRING>",
    ),
    (
        {**NOTE, "order": "4711"},
        "`event.order` of `test.event` is not one of `''`, `ascending`",
        "`order` is STRING, one of `''`, `ascending`, default ''.",
    ),
    ({**NOTE, "code": "4711"}, "`event.code` of", "`code` is STRING, a length of 2, default 'de'."),
    (
        {**NOTE, "sender": 4711},
        "`event.sender` of `test.event` is an INTEGER where STRING or MAP is expected",
        "`sender` is STRING or MAP, default 'me'.",
    ),
    ({**NOTE, "authors": {}}, "`event.authors` of `test.event` is a MAP where LIST<MAP>", ""),
    ({**NOTE, "counts": {"4711": "a"}}, "`event.counts` of `test.event` is a STRING where", ""),
    ({"type": "secret"}, "`event.type` of `test.event` cannot be used: the type is kept", ""),
    ({**NOTE, "start": 2, "end": 1}, "`event` of `test.event` cannot be used: `end` is", "Its"),
]


@pytest.mark.parametrize(("value", "message", "hint"), WRONG)
def test_an_error_names_the_field_and_never_the_value(environment, value, message, hint):
    """What does not fit is told with the field's path, its type and what is allowed."""
    with pytest.raises(CallError) as caught:
        environment.call("test.event", value)

    assert caught.value.code == "SC-204"
    assert message in caught.value.message
    assert caught.value.hint.startswith(hint)
    assert "4711" not in caught.value.message + caught.value.hint


def test_options_may_be_a_text_instead(environment):
    """A class of options or `str` is ANY in Cypher: a STRING or a MAP."""
    assert environment.call("test.author", "Ann") == [{"seen": {"author": "Ann"}}]
    assert environment.call("test.author", {"name": "Bo"}) == [{"seen": {"author": "Bo"}}]
    assert (entry(author).type, entry(author).nullable) == ("ANY", False)
    for value, message in (
        (5, "`author` of `test.author` is an INTEGER where STRING or MAP is expected"),
        ({"nam": "Bo"}, "`author` of `test.author` has no field `nam`"),
        ({}, "`author.name` of `test.author` is missing"),
    ):
        with pytest.raises(CallError, match=re.escape(message)):
            environment.call("test.author", value)


def test_options_are_read_from_a_map_outside_of_a_call():
    """A program reads and checks a MAP as a call does; its errors are the same."""
    assert Event.from_map({**NOTE, "maxAge": 3, "author": {"name": "Bo"}}).author.name == "Bo"
    assert Freshness.from_map({"maxAge": None}) == Freshness()
    for values, message in (
        ({"maxage": 1}, "The argument `event` has no field `maxage`"),
        ({**NOTE, "author": {}}, "The argument `event.author.name` is missing"),
        ({**NOTE, "value": object()}, "The argument `event` is a Python object"),
    ):
        with pytest.raises(CallError, match=re.escape(message)) as caught:
            Event.from_map(values, "event")
        assert caught.value.code == "SC-204"


def test_an_error_in_a_list_names_the_item(environment):
    """The path of a field begins with the item's number."""
    with pytest.raises(CallError, match=r"`events\[1\]\.type` of `test.events` is missing"):
        environment.call("test.events", [NOTE, {}])
    with pytest.raises(CallError, match=r"`events\[0\]` of `test.events` is an INTEGER"):
        environment.call("test.events", [1])


def test_a_validator_may_raise_what_a_body_may(environment):
    """A `ProcedureError` keeps its code; anything else unexpected stays in the log."""
    with pytest.raises(CallError, match="No such type") as caught:
        environment.call("test.event", {"type": "own"})
    assert caught.value.code == "kg.type"
    with pytest.raises(CallError, match="KeyError"):
        environment.call("test.event", {"type": "broken"})


@procedure("test.paint")
def paint(colour: Literal["red", "green"], numbers: list[int]) -> Seen:
    return Seen(seen={"colour": colour, "numbers": numbers})


def test_an_argument_that_is_no_map_has_the_same_errors():
    """A Literal names the nearest value, a list the item."""
    with ProcedureEnvironment(paint) as environment:
        with pytest.raises(CallError, match=r"`colour` of `test\.paint` is not one of") as caught:
            environment.call("test.paint", "gren", [])
        assert caught.value.hint == "Did you mean `green`?"
        with pytest.raises(
            CallError, match=r"`numbers\[1\]` of `test.paint` is a STRING"
        ) as caught:
            environment.call("test.paint", "red", [1, "2"])
        assert caught.value.hint.startswith("Its signature is test.paint(")


def test_a_batch_reads_the_options_of_each_row(environment):
    """A row whose options do not fit has its own error."""
    first, second = environment.call("test.fresh.batch", [["a", {"maxAge": 1}], ["b", {"max": 1}]])

    assert first["seen"] == {"name": "a", "max_age": 1.0, "api": "auto"}
    assert second["error"]["code"] == "SC-204"
    assert "no field `max`" in second["error"]["message"]


def test_a_function_takes_options(environment):
    """A function's options are read as a procedure's."""
    assert environment.value("test.age", {"maxAge": 7}) == 7.0
    with pytest.raises(CallError, match=r"`options.maxAge` of `test.age`"):
        environment.value("test.age", {"maxAge": "7"})


class Holding(Options):
    inner: list["Holding"] = []


class Odd(Options):
    many: set[int] = set()


class Doubled(Options):
    max_age: int = 0
    maxAge: int = 0  # noqa: N815


class Wrong(Options):
    age: int = "a"  # type: ignore[assignment]


class Unknown(Options):
    age: "Missing"  # noqa: F821


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (Holding, "holds itself in `Holding`"),
        (Odd, "annotates the field `Odd.many` with a type"),
        (Doubled, "two fields of `Doubled` with one name"),
        (Wrong, "has a default for the field `Wrong.age` that is a Python str"),
        (Unknown, "has an unknown name in an annotation of `Unknown`"),
    ],
)
def test_fields_that_cypher_cannot_have_are_refused_at_import(model, what):
    """The error names the procedure, its place, the field and what to write."""

    def body(options: model) -> Seen: ...

    with pytest.raises(SignatureError) as caught:
        describe(body, "test.body")

    assert what in caught.value.message
    assert "test_options.py:" in caught.value.message
    assert caught.value.hint


def test_a_default_must_be_of_the_class():
    """The default of a parameter is checked at import as a caller's map is."""

    def body(options: Freshness = Author(name="a")) -> Seen: ...

    with pytest.raises(SignatureError, match="has a default for `options` that has no field"):
        describe(body, "test.body")


def test_options_are_values():
    """They cannot be changed, can be copied and pickled, and are checked in Python too."""
    options = Freshness(max_age=1)

    assert copy.deepcopy(options) == pickle.loads(pickle.dumps(options)) == options
    with pytest.raises(ValueError, match="frozen"):
        options.api = "rest"  # type: ignore[misc]
    with pytest.raises(ValueError, match="maxAge"):
        Freshness(maxAge=1)


def test_procedures_without_options_need_no_pydantic():
    """Importing the package and describing a procedure does not import pydantic."""
    code = (
        "import sys; from sidecypher import Row, procedure\n"
        "class A(Row):\n    a: int\n"
        "@procedure('test.a')\ndef a(b: int) -> A: ...\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_bare_list_of_typing_is_a_list():
    """Also where a module has options, which look into the items of lists."""

    class Shelf(Options):
        books: List = []  # noqa: UP006

    @procedure("test.shelf")
    def shelf(names: List, shelf: Shelf = Shelf()) -> Seen:  # noqa: UP006
        return Seen(seen={"names": names, "books": shelf.books})

    with ProcedureEnvironment(shelf) as environment:
        assert environment.call("test.shelf", ["a"], {"books": [1]}) == [
            {"seen": {"names": ["a"], "books": [1]}}
        ]


def test_fields_are_listed_with_their_path():
    """A procedure lists the fields of its options with path, type, limits, default and meaning."""
    listed = {path: field.meaning for path, field in described(events).fields()}

    assert listed["events[].maxAge"] == (
        "FLOAT, at least 0, default 60.0: seconds an answer may be old"
    )
    assert listed["events[].api"] == "STRING, one of `auto`, `rest`, `graphql`, default 'auto'"
    assert listed["events[].author.name"] == "STRING, required"
    assert listed["events[].authors[].born"] == "DATE, default null"
    assert next(iter(described(maybe).fields()))[0] == "options.maxAge"


def test_the_console_shows_fields():
    """The console has each field beside its procedure."""
    assert detail(described(fresh)).options[0] == (
        "options.maxAge",
        "FLOAT, at least 0, default 60.0: seconds an answer may be old",
    )


def test_the_openapi_document_shows_fields():
    """The document has a schema for each field; what it accepts is what a call accepts."""
    document = openapi(described(body) for body in (fresh, event, events, maybe))
    validate(document)
    body = document["paths"]["/v1/call/test.event"]["post"]["requestBody"]
    by_name, _ = body["content"]["application/json"]["schema"]["oneOf"]
    fields = by_name["properties"]["event"]["properties"]

    assert fields["maxAge"]["minimum"] == 0
    assert fields["maxAge"]["default"] == 60.0
    assert fields["maxAge"]["description"] == "seconds an answer may be old"
    assert fields["api"]["enum"] == ["auto", "rest", "graphql", None]
    assert fields["type"]["maxLength"] == 20
    assert fields["authors"]["maxItems"] == 2
    assert by_name["properties"]["event"]["required"] == ["type"]
    validator = OAS31Validator({**by_name, "components": document["components"]})
    with ProcedureEnvironment(event) as environment:
        for given in (
            {"type": "a"},
            {"type": "a", "maxAge": -1},
            {"type": "a" * 21},
            {"type": "a", "api": "soap"},
            {"type": "a", "api": None},
            {"type": "a", "author": {"name": "Ann"}},
            {"type": "a", "author": {}},
            {"type": "a", "authors": [{"name": "Ann"}] * 3},
            {"kind": "a"},
            {},
        ):
            assert validator.is_valid({"event": given}) == accepts(
                environment, "test.event", given
            ), given


def test_schemas_show_the_descriptions_of_parameters():
    """A `Description` of a parameter is in its schema, also of a MAP of options."""

    def nearest(
        count: Annotated[int, Description("most rows")],
        options: Annotated[Freshness, Description("how old rows may be")] = Freshness(),
    ) -> Seen:
        raise NotImplementedError

    properties = arguments_schema(read_signature(nearest).parameters)["properties"]

    assert properties["count"]["description"] == "most rows"
    assert properties["options"]["description"] == "how old rows may be"


def test_the_openapi_document_has_the_values_of_a_literal():
    """A parameter that is a Literal accepts no other value, and neither does its schema."""

    @procedure("test.sorted")
    def sort(order: Literal["asc", "desc"], most: Literal[1, 2] | None = None) -> Seen:
        return Seen(seen={"order": order, "most": most})

    schema = arguments_schema(described(sort).signature.parameters)

    validator = OAS31Validator({**schema, "components": openapi([described(sort)])["components"]})
    with ProcedureEnvironment(sort) as environment:
        for given in (["asc"], ["up"], ["desc", 2], ["desc", 3], ["asc", None]):
            named = dict(zip(("order", "most"), given, strict=False))
            is_accepted = accepts(environment, "test.sorted", *given)
            assert validator.is_valid(named) == is_accepted, given


def test_a_limit_that_is_no_number_is_left_out_of_the_openapi_document():
    """JSON Schema compares numbers only, and is not valid with a date as the minimum."""

    class Span(Options):
        since: Annotated[date, Field(ge=date(2020, 1, 1))]
        days: Annotated[int, Field(ge=1)] = 1

    @procedure("test.span")
    def span(options: Span) -> Seen:
        raise NotImplementedError

    document = openapi([described(span)])
    OAS31Validator.check_schema(arguments_schema(described(span).signature.parameters))
    fields = described(span).signature.parameters[0].shape.fields

    validate(json.loads(msgspec.json.encode(document)))
    assert [field.allowed for field in fields] == [
        "DATE, at least 2020-01-01, required",
        "INTEGER, at least 1, default 1",
    ]


def accepts(environment, name, *given):
    try:
        environment.call(name, *given)
    except CallError:
        return False
    return True
