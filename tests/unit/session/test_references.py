"""References: the grammar, what they become, and what `compat` changes."""

import json
import time

import pytest
from fix_waiting import promised
from hypothesis import example, given
from hypothesis import strategies as st

from sidecypher_procedures.session.errors import InvalidReference
from sidecypher_procedures.session.references import (
    DIALECTS,
    LATEST,
    MOST_DEFAULTS,
    MOST_DEPTH,
    NOTHING,
    STRICT,
    Fallback,
    Missing,
    Reference,
    find,
    from_json,
    inserted,
    is_missing,
    parse,
    parse_reference,
    references_in,
    resolve,
    to_json,
)

S = "@{SESSION_ID}"

MEMORY = {
    ("ask", 0): {"name": "Ann", "age": 30},
    ("ask", 1): {"name": "Bea", "age": 40, "tags": ["a", {"deep": 1}], "none": None},
    ("flag", 0): {"yes": True, "no": False, "five": 5, "map": {"a": [1, None]}, "text": "word"},
    ("list", 0): [10, [20, 21]],
    ("numbers", 0): {"half": 2.5, "by": {"1": {"x": "one"}}},
    ("any key", 0): {"a.b": "dotted", "0": "zero"},
    ("trap", 0): {"text": f"{S}.ask.name", "map": {f"{S}.ask.name": f"{S}.ask.name"}},
}


def lookup(session, step, cycle):
    """Return an output of `MEMORY`; the session `other` has what this one has as step `other`."""
    if session not in {None, "other"}:
        return NOTHING
    cycles = sorted(number for name, number in MEMORY if name == step)
    place = cycle if cycle >= 0 else len(cycles) + cycle
    return MEMORY.get((step, place), NOTHING)


def resolved(value, dialect=STRICT):
    return resolve(value, lookup, dialect)


def tried(function, *arguments):
    """Return what a function returns, or the error that it raises."""
    try:
        return function(*arguments)
    except (InvalidReference, Missing) as error:
        return error


# The grammar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # `@{` (SESSION_ID | id) `}.` step
        (f"{S}.a", Reference(None, "a")),
        ("@{s-1}.a", Reference("s-1", "a")),
        ("@{any id, really}.a", Reference("any id, really", "a")),
        # step and key: letters, digits, `_`, `-`, or quoted in brackets
        (f"{S}.A_b-9.K-_0", Reference(None, "A_b-9", path=("K-_0",))),
        (f'{S}["any step"]["any key"]', Reference(None, "any step", path=("any key",))),
        (f'{S}.["any step"].["any key"]', Reference(None, "any step", path=("any key",))),
        (f'{S}.a["say \\"x\\"] \\u00fc"]', Reference(None, "a", path=('say "x"] ü',))),
        (f'{S}.a[""]', Reference(None, "a", path=("",))),
        # step[i] is a cycle
        (f"{S}.a[0]", Reference(None, "a", 0)),
        (f"{S}.a[-2].k", Reference(None, "a", -2, ("k",))),
        # a single [i] behind the first key with nothing after it is a cycle
        (f"{S}.a.k[1]", Reference(None, "a", 1, ("k",))),
        (f"{S}.a.k[-1]", Reference(None, "a", LATEST, ("k",))),
        # followed by more path, it is an element
        (f"{S}.a.k[1].x", Reference(None, "a", path=("k", 1, "x"))),
        (f"{S}.a.k[1][2]", Reference(None, "a", path=("k", 1, 2))),
        # behind a later key, or with a cycle, it is an element
        (f"{S}.a.k.x[1]", Reference(None, "a", path=("k", "x", 1))),
        (f"{S}.a[3].k[1]", Reference(None, "a", 3, ("k", 1))),
        (f"{S}.a[3][1]", Reference(None, "a", 3, (1,))),
        # default: JSON if it parses, else text
        (f"{S}.a.k|5", Reference(None, "a", path=("k",), default=Fallback(5, "5"))),
        (f"{S}.a|[1, 2]", Reference(None, "a", default=Fallback([1, 2], "[1, 2]"))),
        (f'{S}.a|"5"', Reference(None, "a", default=Fallback("5", '"5"'))),
        (f"{S}.a|null", Reference(None, "a", default=Fallback(None, "null"))),
        (f"{S}.a|two words", Reference(None, "a", default=Fallback("two words", ""))),
        (f"{S}.a|", Reference(None, "a", default=Fallback("", ""))),
        (f"{S}.a|x|y", Reference(None, "a", default=Fallback("x|y", ""))),
        (f'{S}.a|"open', Reference(None, "a", default=Fallback('"open', ""))),
        # what JSON does not have is a text
        (f"{S}.a|NaN", Reference(None, "a", default=Fallback("NaN", ""))),
        (f"{S}.a|1e999", Reference(None, "a", default=Fallback("1e999", ""))),
        (f'{S}.a|"\\ud800"', Reference(None, "a", default=Fallback('"\\ud800"', ""))),
        # a reference may be a default
        (f"{S}.a|@{{s}}.b.k", Reference(None, "a", default=Reference("s", "b", path=("k",)))),
        (
            f"{S}.a|{S}.b|two words",
            Reference(None, "a", default=Reference(None, "b", default=Fallback("two words", ""))),
        ),
    ],
)
def test_a_text_is_one_reference(text, expected):
    """A text that is exactly one reference, its default included, is read as the grammar says."""
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Hello {S}.ask.name!", ["Hello ", f"{S}.ask.name", "!"]),
        (f"{S}.a.b.", [f"{S}.a.b", "."]),
        (f"{S}.a.b, {S}.c.d.", [f"{S}.a.b", ", ", f"{S}.c.d", "."]),
        (f"{S}.a.b{S}.c.d", [f"{S}.a.b", f"{S}.c.d"]),
        (f"{S}.a.b[x]", [f"{S}.a.b", "[x]"]),
        (f"{S}.a.b[ 0 ]", [f"{S}.a.b", "[ 0 ]"]),
        (f"{S}.a..b", [f"{S}.a", "..b"]),
        (f"{S}.a.ü", [f"{S}.a", ".ü"]),
        # inside a text, a default ends at white space
        (f"Hi {S}.a.b|my friend!", ["Hi ", f'{S}.a.b|"my"', " friend!"]),
        (f"Hi {S}.a.b|{S}.c.d|you !", ["Hi ", f'{S}.a.b|{S}.c.d|"you"', " !"]),
        (f"Hi {S}.a.b|7\n!", ["Hi ", f"{S}.a.b|7", "\n!"]),
        (f"Hi {S}.a.b| !", ["Hi ", f'{S}.a.b|""', " !"]),
        # unless it is quoted
        (f'Hi {S}.a.b|"my friend"!', ["Hi ", f'{S}.a.b|"my friend"', "!"]),
        (f'{S}.a.b|"my friend", hi', [f'{S}.a.b|"my friend"', ", hi"]),
        # where another reference follows, the first is inside a text
        (f"{S}.a.b|x {S}.c.d", [f'{S}.a.b|"x"', " ", f"{S}.c.d"]),
        (f"{S}.a|{S}.b rest", [f"{S}.a|{S}.b", " rest"]),
        ("", []),
        ("no } reference { @ {", ["no } reference { @ {"]),
    ],
)
def test_a_text_is_cut_at_its_references(text, expected):
    """What is no reference stays text: also a dot or a bracket behind one that names nothing."""
    assert [str(part) for part in parse(text)] == expected


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("Hi @{SESSION_ID", 3, "its brace is not closed"),
        ("@{SESSION_ID.a and @{SESSION_ID}.b", 0, "its brace is not closed"),
        ("@{}.a", 0, "it names no session"),
        ("@{ }.a", 0, "it names no session"),
        ("@{SESSION_ID}", 13, "it names no step"),
        ("@{SESSION_ID.a.b}", 17, "it names no step"),
        ("@{SESSION_ID} .a", 13, "it names no step"),
        ("@{SESSION_ID}[0]", 16, "it names no step"),
        ("@{SESSION_ID}.a @{x}", 20, "it names no step"),
        ('@{SESSION_ID}.a["k', 15, "the quoted key does not end"),
        ('@{SESSION_ID}.a["k"', 15, "the bracket is not closed"),
        ('@{SESSION_ID}.a["k" ]', 15, "the bracket is not closed"),
        ('Hi @{SESSION_ID}.a|"k', 19, "the quoted default does not end"),
        ("@{SESSION_ID}.a|@{b", 16, "its brace is not closed"),
    ],
)
def test_what_begins_a_reference_and_is_none_is_located(text, position, why):
    """An `@{` that does not begin a reference is an error that tells which character it is at."""
    with pytest.raises(InvalidReference) as told:
        parse(text)

    assert told.value.position == position
    assert told.value.message == f"The reference at character {position + 1} cannot be read: {why}"
    assert "@{SESSION_ID}.step.key" in told.value.hint


@pytest.mark.parametrize("text", ["", "word", f"{S}.a.b rest", f"rest {S}.a.b", f"{S}.a{S}.b"])
def test_a_text_around_a_reference_is_not_one(text):
    """Only a text that is exactly one reference is taken for one."""
    with pytest.raises(InvalidReference, match="not one reference"):
        parse_reference(text)


def test_chains_of_defaults_are_bounded():
    """So many references may be each the default of the one before, and no more."""
    chain = "|".join([f"{S}.a"] * MOST_DEFAULTS)

    assert len(list(references_in(chain))) == MOST_DEFAULTS
    for text in (f"{chain}|{S}.a", f"Hi {chain}|{S}.a !", "|".join([f"{S}.a"] * 100_000)):
        with pytest.raises(InvalidReference, match=f"the {MOST_DEFAULTS + 1}th of a chain"):
            parse(text)


@pytest.mark.parametrize(
    "piece",
    ["@{", "@{a}", f"{S}.a", f"{S}.a|", '["', "[0]", f'{S}.a|"', f'{S}.a["', f"{S}.a|[", "}", "."],
)
def test_long_texts_are_read_in_time(piece):
    """The time to read a text grows with its length and not with its square."""
    text = S + ".a" + piece * 20_000
    begin = time.thread_time()
    tried(parse, text)

    assert time.thread_time() - begin < promised(1.0)


# What is invented

NAMES = st.text(min_size=0, max_size=8) | st.sampled_from(["@{", "}", '"]', "|", "\\", "\ud800"])
NUMBERS = st.integers(min_value=-(10**15) + 1, max_value=10**15 - 1)
SESSIONS = st.none() | st.text(min_size=1, max_size=8).filter(
    lambda text: "}" not in text and "@{" not in text and text.strip() and text != "SESSION_ID"
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from(["@{", "@{ x", '"', f"{S}.a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3
        )
    ),
    max_leaves=6,
)
FALLBACKS = JSON.map(lambda value: Fallback(value, to_json(value)))


def references(depth=3):
    defaults = st.none() | FALLBACKS
    if depth:
        defaults |= references(depth - 1)
    return st.builds(
        Reference,
        SESSIONS,
        NAMES,
        st.just(LATEST) | NUMBERS,
        st.lists(NAMES | NUMBERS, max_size=4).map(tuple),
        defaults,
    )


@given(references())
@example(Reference(None, "a", path=("k", 1)))
@example(Reference(None, "a", path=(1,)))
@example(Reference(None, "a", default=Fallback(["@{ x"], "")))
def test_a_printed_reference_is_read_as_itself(reference):
    """Whatever a reference is, its text is read as the same."""
    assert parse_reference(str(reference)) == reference


PIECES = ["@{", "}", S, f"{S}.a", ".", "[", "]", "0", "-1", "|", '"', "\\", " ", "\n", "a", "ü"]
ODD = st.lists(st.sampled_from(PIECES)).map("".join) | st.text()


@given(ODD.filter(lambda text: "@{" not in text))
def test_a_text_without_a_reference_is_unchanged(text):
    """Where no `@{` is, nothing is read, and the text stays as it is in every dialect."""
    assert resolved(text) == resolved(text, DIALECTS["graphie"]) == text
    assert parse(text) == ((text,) if text else ())


@given(ODD)
def test_no_text_raises_anything_but_the_located_error(text):
    """Any text is cut or refused with a place in it; what was cut is read again as the same."""
    template = tried(parse, text)
    if isinstance(template, InvalidReference):
        assert 0 <= template.position <= len(text)
        return
    for part in template:
        assert isinstance(part, str) or parse_reference(str(part)) == part
    found = tried(resolved, text)
    assert not isinstance(found, Missing) or found.reference.default is None


# What references become


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{S}.ask.name", "Bea"),
        (f"{S}.ask", MEMORY["ask", 1]),
        (f"{S}.ask.name[0]", "Ann"),
        (f"{S}.ask[0].name", "Ann"),
        (f"{S}.ask[-2].name", "Ann"),
        (f"{S}.ask.name[-2]", "Ann"),
        (f"{S}.ask.tags[1].deep", 1),
        (f"{S}.ask.tags[0].deep|none", "none"),
        (f"{S}.ask[1].tags[0]", "a"),
        (f"{S}.ask[1].tags[-2]", "a"),
        (f"{S}.flag.map.a[0]", 1),
        (f"{S}.list[0][1]", [20, 21]),
        (f"{S}.list[0][1][-1]", 21),
        (f'{S}["any key"]["a.b"]', "dotted"),
        (f'{S}["any key"].0', "zero"),
        (f"{S}.numbers.by[1].x", "one"),
        ("@{other}.flag.five", 5),
    ],
)
def test_what_a_reference_refers_to(text, value):
    """Cycles count from the first output or back from the latest, elements within lists."""
    assert resolved(text) == value


@pytest.mark.parametrize("name", ["yes", "no", "five", "map", "text"])
def test_a_text_that_is_one_reference_keeps_the_type(name):
    """The value stands where the text was, as it is."""
    value = MEMORY["flag", 0][name]
    found = resolved({"a": [f"{S}.flag.{name}"]})["a"][0]

    assert found == value
    assert type(found) is type(value)


def test_inside_a_text_values_are_inserted():
    """Texts are inserted as they are, everything else as compact JSON."""
    text = ", ".join(f"{S}.flag.{name}" for name in ("text", "yes", "five", "map"))

    assert resolved(f"= {text}") == '= word, true, 5, {"a":[1,null]}'


@pytest.mark.parametrize(
    "text",
    [
        f"{S}.nobody",
        f"{S}.nobody.x",
        f"{S}.ask.nothing",
        f"{S}.ask[2].name",
        f"{S}.ask[-3].name",
        f"{S}.ask.name.letter",
        f"{S}.ask[1].tags[2]",
        f"{S}.ask[1].tags[-3]",
        f"{S}.ask[1].tags.0",
        f"{S}.ask.none.x",
        "@{unknown}.ask.name",
    ],
)
def test_what_is_not_there_is_missing_unless_there_is_a_default(text):
    """Step, cycle, key, element or session: each may be missing, and the default replaces it."""
    reference = parse_reference(text)
    with pytest.raises(Missing) as told:
        resolved({"a": text})

    assert told.value.reference == reference
    assert is_missing(reference, lookup)
    assert resolved(f"{text}|[1]") == [1]
    assert resolved(f"= {text}|[1] =") == "= [1] ="
    assert not is_missing(parse_reference(f"{text}|[1]"), lookup)


def test_a_stored_null_wins_over_the_default():
    """What is there and null is not missing."""
    assert resolved(f"{S}.ask.none|5") is None
    assert resolved(f"= {S}.ask.none|5") == "= null"


def test_the_first_reference_of_a_chain_that_is_there_counts():
    """A default that is a reference has its own default; the last one is told as missing."""
    assert resolved(f"{S}.nobody|{S}.ask.name|{S}.flag") == "Bea"
    assert resolved(f"{S}.nobody|{S}.ask.x|two words") == "two words"
    assert resolved(f"= {S}.nobody|{S}.ask.age|0") == "= 40"
    with pytest.raises(Missing) as told:
        resolved(f"{S}.nobody|{S}.ask.x")

    assert str(told.value) == f"{S}.ask.x"


def test_values_are_not_resolved_again():
    """A reference in an output, or in a default, is data."""
    assert resolved(f"{S}.trap.text") == f"{S}.ask.name"
    assert resolved(f"= {S}.trap.text") == f"= {S}.ask.name"
    assert resolved(f"{S}.trap.map") == MEMORY["trap", 0]["map"]
    assert resolved(f'{S}.nobody|"{S}.ask.name"') == f"{S}.ask.name"


def test_keys_of_maps_are_untouched():
    """References are read in values, however deep, and not in keys."""
    given = {f"{S}.ask.name": [{"@{": f"{S}.ask.name"}, 1, True, None]}

    assert resolved(given) == {f"{S}.ask.name": [{"@{": "Bea"}, 1, True, None]}
    assert given[f"{S}.ask.name"][0] == {"@{": f"{S}.ask.name"}


def test_references_are_found_in_order_with_their_defaults():
    """The references of a value are those of all its texts, from first to last."""
    value = {"a": f"= {S}.one|{S}.two|3", "b": [f"{S}.three", 4], f"{S}.key": None}

    assert [each.step for each in references_in(value)] == ["one", "two", "three"]


# JSON


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not JSON at line 1, column 1: Expecting value"),
        ('{\n "a": }', "is not JSON at line 2, column 7: Expecting value"),
        ("[1] x", "is not JSON at line 1, column 5: Extra data"),
        ('{"a": {"b": 1, "b": 2}}', "has the key `b` twice in one map"),
        ("[NaN]", "has a number that is too large, or none"),
        ("[-Infinity]", "has a number that is too large, or none"),
        ("[1e999]", "has a number that is too large, or none"),
        ("9" * 5000, "has a number that is too large, or none"),
        ('"\\ud83d"', "has half of a character, such as `\\ud83d` alone"),
        ('{"\\ud83d": 1}', "has half of a character, such as `\\ud83d` alone"),
        ("[" * 101 + "1" + "]" * 101, "is nested deeper than 100 maps and lists"),
        ("[" * 100_000, "is nested deeper than 100 maps and lists"),
    ],
)
def test_json_that_cannot_be_used_is_told_with_its_place(text, why):
    """Where the text ends to be JSON, or what Neo4j would not take."""
    with pytest.raises(ValueError) as told:
        from_json(text)

    assert str(told.value) == why


def test_json_as_deep_as_allowed_is_resolved():
    """The bound on the depth is below what Python's stack takes."""
    text = "[" * MOST_DEPTH + f'"{S}.ask.name"' + "]" * MOST_DEPTH

    assert to_json(resolved(from_json(text))) == text.replace(f"{S}.ask.name", "Bea")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", 9223372036854775808.0),
        ("1.5", 1.5),
        ("-0", 0),
        ('"\\ud83d\\ude00"', "😀"),
    ],
)
def test_numbers_and_texts_of_json_are_those_of_cypher(text, value):
    """A whole number beyond 64 bits becomes a float; two halves of a character are one."""
    found = from_json(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**63, "\ud83d", {"\ud83d": 1}, object(), {1: object()}, b"x"],
)
def test_what_json_does_not_have_is_refused(value):
    """No value is written that could not be read, or that Neo4j would not take."""
    with pytest.raises((ValueError, TypeError)):
        to_json([value])


@given(JSON)
def test_json_is_written_and_read_as_the_same(value):
    """What is written is JSON, and read as it was."""
    assert from_json(to_json(value)) == json.loads(to_json(value)) == value


# Dialects


def became(text, dialect):
    """Return what a text becomes, or that something is missing."""
    found = tried(resolved, text, dialect)
    return Missing if isinstance(found, Missing) else found


@pytest.mark.parametrize(
    ("text", "ours", "graphie", "luna"),
    [
        pytest.param(f"{S}.ask.x", Missing, f"{S}.ask.x", None, id="missing"),
        pytest.param(f"= {S}.ask.x", Missing, f"= {S}.ask.x", "= None", id="missing in a text"),
        pytest.param(f"{S}.ask.x|5", 5, "5", "5", id="JSON default"),
        pytest.param(f"{S}.ask.x|[]", [], "[]", "[]", id="list default"),
        pytest.param(f"{S}.flag.five", 5, "5", 5, id="number"),
        pytest.param(f"{S}.numbers.half", 2.5, "2.5", 2.5, id="float"),
        pytest.param(f"{S}.flag.yes", True, "True", True, id="boolean"),
        pytest.param(f"{S}.flag.map", *[{"a": [1, None]}] * 3, id="map"),
        pytest.param(f"= {S}.flag.yes", "= true", "= True", "= True", id="boolean in a text"),
        pytest.param(
            f"= {S}.flag.map",
            '= {"a":[1,null]}',
            "= {'a': [1, None]}",
            "= {'a': [1, None]}",
            id="map in a text",
        ),
        # In these, what the older engines documented and did differs; all do what was documented.
        pytest.param(f"{S}.ask.x|GM! How are you?", *["GM! How are you?"] * 3, id="text default"),
        pytest.param(f"= {S}.ask.x|GM! you", *["= GM! you"] * 3, id="text default in a text"),
        pytest.param(f"{S}.ask.none|d", *[None] * 3, id="stored null"),
        pytest.param(f"{S}.ask.name[0]", *["Ann"] * 3, id="cycle"),
        pytest.param(f"{S}.ask.tags[1].deep|x", 1, "1", 1, id="element"),
        pytest.param(f"{S}.flag.map.a", *[[1, None]] * 3, id="nested"),
        pytest.param(f"{S}.ask", *[MEMORY["ask", 1]] * 3, id="whole output"),
        pytest.param(f"{S}.nobody|{S}.ask.name", *["Bea"] * 3, id="reference as default"),
        pytest.param(f"Hi {S}.ask.name, you", *["Hi Bea, you"] * 3, id="punctuation"),
        pytest.param(f"{S}.ask.name{S}.flag.text", *["Beaword"] * 3, id="adjacent"),
    ],
)
def test_what_compat_changes(text, ours, graphie, luna):
    """Each line of the table of `compat`: what a text becomes here and in both older dialects."""
    expected = {"sidecypher": ours, "graphie": graphie, "luna": luna}
    found = {
        name: became(text, dialect) for name, dialect in {"sidecypher": STRICT, **DIALECTS}.items()
    }

    assert found == expected
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in expected.items()
    }


def test_what_is_missing_is_null_where_a_dialect_says_so():
    """`find` follows the dialect where a reference has no default, and never where it has one."""
    missing = parse_reference(f"{S}.ask.x")

    assert find(missing, lookup, DIALECTS["luna"]) is None
    assert not is_missing(missing, lookup, DIALECTS["luna"])
    assert inserted(None, DIALECTS["luna"]) == "None"
    assert inserted(None) == "null"
