"""Steps as people draw them: their input, their function, their numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.session.errors import StepFailed
from sidecypher_procedures.session.workflow import (
    LONGEST_STEP_SECONDS,
    STEP_SECONDS,
    Step,
    function_name,
    read_input,
    read_step,
)


def step(**properties):
    return Step("a", "4:x:1", properties)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (None, {}),
        ("", {}),
        ("{}", {}),
        (' {"a": [1, "x", null]} ', {"a": [1, "x", None]}),
        ('{"b": {"a": 1}, "a": 2}', {"b": {"a": 1}, "a": 2}),
    ],
)
def test_an_input_is_a_json_object(text, value):
    """A step without an input has an empty one."""
    assert read_input(text, "a") == step(input=text).input == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,}', "is not JSON at line 1, column 9: "),
        ('{\n  "a": 1\n  "b": 2\n}', "is not JSON at line 3, column 3: Expecting ',' delimiter"),
        ("{'a': 1}", "is not JSON at line 1, column 2: "),
        ('{"a": 1} {"b": 2}', "is not JSON at line 1, column 10: Extra data"),
        ('{"a": {"k": 1, "j": 2, "k": 3}}', "has the key `k` twice in one map"),
        ('{"' + "k" * 500 + '": 1, "' + "k" * 500 + '": 2}', "has the key `...` twice in one map"),
        ('{"a": NaN}', "has a number that is too large, or none"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "is nested deeper than 100 maps and lists"),
        ('{"a": ' + '{"a": ' * 100_000, "is nested deeper than 100 maps and lists"),
        ("[1]", "is not a JSON object"),
        ('"text"', "is not a JSON object"),
        ("null", "is not a JSON object"),
        (5, "is not a JSON text"),
        (b"{}", "is not a JSON text"),
        ({"a": 1}, "is not a JSON text"),
    ],
)
def test_an_input_that_is_none_is_located(text, told):
    """The error names the step, and line and column or what is wrong."""
    with pytest.raises(StepFailed) as error:
        read_input(text, "ask")

    assert error.value.message.startswith(f"The `input` of the step `ask` {told}")


@given(st.text() | st.binary() | st.lists(st.text(st.sampled_from('{}[]",:0a\\u '))).map("".join))
def test_any_input_is_read_or_refused(text):
    """Nothing is raised but the located error."""
    try:
        assert isinstance(read_input(text, "a"), dict)
    except StepFailed as error:
        told = error.message
        assert told.startswith("The `input` of the step `a` ")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("request", "request"),
        ("request.request", "request"),
        ("utils.request", "request"),
        ("utils.request.request", "request"),
        ("reply.reply", "reply"),
        ("reply.respond", "reply"),
        ("utils.reply.respond", "reply"),
        ("utils.generate.generate", "generate"),
        ("utils.cypher.cypher", "cypher"),
        ("utils.api.api", "api"),
        ("utils.condition.equals", "condition.equals"),
        ("utils.store.append", "store.append"),
        ("condition.equals", "condition.equals"),
        ("store.append", "store.append"),
        # Those of authors have their whole name.
        ("analyze.sentiment", "analyze.sentiment"),
        ("analyze.analyze", "analyze.analyze"),
        ("utils.analyze.analyze", "utils.analyze.analyze"),
        ("request.other", "request.other"),
        ("my.request.request", "my.request.request"),
        ("", ""),
        (None, ""),
        (5, "5"),
    ],
)
def test_functions_have_the_names_of_older_engines_too(name, known):
    """With `utils.` and with the name twice, a function of ours is the same."""
    assert function_name(name) == known == step(function=name).function


def test_a_function_may_be_named_as_a_utility():
    """LUNA reads `utility` where no `function` is."""
    assert step(utility="utils.reply.reply").function == "reply"
    assert step(utility="reply", function="request").function == "request"
    assert step().function == ""


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, STEP_SECONDS),
        (1500, 1.5),
        (0, STEP_SECONDS),
        (-1, STEP_SECONDS),
        ("soon", STEP_SECONDS),
        (float("nan"), STEP_SECONDS),
        (float("inf"), LONGEST_STEP_SECONDS),
        (2**62, LONGEST_STEP_SECONDS),
    ],
)
def test_a_body_has_a_time_that_is_bounded(given, seconds):
    """What is no number of milliseconds is the usual time; a day is the longest."""
    assert step(timeoutMs=given).seconds == seconds


def test_tries_are_counted_from_what_is_drawn():
    """A number that is none is the default."""
    assert (step().retries, step().backoff) == (0, 1.0)
    assert (step(retries=3).retries, step(backoffMs=250).backoff) == (3, 0.25)
    assert (step(retries=-3).retries, step(backoffMs=-1).backoff) == (0, 1.0)
    assert (step(retries="3").retries, step(backoffMs=float("nan")).backoff) == (0, 1.0)


def test_what_follows_an_error_is_a_text():
    """`fail` is the default; joins are only those that say `all`."""
    assert (step().on_error, step(onError="step:b").on_error) == ("fail", "step:b")
    assert (step().is_join, step(join="all").is_join, step(join="any").is_join) == (
        False,
        True,
        False,
    )


def edge(to, **properties):
    return {"properties": properties, "to": to, "node": f"4:x:{to}"}


def test_edges_are_in_the_order_in_which_they_fire():
    """By `order`, those without one last, then by `id`, or by where they lead to."""
    edges = [
        edge("z"),
        edge("y", id="a"),
        edge("x", order=2.5),
        edge("w", order=2, id="b"),
        edge("v", order=2, id="a"),
        edge("u", order="first"),
    ]
    found = read_step({"node": "4:x:1", "properties": {"id": "s"}, "edges": edges})

    assert [each.to for each in found.edges] == ["v", "w", "x", "y", "u", "z"]


@pytest.mark.parametrize("given", [{}, {"id": None}, {"id": 5}, {"id": ["a"]}])
def test_a_step_without_an_id_can_be_read(given):
    """People draw steps: one without an id, or with one that is no text, has an empty one."""
    found = read_step({"node": "4:x:1", "properties": given, "edges": [edge(None), edge(5)]})

    assert found.id == ""
    assert [each.to for each in found.edges] == ["", ""]
