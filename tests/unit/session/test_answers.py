"""What requests ask for, and which answers are that."""

import json
import re
import time
from datetime import UTC, datetime

import pytest
from fix_waiting import promised
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.session.answers import (
    answered,
    check_request,
    checked_schema,
    response_key,
    schema_problem,
)
from sidecypher_procedures.session.errors import InvalidAnswer, StepFailed
from sidecypher_procedures.session.outcomes import Done, Message

SECRET = "a secret"


def asked(**given):
    return check_request("Who?", given)


def refused(request, value):
    """Return the error that an answer gives."""
    with pytest.raises(InvalidAnswer) as told:
        answered(request, value)
    text = f"{told.value.message} {told.value.hint}"
    assert SECRET not in text
    assert told.value.__cause__ is None
    return text


def test_a_request_has_what_an_answer_needs():
    """Options and schema are checked when it is asked, and kept with it."""
    assert asked() == {
        "statement": "Who?",
        "options": None,
        "schema": None,
        "responseKey": "response",
    }
    assert asked(options=["a", "b"], schema={"type": "string"}, response_key="name") == {
        "statement": "Who?",
        "options": ["a", "b"],
        "schema": '{"type":"string"}',
        "responseKey": "name",
    }
    assert response_key({}) == response_key({"response_key": ""}) == "response"


@pytest.mark.parametrize("options", [[], "a", {"a": 1}, [1], ["a", None], 5, False])
def test_options_that_are_no_texts_are_refused(options):
    """A list of one or more texts."""
    with pytest.raises(StepFailed, match="`options` of a `request` step are no list of texts"):
        asked(options=options)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("text", "is no map"),
        ([], "is no map"),
        (True, "is no map"),
        ({"type": "text"}, "is no JSON Schema: $.type"),
        ({"properties": {"a": {"minimum": "x"}}}, "is no JSON Schema: $.properties.a.minimum"),
        ({"required": "a"}, "is no JSON Schema: $.required"),
        ({"pattern": "("}, "is no JSON Schema: $.pattern"),
        ({"items": {"pattern": "(?=a)"}}, "has a `pattern` that cannot be used"),
        ({"pattern": "a{99999999999}"}, "has a value that cannot be used"),
        ({"minimum": float("nan")}, "has a value that cannot be used"),
        ({"enum": [2**63]}, "has a value that cannot be used"),
        ({"$ref": "#/$defs/nothing"}, "has a `$ref` to what is not in it"),
        ({"items": [{"$ref": "#x"}]}, "is no JSON Schema: $.items"),
        ({"anyOf": [{"$ref": "other"}]}, "has a `$ref` to what is not in it"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "has a `$ref` to what is not in it"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema, told):
    """A JSON Schema (2020-12) that refers to itself only; the error says where it is none."""
    with pytest.raises(StepFailed, match=re.escape(f"The `schema` of a step {told}")):
        checked_schema(schema)
    with pytest.raises(StepFailed):
        asked(schema=schema)


PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]", "maxLength": 10},
        "age": {"$ref": "#/$defs/age"},
        "tags": {"type": "array", "prefixItems": [{"const": "first"}], "items": {"enum": ["a"]}},
        "$ref": {"type": "integer"},
    },
    "required": ["name"],
    "dependentRequired": {"age": ["tags"]},
    "additionalProperties": {"type": "integer"},
    "$defs": {"age": {"type": "integer", "minimum": 0}},
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "Ann"}, None),
        ({"name": "Ann", "age": 5, "tags": ["first", "a"], "$ref": 1}, None),
        ({"name": "Ann", SECRET: 5}, None),
        ("a secret", '`$` does not satisfy `type`: "object"'),
        ({}, '`$` does not satisfy `required`: ["name"]'),
        ({"name": "a secret"}, '`$.name` does not satisfy `pattern`: "^[A-Z]"'),
        ({"name": "A secret is this"}, "`$.name` does not satisfy `maxLength`: 10"),
        ({"name": "Ann", "age": -1, "tags": []}, "`$.age` does not satisfy `minimum`: 0"),
        ({"name": "Ann", "tags": [SECRET]}, '`$.tags[0]` does not satisfy `const`: "first"'),
        (
            {"name": "Ann", "tags": ["first", SECRET]},
            '`$.tags[1]` does not satisfy `enum`: ["a"]',
        ),
        ({"name": "Ann", SECRET: SECRET}, '`$.*` does not satisfy `type`: "integer"'),
        (
            {"name": "Ann", "age": 5},
            '`$` does not satisfy `dependentRequired`: {"age":["tags"]}',
        ),
    ],
)
def test_a_schema_says_where_an_answer_does_not_fit(value, problem):
    """Place and rule are told; neither a value nor a key of the answer's own."""
    request = asked(schema=PERSON)

    assert schema_problem(PERSON, value) == problem
    if problem is None:
        assert answered(request, value).value == {"response": value}
    else:
        assert problem in refused(request, value)


def test_a_long_rule_is_not_shown():
    """An enumeration of thousands would hide where the answer does not fit."""
    schema = {"enum": list(range(1000))}

    assert schema_problem(schema, SECRET) == "`$` does not satisfy `enum`: ..."


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#"}, 1),
        ({"multipleOf": 0.1}, 10**400),
        ({"$ref": "http://127.0.0.1:9/x"}, 1),
        ({"pattern": "("}, "x"),
    ],
)
def test_what_a_schema_cannot_be_compared_with_does_not_fit(schema, value):
    """No rule raises, and nothing is fetched."""
    assert schema_problem(schema, value) is not None


def test_nothing_is_fetched_for_a_schema(monkeypatch):
    """What a `$ref` names elsewhere is refused, and not looked for."""
    fetched = []
    monkeypatch.setattr("urllib.request.urlopen", fetched.append)
    with pytest.raises(StepFailed):
        checked_schema({"properties": {"a": {"$ref": "http://a.example/schema"}}})
    schema_problem({"$ref": "http://a.example/schema"}, 1)
    schema_problem({"$dynamicRef": "http://a.example/schema"}, 1)

    assert fetched == []


def test_no_answer_holds_the_sidecar_by_a_pattern():
    """A pattern of the schema on which `re` does not end takes its time in proportion."""
    request = asked(schema={"pattern": "^(a+)+$"})
    begin = time.thread_time()
    refused(request, "a" * 50_000 + SECRET)

    assert time.thread_time() - begin < promised(1.0)


@pytest.mark.parametrize("value", [SECRET, "A", 1, None, ["a"], {"a": 1}, True])
def test_only_the_options_are_accepted(value):
    """An answer that is none of them is refused, and not shown."""
    request = asked(options=["a", "b"])

    assert "The answer is none of the 2 options of the request" in refused(request, value)
    assert answered(request, "b") == Done({"response": "b"}, (Message("user", "b"),))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("yes", "yes"),
        ("", ""),
        (5, "5"),
        (True, "true"),
        (None, "null"),
        ({"a": ["ü", 1]}, '{"a":["ü",1]}'),
    ],
)
def test_an_answer_is_an_output_and_a_message(value, said):
    """Its value is kept as it is; what the conversation has of it is a text."""
    assert answered(asked(response_key="name"), value) == Done(
        {"name": value}, (Message("user", said),)
    )


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 1, tzinfo=UTC),
        [float("nan")],
        {"a": float("inf")},
        b"x",
        json.loads("[" * 200 + "]" * 200),
        "a secret \ud83d",
        2**63,
    ],
)
@pytest.mark.parametrize("given", [{}, {"schema": {"multipleOf": 2}}])
def test_an_answer_that_json_does_not_have_is_refused(value, given):
    """Times, bytes, infinite numbers and what is too deep cannot be stored."""
    assert "a value that JSON does not have" in refused(asked(**given), value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "age", "tags"]) | st.text(max_size=3), inner)
    ),
    max_leaves=6,
)
KEYWORDS = [
    "type",
    "enum",
    "pattern",
    "items",
    "required",
    "minimum",
    "multipleOf",
    "$ref",
    "anyOf",
]
SCHEMAS = st.dictionaries(
    st.sampled_from([*KEYWORDS, "properties", "$id", "$schema", "uniqueItems", "not"]), JSON
)


@given(SCHEMAS, JSON)
def test_any_schema_is_used_or_refused(schema, value):
    """Whatever somebody writes as a schema, nothing but the step's own error is raised."""
    try:
        checked_schema(schema)
    except StepFailed as error:
        told = error.message
    else:
        told = schema_problem(schema, value) or "`schema`"

    assert "`" in told


@given(JSON)
def test_any_answer_is_taken_or_refused(value):
    """Nothing is raised but the error of answers."""
    for request in (asked(), asked(schema=PERSON), asked(options=["a"])):
        try:
            done = answered(request, value)
        except InvalidAnswer:
            continue
        assert done.value == {"response": value}
