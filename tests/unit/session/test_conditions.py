"""Conditions of edges: the forms that are read, and what they come to."""

import json
import time

import pytest
from fix_waiting import promised
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.session.conditions import (
    ALWAYS,
    LONGEST_MATCHED,
    LONGEST_PATTERN,
    Comparison,
    Evaluation,
    Group,
    Truth,
    Written,
    compare,
    is_pattern,
    is_true,
    matches,
    read_conditions,
    referenced,
)
from sidecypher_procedures.session.errors import InvalidCondition
from sidecypher_procedures.session.references import DIALECTS, NOTHING, STRICT, references_in

S = "@{SESSION_ID}"
OUTPUT = {
    "yes": True,
    "no": False,
    "word": "yes",
    "False": "False",
    "zero": 0,
    "five": 5,
    "half": 2.5,
    "text5": "5",
    "empty": "",
    "null": None,
    "list": ["a", 1, True],
    "nothing": [],
    "map": {"k": 1},
    "pattern": "^y",
}


def lookup(session, step, cycle):
    return OUTPUT if (session, step, cycle) == (None, "s", -1) else NOTHING


def ref(key):
    return f"{S}.s.{key}"


def holds(properties, dialect=STRICT):
    """Return whether the condition holds, and the keys that were missing."""
    evaluation = Evaluation(lookup, dialect)
    held = evaluation.holds(read_conditions(properties))
    return held, [each.rpartition(".")[2] for each in evaluation.missing]


def written(*members):
    return {"conditions": json.dumps(members)}


def comparison(key, operation, *expected):
    named = {"expected": expected[0]} if expected else {}
    return {"value": ref(key), "op": operation, **named}


# The form that `session.define` writes


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (comparison("word", "equals", "yes"), True),
        (comparison("word", "equals", "Yes"), False),
        (comparison("five", "equals", 5), True),
        (comparison("five", "equals", 5.0), True),
        (comparison("five", "equals", "5"), False),
        (comparison("yes", "equals", True), True),
        (comparison("yes", "equals", "TRUE"), True),
        (comparison("yes", "equals", 1), False),
        (comparison("null", "equals", None), True),
        (comparison("map", "equals", {"k": 1}), True),
        (comparison("word", "equals", ref("word")), True),
        (comparison("word", "not_equals", "no"), True),
        (comparison("word", "not_equals", "yes"), False),
        (comparison("word", "contains", "es"), True),
        (comparison("word", "contains", 1), False),
        (comparison("list", "contains", "a"), True),
        (comparison("list", "contains", True), True),
        (comparison("list", "contains", False), False),
        (comparison("map", "contains", "k"), True),
        (comparison("map", "contains", 1), False),
        (comparison("five", "contains", 5), False),
        (comparison("five", "greater_than", 4.5), True),
        (comparison("five", "greater_than", 5), False),
        (comparison("text5", "greater_than", 4), True),
        (comparison("text5", "less_than", "10"), True),
        (comparison("word", "greater_than", "no"), True),
        (comparison("word", "greater_than", 1), False),
        (comparison("yes", "greater_than", 0), False),
        (comparison("null", "less_than", 1), False),
        (comparison("half", "less_than", 3), True),
        (comparison("half", "less_than", 2.5), False),
        (comparison("word", "exists"), True),
        (comparison("null", "exists"), False),
        (comparison("missing", "exists"), False),
        (comparison("missing", "exists", False), True),
        (comparison("word", "exists", False), False),
        (comparison("word", "matches", "^y.s$"), True),
        (comparison("word", "matches", "e"), True),
        (comparison("word", "matches", "^e"), False),
        (comparison("word", "matches", "(?i)^YES$"), True),
        (comparison("five", "matches", "5"), False),
        (comparison("word", "in", ["yes", "no"]), True),
        (comparison("word", "in", "oh yes"), True),
        (comparison("word", "in", {"yes": 1}), True),
        (comparison("five", "in", [4, 6]), False),
        (comparison("five", "in", 5), False),
        (ref("yes"), True),
        (ref("zero"), False),
    ],
)
def test_what_a_condition_comes_to(member, expected):
    """Every operation, with values of every type; a text is true unless it is false."""
    assert holds(written(member)) == (expected, [])
    assert holds(written({"not": member})) == (not expected, [])
    assert holds({"conditions": [member]}) == (expected, [])


def test_all_members_of_a_list_must_hold():
    """A list is an AND, `any` an OR; groups may be in groups; empty ones say what they say."""
    yes, no = ref("yes"), ref("no")

    assert holds(written(yes, yes)) == (True, [])
    assert holds(written(yes, no)) == (False, [])
    assert holds(written({"any": [no, yes]})) == (True, [])
    assert holds(written({"any": [no, no]})) == (False, [])
    assert holds(written({"all": [yes, no]})) == (False, [])
    assert holds(written({"not": {"any": [no, {"all": [yes, {"not": yes}]}]}})) == (True, [])
    assert holds(written({"any": []})) == (False, [])
    assert holds({"conditions": json.dumps({"any": [no, yes]})}) == (True, [])
    assert holds({"conditions": json.dumps(comparison("five", "equals", 5))}) == (True, [])


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        *(("conditions", empty) for empty in (None, "", "[]", "{}", [])),
        *(("condition", empty) for empty in (None, "", "[]", [])),
        *(("function", empty) for empty in (None, "")),
    ],
)
def test_an_edge_without_a_condition_always_fires(name, empty):
    """Nothing, an empty text, list or map is no condition."""
    properties = {"id": "e", "order": 1, name: empty, "operator": "", "input": ""}

    assert holds(properties) == (True, [])


# What older engines write


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"true": ref("yes")}, True),
        ({"True": ref("yes")}, True),
        ({"false": ref("yes")}, False),
        ({"false": ref("no")}, True),
        ({"yes": ref("word")}, True),
        ({"YES": ref("word")}, False),
        ({"5": ref("five")}, True),
        ({"5.0": ref("five")}, True),
        ({"five": ref("five")}, False),
        ({"5": ref("text5")}, True),
        ({"x": ref("null")}, False),
        ({"a": ref("list")}, False),
        ({"true": ref("yes"), "yes": ref("word")}, True),
        ({"true": ref("yes"), "no": ref("word")}, False),
        ({"false": ref("missing|false")}, True),
        ({"d": ref("missing|d")}, True),
    ],
)
@pytest.mark.parametrize("dialect", [STRICT, DIALECTS["graphie"]])
def test_a_map_of_references_by_what_is_expected(entries, expected, dialect):
    """Graphie's map: each reference must be written as its key; all must be."""
    assert holds({"conditions": json.dumps(entries)}, dialect) == (expected, [])


@pytest.mark.parametrize(
    ("condition", "operator", "expected"),
    [
        ([ref("yes")], None, True),
        ([ref("yes"), ref("no")], None, False),
        ([ref("yes"), ref("no")], "AND", False),
        ([ref("yes"), ref("no")], "or", True),
        ([ref("no"), ref("zero")], "OR", False),
        (ref("word"), None, True),
        (ref("False"), None, False),
        ([{"true": ref("yes")}], None, True),
        ([{"false": ref("yes")}], None, False),
        ([{"false": ref("no")}], None, True),
        ([{"operator": "AND", "true": ref("yes"), "false": ref("no")}], None, True),
        ([{"operator": "AND", "true": ref("yes"), "false": ref("yes")}], None, False),
        ([{"operator": "or", "true": ref("no"), "false": ref("no")}], None, True),
        ([{"true": ref("yes"), "false": ref("no")}], None, True),
        ([{"false": ref("no")}, ref("word")], None, True),
        ([{"false": ref("yes")}, ref("word")], "or", True),
        ([{"false": ref("null")}], None, True),
        ([{"true": ref("nothing")}], None, False),
        (True, None, True),
        ([False], None, False),
    ],
)
@pytest.mark.parametrize("dialect", [STRICT, DIALECTS["luna"]])
def test_a_list_of_references_with_an_operator(condition, operator, expected, dialect):
    """LUNA's list, as JSON text or as a list of texts, each a reference or a map of them."""
    as_text = condition if isinstance(condition, str) else json.dumps(condition)
    items = condition if isinstance(condition, list) else [condition]
    as_list = [each if isinstance(each, str | bool) else json.dumps(each) for each in items]

    assert holds({"condition": as_list, "operator": operator}, dialect) == (expected, [])
    if not isinstance(condition, bool):
        assert holds({"condition": as_text, "operator": operator}, dialect) == (expected, [])


def test_conditions_as_a_list_of_texts_have_the_operator_too():
    """The first versions of LUNA named the list `conditions`."""
    texts = {"conditions": [ref("yes"), ref("no")]}

    assert holds({**texts, "operator": "or"}) == (True, [])
    assert holds({**texts, "operator": "and"}) == (False, [])


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("condition.equals", {"value": ref("word"), "equals": "yes"}, True),
        ("utils.condition.equals", {"value": ref("yes"), "equals": "true"}, True),
        ("condition.equals", {"value": ref("word"), "expected": "no"}, False),
        ("condition.not_equals", {"value": ref("word"), "not_equals": "no"}, True),
        ("condition.contains", {"value": ref("word"), "contains": "y"}, True),
        ("condition.greater_than", {"value": ref("text5"), "greater_than": "4"}, True),
        ("condition.less_than", {"value": ref("five"), "less_than": 4}, False),
        ("condition.exists", {"value": ref("missing")}, False),
        ("condition.matches", {"value": ref("word"), "matches": "^y"}, True),
        ("condition.in", {"value": ref("word"), "in": ["yes"]}, True),
        ("condition.true", {}, True),
        ("condition.true", "not JSON", True),
    ],
)
def test_a_function_with_its_input(function, given, expected):
    """The oldest form: what is expected is named as the operation is."""
    text = given if isinstance(given, str) else json.dumps(given)

    assert holds({"function": function, "input": text}) == (expected, [])


def test_of_several_forms_all_must_hold():
    """An edge with more than one condition fires if each of them does."""
    yes, no = {"conditions": f'["{ref("yes")}"]'}, {"condition": ref("no")}

    assert holds({**yes, "condition": ref("word")}) == (True, [])
    assert holds({**yes, **no}) == (False, [])
    assert holds({**yes, "function": "condition.true"}) == (True, [])


# Truth


@pytest.mark.parametrize("value", [True, 1, -0.5, "yes", "no", "0", " ", [0], {"a": None}])
def test_values_that_are_true(value):
    """Everything is true that is not said to be false."""
    assert is_true(value)


@pytest.mark.parametrize("value", [False, None, 0, 0.0, "", "false", "FALSE", " False ", [], {}])
def test_values_that_are_false(value):
    """The word false, zero, null and what is empty."""
    assert not is_true(value)


# What is missing

MISSING = ref("missing")


@pytest.mark.parametrize("dialect", [STRICT, *DIALECTS.values()])
@pytest.mark.parametrize(
    "properties",
    [
        written(MISSING),
        written({"not": MISSING}),
        written({"not": {"not": MISSING}}),
        written({"not": {"any": [ref("no"), MISSING]}}),
        written({"any": [MISSING, ref("no")]}),
        written({"value": MISSING, "op": "not_equals", "expected": 1}),
        written({"not": {"value": MISSING, "op": "equals", "expected": 1}}),
        written({"value": 1, "op": "not_equals", "expected": MISSING}),
        written({"value": f"= {MISSING}", "op": "equals", "expected": f"= {MISSING}"}),
        {"conditions": json.dumps({"false": MISSING})},
        {"conditions": json.dumps({"None": MISSING})},
        {"condition": MISSING},
        {"condition": json.dumps([{"true": MISSING}])},
        {"condition": json.dumps([{"false": MISSING}])},
        {
            "function": "condition.not_equals",
            "input": json.dumps({"value": MISSING, "not_equals": 1}),
        },
    ],
)
def test_what_a_missing_reference_decides_is_false(properties, dialect):
    """Also under `not`, and in every dialect; the reference is told."""
    assert holds(properties, dialect) == (False, ["missing"])


def test_a_missing_reference_that_decides_nothing_is_told():
    """The order of the members changes what is looked at, and not what it comes to."""
    yes, no = ref("yes"), ref("no")

    assert holds(written({"any": [MISSING, yes]})) == (True, ["missing"])
    assert holds(written({"any": [yes, MISSING]})) == (True, [])
    assert holds(written({"not": {"all": [MISSING, no]}})) == (True, ["missing"])
    assert holds(written({"not": {"all": [no, MISSING]}})) == (True, [])
    assert holds(written({"any": [{"not": MISSING}, yes]})) == (True, ["missing"])


def test_a_default_is_no_missing_reference():
    """A reference with a default is always there; so is a stored null."""
    assert holds(written(ref("missing|true"))) == (True, [])
    assert holds(written(ref("missing|false"))) == (False, [])
    assert holds({"condition": ref("missing|false")}, DIALECTS["luna"]) == (False, [])
    assert holds(written({"not": ref("null")})) == (True, [])


# What cannot be read


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"conditions": "[1,"}, "`conditions` is not JSON at line 1, column 4: Expecting value"),
        ({"conditions": '\n ["a" "b"]'}, "`conditions` is not JSON at line 2, column 7"),
        ({"conditions": '{"a": "b", "a": "c"}'}, "`conditions` has the key `a` twice in one map"),
        ({"conditions": "[" * 200 + "]" * 200}, "`conditions` is nested deeper than 100"),
        ({"conditions": '"text"'}, "`conditions` is neither a list nor a map"),
        ({"conditions": 5}, "`conditions` is neither a list nor a map"),
        ({"conditions": "[5]"}, "`conditions[0]` is not a condition"),
        ({"conditions": '["yes"]'}, "`conditions[0]`: The text is not one reference"),
        (written(f"{ref('a')} == 5"), "`conditions[0]`: The text is not one reference"),
        (written(ref("a"), "@{"), "`conditions[1]`: The reference at character 1 cannot be read"),
        (
            written({"any": [ref("a"), {"not": {}}]}),
            "`conditions[0].any[1].not` is not a condition",
        ),
        (written({"any": ref("a")}), "`conditions[0]` is not a condition"),
        (written({"any": [], "not": ref("a")}), "`conditions[0]` is not a condition"),
        (written({"value": ref("a")}), "`conditions[0]` is not a condition"),
        (written({"op": "exists"}), "`conditions[0]` is not a condition"),
        (written({**comparison("a", "exists"), "x": 1}), "`conditions[0]` is not a condition"),
        (written(comparison("a", "equal", 1)), "`conditions[0].op` is not an operation"),
        (written(comparison("a", ["equals"], 1)), "`conditions[0].op` is not an operation"),
        (written(comparison("a", "equals")), "`conditions[0]` has no `expected`"),
        (written(comparison("a", "matches", "(")), "`conditions[0].expected` is not a regular"),
        (written(comparison("a", "matches", 5)), "`conditions[0].expected` is not a regular"),
        (
            written(comparison("a", "matches", ref("a"))),
            "`conditions[0].expected` is not a regular",
        ),
        (written(comparison("a", "equals", "@{")), "`conditions[0]`: The reference at character 1"),
        ({"conditions": '{"op": "equals"}'}, "`conditions` is not a condition"),
        ({"conditions": '{"true": "@{x"}'}, "`conditions`: The reference at character 1"),
        ({"conditions": "[]", "operator": "xor"}, "`operator` is neither `and` nor `or`"),
        ({"condition": ref("a"), "operator": "xor"}, "`operator` is neither `and` nor `or`"),
        ({"condition": ref("a"), "operator": ["or"]}, "`operator` is neither `and` nor `or`"),
        ({"condition": "[1"}, "`condition` is not JSON at line 1, column 3"),
        ({"condition": "yes"}, "`condition[0]`: The text is not one reference"),
        ({"condition": 5}, "`condition[0]` is not a reference"),
        ({"condition": [ref("a"), "{"]}, "`condition[1]` is not JSON at line 1, column 2"),
        ({"condition": '[{"true": ["a"]}]'}, "`condition[0].true` is not a reference"),
        ({"condition": '[{"false": "no"}]'}, "`condition[0].false`: The text is not one"),
        ({"condition": '[{"true": "x", "y": 1}]'}, "`condition[0]` is not a reference"),
        ({"condition": '[{"operator": "and"}]'}, "`condition[0]` is not a reference"),
        (
            {"condition": json.dumps([{"true": ref("a"), "operator": 1}])},
            "`condition[0].operator` is neither `and` nor `or`",
        ),
        ({"function": 5}, "`function` is not a condition"),
        ({"function": "equals"}, "`function` is not a condition"),
        ({"function": "my.condition.equals"}, "`function` is not a condition"),
        ({"function": "condition.same", "input": "{}"}, "`function` is not a condition"),
        ({"function": "condition.equals"}, "`input` has no `value` to compare"),
        ({"function": "condition.equals", "input": "{"}, "`input` is not JSON at line 1, column 2"),
        ({"function": "condition.equals", "input": "[]"}, "`input` has no `value` to compare"),
        (
            {"function": "condition.contains", "input": '{"value": 1, "substring": "x"}'},
            "`input` has no `expected`",
        ),
        (
            {"function": "condition.matches", "input": '{"value": 1, "matches": "("}'},
            "`input.matches` is not a regular expression",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(properties, told):
    """The error names the property and the place in it."""
    with pytest.raises(InvalidCondition) as error:
        read_conditions(properties)

    assert error.value.message.startswith(told)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        [ref("yes"), ref("x"), "@{", "equals", "matches", "in", "or", "[", "condition.in"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["any", "all", "not", "value", "op", "expected", "true", "false", "operator"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
)
PROPERTY = JSON | JSON.map(json.dumps) | st.lists(JSON.map(json.dumps), max_size=3)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ["conditions", "condition", "operator", "function", "input"], PROPERTY
        ),
    )
)
def test_any_property_is_read_or_refused(properties):
    """Nothing is raised but the located error, and what is read comes to true or false."""
    try:
        condition = read_conditions(properties)
    except InvalidCondition as error:
        told = error.message
    else:
        told = "`"
        for dialect in (STRICT, *DIALECTS.values()):
            assert Evaluation(lookup, dialect).holds(condition) in {True, False}
        for value in referenced(condition):
            list(references_in(value))

    assert "`" in told


@given(
    st.sampled_from(["contains", "greater_than", "less_than", "matches", "in", "exists"]),
    JSON,
    JSON,
)
def test_any_two_values_can_be_compared(operation, value, expected):
    """No operation raises, whatever it compares, and `not_equals` is the opposite of `equals`."""
    assert compare(operation, value, expected) in {True, False}
    assert compare("equals", value, expected) is not compare("not_equals", value, expected)


# Regular expressions


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * LONGEST_MATCHED),
        ("(a|a)*b", "a" * LONGEST_MATCHED),
        ("(a*)*(a*)*(a*)*b", "a" * LONGEST_MATCHED),
        ("a*a*a*a*a*a*b", "a" * LONGEST_MATCHED),
        ("(a|b)*a(a|b){200}c", "ab" * (LONGEST_MATCHED // 2)),
        ("(?:a?){100}a{100}b", "a" * LONGEST_MATCHED),
        ("(.*)*x", "a" * LONGEST_MATCHED),
        (r"(\w{100}){100}", "a" * LONGEST_MATCHED),
        (r"\w{0,50}" * 100, "a" * LONGEST_MATCHED),
    ],
)
def test_no_regular_expression_holds_the_sidecar(pattern, text):
    """Patterns on which `re` does not end take time in proportion to the text, or are refused."""
    begin = time.thread_time()
    matches(pattern, text + "!")
    matches(pattern, text)

    assert time.thread_time() - begin < promised(1.0)


def test_bounds_of_regular_expressions():
    """Patterns and texts have a largest length; what is longer does not match."""
    assert is_pattern("a" * LONGEST_PATTERN)
    assert not is_pattern("a" * (LONGEST_PATTERN + 1))
    assert matches("a$", "a" * LONGEST_MATCHED)
    assert not matches("a$", "a" * (LONGEST_MATCHED + 1))
    assert not compare("matches", "a", "a" * (LONGEST_PATTERN + 1))
    assert not compare("matches", "a", "(")
    assert not matches("a", "a\ud83d")


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "(?P<n>a)(?P=n)"])
def test_what_needs_backtracking_is_no_pattern(pattern):
    """Looking around and backreferences are refused, so that no match can take long."""
    assert not is_pattern(pattern)


# What the engine asks


def test_the_values_with_references_are_told():
    """The engine reads the outputs of all of them at once."""
    properties = {
        **written({"any": [comparison("a", "equals", ref("b")), {"not": ref("c")}]}),
        "condition": json.dumps([{"true": ref("d"), "false": ref("e")}]),
        "function": "condition.in",
        "input": json.dumps({"value": ref("f"), "in": [ref("g")]}),
    }
    values = list(referenced(read_conditions(properties)))

    assert [each.path[0] for each in references_in(values)] == list("abcdefg")


def test_conditions_are_read_as_values():
    """What was read can be drawn: each form is one of four kinds."""
    assert read_conditions({}) == ALWAYS == Group("all")
    assert read_conditions(written(comparison("a", "equals", 1))) == Group(
        "all", (Comparison(ref("a"), "equals", 1),)
    )
    assert read_conditions({"conditions": json.dumps({"x": ref("a")})}) == Group(
        "all", (Written(ref("a"), "x"),)
    )
    assert read_conditions({"condition": json.dumps([{"false": ref("a")}]), "operator": "or"}) == (
        Group("any", (Group("all", (Group("none", (Truth(ref("a")),)),)),))
    )
