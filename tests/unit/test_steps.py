"""`@step`: what a function of a step may be, how it is run, and how steps are found."""

import asyncio
import contextvars
import threading
from datetime import date
from typing import Any

import pytest
from fix_modules import good, names, write
from fix_waiting import awaited

from sidecypher import (
    ArgumentError,
    Context,
    Options,
    RowError,
    SignatureError,
    Step,
    StepContext,
    Steps,
    procedure,
    step,
)
from sidecypher.errors import ProcedureFailed, UnknownProcedure
from sidecypher.loading.loader import load
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.steps import _is_on_loop
from sidecypher.testing import ProcedureEnvironment

STEP = """
from sidecypher import step

@step("{name}")
def run() -> str:
    return "{text}"
"""


def given_step(name="demo.step", text=""):
    return STEP.format(name=name, text=text)


def described(function):
    return function.__sidecypher_step__


def steps_of(*functions):
    """Return shared `Steps` that hold these functions."""
    found = {described(each).name: described(each) for each in functions}
    return Steps(lambda: found, Resources())


async def ran(function, **given):
    """Run the function of a step with these arguments."""
    steps = steps_of(function)
    context = steps.context(session_id="s", step_id="mood", cycle=2, history=[{"role": "user"}])
    return await steps.get(described(function).name).run(context, given)


class Style(Options):
    max_words: int = 10


@step("demo.plain")
def plain(text: str, how_often: int = 2, day: date | None = None) -> list[Any]:
    return [text * how_often, day]


@step("demo.later")
async def later(ctx: StepContext, style: Style = Style()) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"key": ctx.key, "history": ctx.history, "words": style.max_words}


@awaited
async def test_arguments_come_by_their_cypher_names():
    """Names are camelCase, missing arguments have their defaults, and values keep their types."""
    assert await ran(plain, text="ab", howOften=1) == ["ab", None]
    assert await ran(plain, text="ab", day=date(2024, 2, 29)) == ["abab", date(2024, 2, 29)]


@awaited
async def test_options_are_read_as_those_of_a_procedure():
    """A MAP becomes the class of options, with its defaults."""
    assert (await ran(later))["words"] == 10
    assert (await ran(later, style={"maxWords": 3}))["words"] == 3
    with pytest.raises(ArgumentError, match=r"argument `style\.maxWords` of `demo\.later` is a"):
        await ran(later, style={"maxWords": "3"})


@awaited
async def test_the_context_says_which_step_it_is():
    """Its key is the same each time the step is tried in a cycle."""
    answer = await ran(later)

    assert answer["key"] == "s/mood/2"
    assert answer["history"] == [{"role": "user"}]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "was called without its argument `text`"),
        ({"text": 7}, "argument `text` of `demo.plain` is an INTEGER where STRING is expected"),
        ({"text": "", "how_often": 1}, "`demo.plain` was given an argument it does not have"),
        ({"text": object()}, "argument `text` of `demo.plain` is a Python object"),
    ],
)
@awaited
async def test_an_argument_that_does_not_fit_is_refused(given, told):
    """The error names function and argument, and does not run the function."""
    with pytest.raises(ArgumentError) as caught:
        await ran(plain, **given)

    assert told in caught.value.message


@awaited
async def test_a_result_of_another_type_is_an_error():
    """The value is checked against the declared type, as that of a Cypher function is."""

    @step("demo.wrong")
    def wrong() -> int:
        return "7"

    with pytest.raises(RowError, match=r"The result of `demo\.wrong` is a Python str"):
        await ran(wrong)


@awaited
async def test_a_value_is_what_cypher_would_see():
    """A tuple comes as the list that Cypher has for it."""

    @step("demo.pair")
    def pair() -> Any:
        return {"of": (1, 2)}

    assert await ran(pair) == {"of": [1, 2]}


@awaited
async def test_a_plain_function_runs_on_a_thread_and_an_async_one_on_the_loop():
    """A plain function blocks nothing else; `is_async` says which one it is."""

    @step("demo.thread")
    def on_thread() -> int:
        return threading.get_ident()

    @step("demo.loop")
    async def on_loop() -> int:
        return threading.get_ident()

    assert await ran(on_thread) != threading.get_ident()
    assert await ran(on_loop) == threading.get_ident()
    assert (described(on_thread).is_async, described(on_loop).is_async) == (False, True)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration])
@pytest.mark.parametrize("is_async", [False, True])
@awaited
async def test_a_function_cannot_end_the_event_loop(error, is_async):
    """What asyncio cannot carry becomes another error, from a thread and from the loop."""

    def fail() -> str:
        raise error

    async def fail_later() -> str:
        raise error

    with pytest.raises((ProcedureFailed, RuntimeError)) as caught:
        await asyncio.wait_for(ran(step("demo.fail")(fail_later if is_async else fail)), 10)

    assert isinstance(caught.value, RuntimeError) is (error is StopIteration)


@awaited
async def test_a_step_sees_the_variables_of_its_session():
    """Context variables reach the thread of a plain function, for traces and the like."""
    variable = contextvars.ContextVar("variable", default="")

    @step("demo.variable")
    def read() -> str:
        return variable.get()

    variable.set("seen")

    assert await ran(read) == "seen"


@awaited
async def test_a_step_has_the_shared_objects():
    """`resource` returns the one object of a class; only the event loop must not wait for it."""

    class Model:
        def __init__(self):
            self.is_on_loop = _is_on_loop()

    @step("demo.model")
    def use(ctx: StepContext) -> bool:
        return ctx.resource(Model).is_on_loop

    resources = Resources()
    steps = Steps(lambda: {"demo.model": described(use)}, resources)
    context = steps.context(session_id="s", step_id="a", cycle=1)

    assert await steps.get("demo.model").run(context, {}) is False
    assert resources.get(Model).is_on_loop is False
    assert _is_on_loop()
    assert "Resources" not in repr(context)


@pytest.mark.parametrize(
    "name", ["", "analyze", "Analyze.sentiment", "analyze.", "analyze..x", "a.b-c", "a.b\n", 7]
)
def test_a_name_is_camel_case_words_with_dots(name):
    """Anything else is refused, also the function of a decorator without parentheses."""
    with pytest.raises(SignatureError, match="`@step` was given a name that is not valid") as it:
        step(name)

    assert '@step("kg.score")' in it.value.hint


def test_a_word_that_only_procedures_must_avoid_is_a_name():
    """Neo4j does not see steps, so its namespaces and Java's keywords are free."""

    @step("graph.import.v2")
    def run() -> str | None: ...

    assert described(run).name == "graph.import.v2"


def refused(function):
    with pytest.raises(SignatureError) as caught:
        step("demo.bad")(function)
    assert "(test_steps.py:" in caught.value.message
    assert caught.value.hint
    return caught.value


def test_a_function_that_cannot_be_a_step_is_refused():
    """It needs types throughout and one value; the error has file, line and hint."""

    def bare(text) -> str: ...

    def silent(text: str): ...

    def many(text: str) -> list[str]:
        yield text

    assert "has no type for `text`" in refused(bare).message
    assert "has no return type" in refused(silent).message
    assert "is a generator" in refused(many).message
    with pytest.raises(SignatureError):
        step("demo.bad")(7)


def test_the_context_of_a_call_is_not_that_of_a_step():
    """`Context` is refused by the name of its parameter, with what to write."""

    def usual(ctx: Context) -> str: ...

    def named(context: Context) -> str: ...

    def second(text: str, context: StepContext) -> str: ...

    assert "`ctx: StepContext`" in refused(usual).hint
    assert "has the context of a call as its parameter `context`" in refused(named).message
    assert "`context: StepContext`" in refused(named).hint
    assert "which is not the first" in refused(second).message

    with pytest.raises(SignatureError):

        @procedure("demo.bad")
        def call(context: StepContext) -> None: ...


@awaited
async def test_the_function_stays_callable():
    """The decorator returns the function; a test may make the context itself."""
    assert plain("a") == ["aa", None]
    assert (await later(StepContext("s", "a", 1, [])))["key"] == "s/a/1"


def test_steps_are_found_next_to_procedures(tmp_path):
    """A step may have the name of a procedure, and a module may have both."""
    write(tmp_path, "both.py", good("kg.good") + given_step("kg.good"))

    loaded = load([tmp_path])

    assert loaded.failures == ()
    assert names(loaded) == ["kg.good"]
    assert isinstance(loaded.steps["kg.good"], Step)


def test_two_steps_of_one_name_are_refused(tmp_path):
    """The second module is left out as a whole."""
    write(tmp_path, "a.py", given_step())
    write(tmp_path, "b.py", good("kg.good") + given_step())

    loaded = load([tmp_path])

    [failure] = loaded.failures
    assert (failure.module, names(loaded)) == ("b.py", [])
    assert failure.reason == "another step (a.py:4) already has the name `demo.step`."


def test_a_step_that_no_module_offers_is_reported(tmp_path):
    """Its name is among what was left out."""
    inner = "\n".join(f"    {line}" for line in given_step("kg.lost").splitlines())
    write(tmp_path, "own.py", f"def make():\n{inner}\nmake()\n")

    assert list(load([tmp_path]).left_out) == ["kg.lost"]


def test_a_function_may_be_a_step_and_a_function_of_cypher(tmp_path):
    """Both decorators keep what they declare."""
    decorated = '@function("kg.slug")\n@step("kg.slug")\ndef slug(text: str) -> str: ...\n'
    write(tmp_path, "own.py", f"from sidecypher import function, step\n{decorated}")

    loaded = load([tmp_path])

    assert loaded.left_out == {}
    assert loaded.registry.get("kg.slug", "function").function is loaded.steps["kg.slug"].function


@awaited
async def test_a_reload_replaces_a_step(tmp_path):
    """`Steps` looks up what is loaded now; a module that fails keeps its step."""
    write(tmp_path, "a.py", given_step(text="first"))
    loaded = load([tmp_path])
    steps = Steps(lambda: loaded.steps, Resources())
    context = StepContext("s", "a", 1, [])
    assert await steps.get("demo.step").run(context, {}) == "first"

    write(tmp_path, "a.py", given_step(text="second"))
    loaded = load([tmp_path], loaded)
    assert await steps.get("demo.step").run(context, {}) == "second"

    write(tmp_path, "a.py", given_step(text="third") + "\nraise RuntimeError")
    loaded = load([tmp_path], loaded)
    assert await steps.get("demo.step").run(context, {}) == "second"

    (tmp_path / "a.py").unlink()
    loaded = load([tmp_path], loaded)
    assert steps.get("demo.step") is None
    assert "demo.step" not in steps.names()


def test_names_are_sorted():
    """`names` lists the steps that are there."""
    assert steps_of(plain, later).names() == ["demo.later", "demo.plain"]


def test_an_environment_runs_steps(tmp_path):
    """`run_step` runs functions and those of folders, with the context that a test gives."""
    write(tmp_path, "a.py", given_step(text="from a folder"))
    with ProcedureEnvironment(later, folders=[tmp_path]) as environment:
        assert environment.run_step("demo.step", {}) == "from a folder"
        answer = environment.run_step(
            "demo.later", {}, session_id="x", step_id="y", cycle=1, history=[{"role": "user"}]
        )

    assert (answer["key"], answer["history"]) == ("x/y/1", [{"role": "user"}])


def test_an_environment_names_its_steps():
    """One that it does not have is an error that lists those it has."""
    with (
        ProcedureEnvironment(plain, later) as environment,
        pytest.raises(UnknownProcedure, match=r"no step `demo\.none`") as caught,
    ):
        environment.run_step("demo.none", {})

    assert "demo.later, demo.plain" in caught.value.hint


def test_an_environment_limits_the_time_of_a_step():
    """What takes longer than `timeout` is cancelled."""

    @step("demo.hang")
    async def hang() -> str:
        await asyncio.sleep(60)
        return ""

    with ProcedureEnvironment(hang, timeout=0.05) as environment, pytest.raises(TimeoutError):
        environment.run_step("demo.hang", {})


def test_a_procedure_reaches_the_steps():
    """`ctx.resource(Steps)` returns the steps that the sidecar has loaded."""

    @procedure("demo.list")
    def listed(ctx: Context) -> None:
        seen.extend(ctx.resource(Steps).names())

    seen = []
    with ProcedureEnvironment(listed, plain) as environment:
        environment.call("demo.list")

    assert seen == ["demo.plain"]
