"""What the decorators are told reaches catalogue and executor, or the import fails."""

import functools
import math
from collections.abc import AsyncIterator, Iterator

import pytest
from fix_describe import describe, describe_function

from sidecypher import Context, Row, function, procedure
from sidecypher.errors import SignatureError


class Number(Row):
    value: int


class Indexed(Row):
    index: int


class Faulty(Row):
    error: str


def plain() -> Number:
    """Give a number."""
    raise NotImplementedError


async def later() -> Number:
    raise NotImplementedError


async def stream() -> AsyncIterator[Number]:
    yield Number(value=1)


def maybe() -> Number | None:
    raise NotImplementedError


def indexed() -> Indexed:
    raise NotImplementedError


def many(ctx: Context, rows: list[tuple[()]]) -> list[Number]:
    raise NotImplementedError


def faulty() -> Faulty:
    raise NotImplementedError


def alone(rows: list[tuple[()]]) -> list[Number]:
    raise NotImplementedError


def yielding(ctx: Context, rows: list[tuple[()]]) -> Iterator[Number]:
    yield Number(value=1)


async def many_later(ctx: Context, rows: list[tuple[()]]) -> list[Number]:
    raise NotImplementedError


def refused(body, **options):
    with pytest.raises(SignatureError) as caught:
        describe(body, "kg.x", **options)
    error = caught.value
    assert error.hint
    assert f"`kg.x` (test_decorators.py:{body.__code__.co_firstlineno})" in error.message
    return error


def test_every_option_reaches_the_catalogue():
    """What Neo4j must know is in the entry."""
    entry = describe(
        plain, "kg.x", availability="OPTIONAL", deprecated_by="kg.y", admin=True, eager=True
    ).entry

    assert (entry.availability, entry.deprecated_by, entry.admin, entry.eager, entry.single) == (
        "OPTIONAL", "kg.y", True, True, True,
    )  # fmt: skip


def test_options_have_defaults():
    """A procedure is required, current, for everybody and lazy unless it says otherwise."""
    entry = describe(maybe, "kg.x").entry

    assert (entry.availability, entry.deprecated_by, entry.admin, entry.eager, entry.single) == (
        "REQUIRED", None, False, False, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "executor", "chosen"),
    [
        (plain, None, "thread"),
        (later, None, "async"),
        (stream, None, "async"),
        (plain, "thread", "thread"),
        (plain, "process", "process"),
        (later, "async", "async"),
    ],
)
def test_the_executor_follows_the_body(body, executor, chosen):
    """A plain body runs on a thread unless it asks for a process; an async one on the loop."""
    assert describe(body, "kg.x", executor=executor).executor == chosen


@pytest.mark.parametrize("batch", [True, many])
def test_a_batch_is_an_option(batch):
    """A batch is asked for, or given as a body."""
    assert describe(plain, "kg.x", batch=batch).batch is batch


@pytest.mark.parametrize(
    ("body", "options", "told"),
    [
        (plain, {"executor": "async"}, "is a plain function with the executor `async`"),
        (later, {"executor": "thread"}, "is an async function with the executor `thread`"),
        (stream, {"executor": "process"}, "is an async function with the executor `process`"),
        (plain, {"executor": "gpu"}, "has no executor `gpu`"),
        (plain, {"availability": "SOMETIMES"}, "has no availability `SOMETIMES`"),
        (plain, {"availability": ["REQUIRED"]}, "has no availability"),
        (plain, {"mode": "DBMS"}, "has no mode `DBMS`"),
        (plain, {"timeout": 0}, "has a timeout that cannot be kept"),
        (plain, {"timeout": "5s"}, "has a timeout that cannot be kept"),
        (plain, {"timeout": None}, "has a timeout that cannot be kept"),
        (plain, {"cache": -1.0}, "has a cache without a time"),
        (plain, {"cache": math.nan}, "has a cache without a time"),
        (plain, {"cache": True}, "has a cache without a time"),
        (plain, {"cache": "60"}, "has a cache without a time"),
        (plain, {"cache": 60.0, "mode": "WRITE"}, "has a cache and the mode WRITE"),
        (plain, {"cache": 60.0, "cache_scope": "database"}, "has no cache_scope `database`"),
        (plain, {"cache_scope": "all"}, "has a `cache_scope` and no `cache`"),
        (plain, {"project": 5}, "has a `project` that is not text"),
        (plain, {"project": "RETURN 1", "batch": True}, "has a `project` and a batch"),
        (plain, {"resources": ["num_cpus"]}, "has `resources` that are no amounts by name"),
        (plain, {"resources": {"num_cpus": "2"}}, "has the resource `num_cpus` without an amount"),
        (plain, {"resources": {"num_cpus": -1}}, "has the resource `num_cpus` without an amount"),
        (plain, {"max_actors": 2}, "has `max_actors` and no actor"),
        (plain, {"actor": True, "max_actors": 0}, "has a `max_actors` that is no number of"),
        (plain, {"retryable": True, "mode": "WRITE"}, "is retryable and has the mode WRITE"),
        (later, {"executor": "ray"}, "is an async function with the executor `ray`"),
        (plain, {"batch": "yes"}, "has a batch that is neither a boolean nor a function"),
        (indexed, {"batch": True}, "has a batch and a column `index`"),
        (faulty, {"batch": True}, "whose errors are in a column `error`, and its own is not a MAP"),
        (plain, {"batch": alone}, "has the batch `alone`, which does not take two arguments"),
        (plain, {"batch": yielding}, "has the batch `yielding`, which is a generator"),
        (
            plain,
            {"batch": many_later, "executor": "process"},
            "has the async batch `many_later` and the executor `process`",
        ),
        (plain, {"deprecated_by": True}, "has a `deprecated_by` that is not text"),
    ],
)
def test_options_that_do_not_fit_are_refused(body, options, told):
    """An option that cannot be kept is refused with name, file, line and what to write."""
    assert told in refused(body, **options).message


def test_a_column_index_is_fine_without_a_batch():
    """Only a batch adds a column `index`."""
    assert describe(indexed, "kg.x").signature.columns[0].name == "index"


@pytest.mark.parametrize("decorate", [procedure("kg.x"), function("kg.x")])
@pytest.mark.parametrize(
    "thing", [functools.partial(plain), len, Number, 5], ids=lambda thing: type(thing).__name__
)
def test_only_functions_are_decorated(decorate, thing):
    """What is not a Python function has no place in a file and no annotations."""
    with pytest.raises(SignatureError, match="cannot be a procedure") as caught:
        decorate(thing)

    assert "`kg.x`" in caught.value.message
    assert "Decorate a function" in caught.value.hint


def test_the_decorators_leave_the_function_as_it_is():
    """A decorated function is called as before."""

    @function("kg.twice")
    def double(value: int) -> int:
        return 2 * value

    assert double(2) == 4


def test_a_functions_entry_says_what_the_function_says():
    """Name, timeout, description, result and options of a function are in the catalogue."""

    async def double(value: int | None = None) -> int | None:
        """Give twice the number.

        Not part of the description.
        """

    found = describe_function(double, "kg.twice", 1.5, availability="OFF", deprecated_by="")
    entry = found.entry

    assert (entry.name, entry.timeout_ms, entry.description, entry.result) == (
        "kg.twice", 1500, "Give twice the number.", "INTEGER",
    )  # fmt: skip
    assert (entry.availability, entry.deprecated_by) == ("OFF", "")
    assert entry.signature == entry.true_signature()
    assert found.executor == "async"


def test_a_function_needs_a_name():
    """`@function` without parentheses says how it is written."""
    with pytest.raises(SignatureError, match="`@function` was used without a name"):

        @function
        def double(value: int) -> int: ...


def test_options_of_a_function_are_checked():
    """A function's options are refused as a procedure's are."""
    for options in ({"timeout": -1}, {"availability": "NO"}, {"deprecated_by": 5}):
        with pytest.raises(SignatureError, match=r"`kg\.f` \(test_decorators\.py"):
            describe_function(plain, "kg.f", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"admin": True},
        {"eager": False},
        {"mode": "READ"},
        {"executor": "process"},
        {"batch": True},
        {"cache": 60.0},
        {"time_out": 5.0},
    ],
)
def test_what_only_procedures_have_is_refused_for_a_function(options):
    """An option that functions do not take is told with name, file, line and those they take."""
    with pytest.raises(SignatureError) as caught:
        function("kg.f", **options)(plain)

    [option] = options
    assert caught.value.message == (
        f"`kg.f` (test_decorators.py:{plain.__code__.co_firstlineno}) has the option `{option}`, "
        "which `@function` does not take"
    )
    assert caught.value.hint == (
        "Leave it out; there are `timeout`, `availability` and `deprecated_by`."
    )


def test_an_option_that_nothing_has_is_refused_for_a_procedure():
    """A misspelt option of a procedure is not a bare TypeError either."""
    with pytest.raises(SignatureError, match="`time_out`, which `@procedure` does not") as caught:
        procedure("kg.x", time_out=5.0)(plain)

    assert "`timeout`" in caught.value.hint
