"""`@procedure` describes a function, and the registry knows every procedure by its name."""

import types
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fix_describe import describe, describe_function

from sidecypher import Context, Row, procedure
from sidecypher.errors import (
    ArgumentError,
    DuplicateProcedure,
    RowError,
    SignatureError,
    UnknownProcedure,
)
from sidecypher.protocol.catalogue import ColumnEntry, DefaultEntry, ParameterEntry
from sidecypher.sdk.decorators import DEFAULT_TIMEOUT
from sidecypher.sdk.registry import Registry, procedures_in


class Pair(Row):
    left: int
    right_one: str | None


@procedure("kg.pair", mode="WRITE", timeout=1.5)
def pair(ctx: Context, first_one: int, second: str | None = None, more: list[int] = [1]) -> Pair:  # noqa: B006
    """Make a pair.

    Not part of the description.
    """
    return Pair(left=first_one, right_one=second)


def described(body, name="kg.x", mode="READ", timeout=DEFAULT_TIMEOUT):
    return describe(body, name, mode, timeout)


PAIR = described(pair, "kg.pair", "WRITE", 1.5)


def test_the_decorated_function_stays_callable():
    """`@procedure` returns the author's own function."""
    assert pair(None, 1, "a") == Pair(left=1, right_one="a")


def test_the_catalogue_entry_says_what_the_function_says():
    """Name, mode, timeout, first docstring line, parameters and columns come from the function."""
    entry = PAIR.entry

    assert (entry.name, entry.mode, entry.timeout_ms) == ("kg.pair", "WRITE", 1500)
    assert entry.description == "Make a pair."
    assert entry.parameters == (
        ParameterEntry("firstOne", "INTEGER"),
        ParameterEntry("second", "STRING", nullable=True, default=DefaultEntry("null", any=True)),
        ParameterEntry("more", "LIST<INTEGER>", default=DefaultEntry("[1]")),
    )
    assert entry.columns == (ColumnEntry("left", "INTEGER"), ColumnEntry("rightOne", "STRING"))


def test_a_body_without_docstring_has_an_empty_description():
    """The description is optional; so are mode and timeout."""

    def bare() -> Pair:
        raise NotImplementedError

    entry = described(bare).entry

    assert (entry.description, entry.mode, entry.timeout_ms) == ("", "READ", 30_000)


def test_the_usage_is_the_signature_as_cypher_shows_it():
    """The usage, which errors show, names arguments and columns with their types."""
    assert PAIR.usage() == (
        "kg.pair(firstOne :: INTEGER, second :: STRING, more :: LIST<INTEGER>) "
        ":: (left :: INTEGER, rightOne :: STRING)"
    )


def test_async_bodies_are_told_apart():
    """`async def`, with or without `yield`, is async; anything else is not."""

    async def one() -> Pair:
        raise NotImplementedError

    async def stream() -> AsyncIterator[Pair]:
        yield Pair(left=1, right_one=None)

    assert described(one).is_async
    assert described(stream).is_async
    assert not described(pair).is_async


@pytest.mark.parametrize("mode", ["read", "ADMIN", "", None])
def test_another_mode_is_refused(mode):
    """Only READ, WRITE and SCHEMA are modes."""
    with pytest.raises(SignatureError, match=r"`kg\.x` .* has no mode") as caught:
        described(pair, mode=mode)

    assert caught.value.hint == "Use READ, WRITE or SCHEMA."


@pytest.mark.parametrize("timeout", [0, -1, 86_400.5, float("inf"), float("nan")])
def test_a_timeout_that_cannot_be_kept_is_refused(timeout):
    """A timeout is more than no time and at most a day."""
    with pytest.raises(
        SignatureError, match=r"`kg\.x` .* has a timeout that cannot be kept"
    ) as caught:
        described(pair, timeout=timeout)

    assert "86 400" in caught.value.hint


@pytest.mark.parametrize(("timeout", "milliseconds"), [(0.25, 250), (86_400, 86_400_000)])
def test_a_timeout_is_told_in_milliseconds(timeout, milliseconds):
    """Seconds for the author are milliseconds in the catalogue."""
    assert described(pair, timeout=timeout).entry.timeout_ms == milliseconds


def test_a_wrong_name_is_refused_where_it_is_written():
    """The decorator itself raises, so that the module fails at import."""
    with pytest.raises(SignatureError, match="`score` is not a procedure name"):

        @procedure("score")
        def score() -> Pair:
            raise NotImplementedError


def test_arguments_are_read_and_filled_up_with_defaults():
    """JSON values become Python values in order; what is left out has its default."""
    assert PAIR.arguments([1]) == [1, None, [1]]
    assert PAIR.arguments([1, "a", [2]]) == [1, "a", [2]]
    assert PAIR.arguments([1, None]) == [1, None, [1]]


def test_too_many_arguments_are_refused_with_the_usage():
    """More arguments than parameters are refused."""
    with pytest.raises(ArgumentError, match="takes 3 arguments and was given 4") as caught:
        PAIR.arguments([1, "a", [], 4])

    assert caught.value.hint == f"Its signature is {PAIR.usage()}."


def test_a_missing_argument_is_refused_by_name():
    """A required argument that is left out is named."""
    with pytest.raises(ArgumentError, match="was called without its argument `firstOne`"):
        PAIR.arguments([])


def test_a_wrong_argument_is_named_and_its_value_is_not_told():
    """An argument of another type is named with both types; its value stays out of the text."""
    with pytest.raises(ArgumentError) as caught:
        PAIR.arguments(["hunter2"])

    assert "The argument `firstOne` of `kg.pair` is a STRING where INTEGER" in str(caught.value)
    assert "hunter2" not in f"{caught.value}{caught.value.hint}{caught.value.details}"
    assert caught.value.__suppress_context__


def test_null_for_a_default_that_null_stands_for_is_a_copy_of_it():
    """A default that crosses as null is a new object in each call, as any other default is."""

    def body(options: Any = {"a": []}) -> Pair:  # noqa: B006
        raise NotImplementedError

    found = described(body)
    [first], [second] = found.arguments([None]), found.arguments([None])
    first["a"].append(1)

    assert second == {"a": []}


def test_a_row_becomes_its_columns_in_order():
    """A row's attributes are encoded in the order of its columns."""
    assert PAIR.encode_row(Pair(left=1, right_one=None)) == [1, None]
    assert PAIR.encode_row(Pair(right_one="a", left=2)) == [2, "a"]


def test_a_row_of_a_subclass_has_the_columns_of_the_annotation():
    """A body may return a subclass of its Row; only the declared columns are sent."""

    class Triple(Pair):
        third: int

    assert PAIR.encode_row(Triple(left=1, right_one="a", third=3)) == [1, "a"]


@pytest.mark.parametrize("value", [None, {"left": 1}, (1, "a"), Pair])
def test_what_is_no_row_is_refused(value):
    """Anything but an instance of the annotated Row class is refused; the hint names the class."""
    with pytest.raises(RowError, match="where a row is expected") as caught:
        PAIR.encode_row(value)

    assert caught.value.hint == "Return `Pair(...)`."


def test_a_value_of_another_type_is_refused_by_its_column():
    """A value that its column does not allow is refused by the column's Cypher name."""
    with pytest.raises(RowError) as caught:
        PAIR.encode_row(Pair(left=1, right_one=b"hunter2"))

    assert str(caught.value) == (
        "The column `rightOne` of `kg.pair` is a Python bytes where STRING is expected"
    )


def test_null_where_a_column_has_none_is_refused():
    """A column without `| None` is never null."""
    with pytest.raises(RowError, match=r"column `left` of `kg\.pair` is null where INTEGER"):
        PAIR.encode_row(Pair(left=None, right_one=""))


def test_the_registry_finds_by_name():
    """A procedure is found by its full name, and there are as many as were given."""
    other = described(pair, "kg.other")
    registry = Registry([PAIR, other])

    assert registry.get("kg.pair") is PAIR
    assert len(registry) == 2
    assert list(registry) == [PAIR, other]
    assert [entry.name for entry in registry.catalogue.procedures] == ["kg.other", "kg.pair"]


def test_an_unknown_name_is_an_error_by_that_name():
    """A name that is not there is told, with the command that shows what is."""
    with pytest.raises(UnknownProcedure, match=r"no procedure `kg\.none`") as caught:
        Registry([PAIR]).get("kg.none")

    assert "sidecypher status" in caught.value.hint


def test_two_procedures_of_one_name_are_refused():
    """One name is one procedure."""
    with pytest.raises(DuplicateProcedure, match=r"Two procedures are called `kg\.pair`"):
        Registry([PAIR, described(pair, "kg.pair")])


def double(value: int) -> int:
    """Return twice the number."""
    return 2 * value


DOUBLE = describe_function(double, "kg.pair")


def test_a_procedure_and_a_function_may_share_a_name():
    """Cypher keeps them apart, and so does the registry; two functions of one name are refused."""
    registry = Registry([PAIR, DOUBLE])

    assert registry.get("kg.pair") is PAIR
    assert registry.get("kg.pair", "function") is DOUBLE
    assert (PAIR.kind, DOUBLE.kind) == ("procedure", "function")
    assert [entry.name for entry in registry.catalogue.functions] == ["kg.pair"]
    with pytest.raises(DuplicateProcedure, match=r"Two functions are called `kg\.pair`"):
        Registry([DOUBLE, describe_function(double, "kg.pair")])
    with pytest.raises(UnknownProcedure, match=r"no function `kg\.none`"):
        registry.get("kg.none", "function")


def test_a_function_encodes_its_value():
    """A function's value is its one column; an error speaks of the result."""
    assert DOUBLE.encode_row(4) == [4]
    assert DOUBLE.usage() == "kg.pair(value :: INTEGER) :: INTEGER"
    with pytest.raises(RowError) as caught:
        DOUBLE.encode_row("hunter2")
    assert str(caught.value) == (
        "The result of `kg.pair` is a Python str where INTEGER is expected"
    )


def test_a_void_procedure_has_a_usage_without_columns():
    """Cypher shows no columns of a void procedure."""

    def body(value: int) -> None:
        raise NotImplementedError

    assert described(body).usage() == "kg.x(value :: INTEGER)"


def test_a_procedure_resolves_to_itself():
    """A call runs the procedure it names, with its decoded arguments."""
    assert PAIR.resolve([1], Registry([])) == (PAIR, [1, None, [1]])


def test_each_procedure_of_the_modules_is_found_once():
    """A function that two modules hold, under whatever names, is one procedure."""
    one, two = types.ModuleType("one"), types.ModuleType("two")
    vars(one).update(pair=pair, alias=pair, other=len, number=5)
    vars(two).update(imported=pair)

    assert [found.name for found in procedures_in([one, two])] == ["kg.pair"]
