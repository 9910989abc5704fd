"""`ProcedureEnvironment` runs procedures as the sidecar does, without Neo4j."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import date
from typing import Any

import pytest
from fix_modules import good

from sidecypher import Context, ProcedureError, Row, procedure
from sidecypher.errors import CallError, DuplicateProcedure, UnknownProcedure
from sidecypher.testing import ProcedureEnvironment


class Value(Row):
    the_value: Any


@procedure("demo.twice")
def twice(value: int = 21) -> Value:
    return Value(the_value=2 * value)


@procedure("demo.later")
async def later(ctx: Context, to: int) -> AsyncIterator[Value]:
    for value in range(to):
        yield Value(the_value=value)
        await asyncio.sleep(0)


@procedure("demo.ask")
def ask(ctx: Context, cypher: str, params: dict[str, Any]) -> Iterator[Value]:
    for record in ctx.run(cypher, **params):
        yield Value(the_value=record)


@procedure("demo.askAsync")
async def ask_async(ctx: Context) -> list[Value]:
    return [Value(the_value=record) for record in await ctx.run("RETURN 1 AS one")]


@procedure("demo.fail")
def fail() -> Value:
    raise ProcedureError("There is no index", code="demo.no-index", hint="Make one.")


@procedure("demo.hang")
async def hang() -> Value:
    await asyncio.sleep(60)
    return Value(the_value=None)


def test_rows_are_dicts_by_column_name():
    """A call gives its rows with the names Cypher would show, defaults filled in."""
    with ProcedureEnvironment(twice, later) as environment:
        assert environment.call("demo.twice", 4) == [{"theValue": 8}]
        assert environment.call("demo.twice") == [{"theValue": 42}]
        assert environment.call("demo.later", 40) == [{"theValue": n} for n in range(40)]


def test_a_default_is_what_cypher_would_pass():
    """A default has the class of its parameter, as each value that Neo4j passes has."""

    @procedure("demo.defaults")
    def defaults(
        number: float = 1, texts: list[str] = (), dates: list[date] = (), other: float = math.inf
    ) -> Value:
        found = [type(each).__name__ for each in (number, texts, dates, other)]
        return Value(the_value=found)

    with ProcedureEnvironment(defaults) as environment:
        assert environment.call("demo.defaults") == environment.call("demo.defaults", 1.0, [])
        assert environment.call("demo.defaults") == [
            {"theValue": ["float", "list", "list", "float"]}
        ]


def test_arguments_are_checked_as_cypher_would():
    """A wrong argument is refused with the code and hint of the sidecar."""
    with (
        ProcedureEnvironment(twice) as environment,
        pytest.raises(CallError, match=r"`value` of `demo\.twice` is a STRING") as caught,
    ):
        environment.call("demo.twice", "4")

    assert caught.value.code == "SC-204"
    assert "demo.twice(value :: INTEGER)" in caught.value.hint


def test_statements_are_answered_by_the_given_function():
    """`run` gets statement and parameters and gives records, in sync and async bodies."""
    asked = []

    def run(cypher, params):
        asked.append((cypher, params))
        return [{"one": 1, "params": dict(params)}]

    with ProcedureEnvironment(ask, ask_async, run=run) as environment:
        answer = environment.call("demo.ask", "RETURN $a", {"a": [1.5, None], "b": {"$date": "x"}})
        assert environment.call("demo.askAsync") == [{"theValue": {"one": 1, "params": {}}}]

    params = {"a": [1.5, None], "b": {"$date": "x"}}
    assert answer == [{"theValue": {"one": 1, "params": params}}]
    assert asked == [("RETURN $a", params), ("RETURN 1 AS one", {})]


@pytest.mark.parametrize("other", [{"a": 2}, {"a": 2, "b": 3, "c": 4}, {"a": 2, "c": 4}])
def test_records_of_a_statement_have_the_same_columns(other):
    """Neo4j never returns records with different columns, so a mock that does is told."""
    with (
        ProcedureEnvironment(ask, run=lambda *_: [{"a": 1, "b": 2}, other]) as environment,
        pytest.raises(CallError, match=r"Record 2 .* other columns than the first one"),
    ):
        environment.call("demo.ask", "RETURN 1", {})


def test_a_statement_without_records_gives_none():
    """A `run` that answers with no records gives none to the body."""
    with ProcedureEnvironment(ask, run=lambda cypher, params: []) as environment:
        assert environment.call("demo.ask", "MATCH (n) RETURN n", {}) == []


@pytest.mark.parametrize(
    ("body", "call"), [(ask, ("demo.ask", "x", {})), (ask_async, ("demo.askAsync",))]
)
def test_without_a_run_there_is_no_transaction(body, call):
    """A statement without anything that answers it is a named error."""
    with (
        ProcedureEnvironment(body) as environment,
        pytest.raises(CallError, match=r"There is no transaction for `ctx\.run`") as caught,
    ):
        environment.call(*call)

    assert caught.value.code == "SC-209"
    assert "give the test environment a `run`" in caught.value.hint


def test_an_authors_error_comes_as_cypher_sees_it():
    """`ProcedureError` keeps text, code and hint."""
    with (
        ProcedureEnvironment(fail) as environment,
        pytest.raises(CallError, match="There is no index") as caught,
    ):
        environment.call("demo.fail")

    assert (caught.value.code, caught.value.hint) == ("demo.no-index", "Make one.")


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("m", {"a": object()}),
        ("m", {"a": "\ud800"}),
        ("\ud800", {}),
        (ValueError(), {}),
        ("m", {object(): 1}),
    ],
    ids=["object", "half character", "half character in the text", "no text", "key"],
)
def test_an_authors_error_that_json_cannot_hold_is_still_an_error(text, details):
    """Whatever an author puts into an error, the caller gets an error and the next call works."""

    @procedure("demo.bad")
    def bad() -> Value:
        raise ProcedureError(text, details=details)

    with ProcedureEnvironment(bad, twice) as environment:
        with pytest.raises(CallError):
            environment.call("demo.bad")
        assert environment.call("demo.twice", 1) == [{"theValue": 2}]


def test_a_call_has_a_deadline():
    """A body that takes longer than the environment's timeout fails as it would in Neo4j."""
    with (
        ProcedureEnvironment(hang, timeout=0.05) as environment,
        pytest.raises(CallError, match="did not answer within its time") as caught,
    ):
        environment.call("demo.hang")

    assert caught.value.code == "SC-213"


def test_an_unknown_name_is_an_error():
    """A name that was not given to the environment is unknown."""
    with ProcedureEnvironment(twice) as environment, pytest.raises(UnknownProcedure):
        environment.call("demo.once")


@pytest.mark.parametrize("ask", [ProcedureEnvironment.call, ProcedureEnvironment.value])
def test_an_unknown_name_tells_what_could_not_be_loaded(ask, tmp_path):
    """The reason is in the error of the test: there is no `sidecypher status` of a test."""
    (tmp_path / "broken.py").write_text("def broken(:\n")

    with (
        ProcedureEnvironment(folders=[tmp_path]) as environment,
        pytest.raises(UnknownProcedure) as caught,
    ):
        ask(environment, "demo.broken")

    assert "`broken.py`: syntax error in line 1" in caught.value.hint
    assert "sidecypher status" not in caught.value.hint


def test_a_folder_may_be_a_text(tmp_path):
    """A path is written as a text in most places."""
    (tmp_path / "good.py").write_text(good("demo.good", "there"))

    with ProcedureEnvironment(folders=[str(tmp_path)]) as environment:
        assert environment.call("demo.good") == [{"value": "there"}]


@pytest.mark.parametrize("thing", [pytest, "people", lambda: None], ids=["module", "text", "plain"])
def test_what_is_no_procedure_is_refused(thing):
    """A module, a folder, and a function without a decorator would be left out silently."""
    with pytest.raises(TypeError, match="is not decorated"):
        ProcedureEnvironment(twice, thing)


def test_two_bodies_of_one_name_are_refused():
    """An environment has one procedure per name, as a sidecar has."""

    @procedure("demo.twice")
    def again() -> Value:
        raise NotImplementedError

    with pytest.raises(DuplicateProcedure):
        ProcedureEnvironment(twice, again)


def test_closing_stops_the_shared_resources_and_the_loop():
    """At its end an environment stops what its procedures have shared, and its thread."""
    stopped, threads = [], set(threading.enumerate())

    class Shared:
        async def stop(self):
            stopped.append(asyncio.get_running_loop() is not None)

    @procedure("demo.share")
    def share(ctx: Context) -> Value:
        return Value(the_value=ctx.resource(Shared) is ctx.resource(Shared))

    with ProcedureEnvironment(share) as environment:
        assert environment.call("demo.share") == [{"theValue": True}]
        assert stopped == []

    assert stopped == [True]
    assert set(threading.enumerate()) <= threads
