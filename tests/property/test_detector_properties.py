"""Whatever two rules say, the detector's verdict keeps to a few laws."""

from dataclasses import replace

from fix_pairs import pairs
from hypothesis import example, given
from hypothesis import strategies as st

from sidecypher_procedures.rules.detector.comparison import compare, read_parts, read_text
from sidecypher_procedures.rules.detector.vocabulary import canonical, vocabulary

SLOTS = vocabulary().slots
STATEMENTS = sorted({pair.one for part in ("held", "open") for pair in pairs(part)})

words = st.sampled_from(sorted({word for text in STATEMENTS for word in text.split()}))
sayings = st.lists(words, min_size=1, max_size=12).map(" ".join)
anything = st.text(st.characters(), max_size=60)
texts = st.sampled_from(STATEMENTS) | sayings | anything
polarities = st.sampled_from(["positive", "negative"])
spoken = texts.map(read_text)
given_in_parts = st.builds(
    lambda slot, value, **parts: read_parts(slot=slot, value=value, **parts),
    st.sampled_from(sorted(SLOTS)) | anything,
    st.sampled_from(sorted({value for slot in SLOTS.values() for value in slot.values})) | texts,
    polarity=polarities | st.just(""),
    operator=st.sampled_from(["", "at most", ">=", "between"]),
    condition=st.sampled_from(["", "in titles", "when it rains"]) | anything,
    object=st.sampled_from(["", "comments"]) | anything,
)
readings = spoken | given_in_parts


@given(readings, readings)
def test_the_order_of_two_rules_does_not_matter(a, b):
    """Comparing is symmetric, in kind, layer and reason."""
    assert compare(a, b) == compare(b, a)


@given(readings)
def test_a_rule_is_the_same_as_itself(reading):
    """Nothing contradicts itself."""
    assert compare(reading, reading).kind == "same"


@given(readings)
def test_a_rule_contradicts_its_negation(reading):
    """The same parts with the other polarity are a conflict."""
    other = "positive" if reading.polarity == "negative" else "negative"

    assert compare(reading, replace(reading, polarity=other)).kind == "conflict"


@given(readings, readings)
def test_two_negations_never_conflict(a, b):
    """Who says no to two things leaves room for both."""
    a, b = replace(a, polarity="negative"), replace(b, polarity="negative")

    assert compare(a, b).kind != "conflict"


@given(texts)
@example("don''t")
@example("\u0130")
@example("a\u200d\u0301")
@example("\ufdfa" * 40)
@example("1 - 2 - 3, 1,000,0000")
def test_the_normal_form_is_its_own_normal_form(text):
    """Normal forms can be stored and read again: nothing is lost the second time."""
    reading = read_text(text)

    assert canonical(canonical(text)) == canonical(text)
    assert read_text(reading.text) == reading


@given(texts)
def test_shouting_and_spacing_change_nothing(text):
    """Upper case, more space and a full stop leave a rule what it is."""
    reading = read_text(text)
    louder = read_text(f"  {text.strip()} . ")

    assert compare(reading, louder).kind in {"same", "unknown"}


@given(given_in_parts)
def test_parts_read_again_are_the_same_parts(reading):
    """The parts that are stored in the graph give the same reading when they come back."""
    again = read_parts(
        slot=reading.slot,
        value=reading.value,
        object=reading.object,
        operator=reading.operator,
        polarity=reading.polarity,
        condition=reading.condition,
        text=reading.text,
    )

    assert again == reading
