"""What a rule says, in words or in parts."""

import dataclasses
import hashlib
from importlib.resources import files

import pytest

from sidecypher_procedures.rules import detector
from sidecypher_procedures.rules.detector.comparison import VERSION, compare, read_parts, read_text
from sidecypher_procedures.rules.detector.vocabulary import canonical

DATA = {"5": "c5dc400b25aa7654"}


def parts(text):
    reading = read_text(text)
    return tuple(
        part
        for part in (
            reading.slot,
            reading.object,
            reading.operator,
            reading.value,
            "not" if reading.polarity == "negative" else "",
            f"if {reading.condition}" if reading.condition else "",
        )
        if part
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Answer in French", ("language", "french")),
        ("Write comments in French", ("language", "comment", "french")),
        ("Use a formal tone in French", ("tone", "formal", "if french")),
        ("Keep answers under 100 words", ("length", "less than", "100 word")),
        ("Don't write more than 100 words", ("length", "at most", "100 word")),
        ("3-5 sentences", ("length", "between", "3 to 5 sentence")),
        (
            "Commit messages of at most 72 characters",
            ("length", "commit", "at most", "72 character"),
        ),
        ("Line length 100", ("line_length", "exactly", "100 character")),
        ("Set temperature to 0.20", ("temperature", "exactly", "0.2")),
        ("Prefer tabs over spaces", ("indentation", "tabs")),
        ("Tabs, not spaces", ("indentation", "tabs")),
        ("For Python code use 4 spaces", ("indentation", "exactly", "4 space", "if python")),
        ("Name functions in snake_case", ("naming", "function", "snake_case")),
        ("Never omit type hints", ("type_hints", "use")),
        ("Don't hesitate to use emojis", ("emojis", "use")),
        ("Leave emojis out of titles", ("emojis", "use", "not", "if title")),
        ("I don't like it when you use emojis", ("emojis", "use", "not")),
        ("Use emojis, but not in titles", ("emojis", "use", "if except title")),
        ("You are too formal", ("tone", "formal", "not")),
        ("Use emojis sparingly", ("emojis", "sparing")),
        ("Call me Anna", ("user_name", "anna")),
        ("Use the past tense", ("tense", "past")),
    ],
)
def test_texts_that_are_understood(text, read):
    """A text that names one slot and one value is read into its parts."""
    assert parts(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs or spaces",
        "Neither emojis nor exclamation marks",
        "Use 2-3 examples",
        "Write about Apollo in a formal tone",
        "I don't mind emojis",
        "The formal verification of the kernel was a success",
        "Explain the French revolution to me",
        "日本語で答えてください",
        "???",
        "",
        "use emojis " * 100,
    ],
)
def test_texts_that_are_not_understood(text):
    """A text that is no rule of one slot, or of several, stays whole."""
    reading = read_text(text)

    assert (reading.slot, reading.value) == ("", canonical(text))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"slot": "Tone", "value": "relaxed"}, "casual tone"),
        ({"slot": "tone", "value": "not formal"}, "avoid a formal tone"),
        ({"slot": "emojis", "value": "never"}, "no emojis"),
        ({"slot": "emojis", "value": "yes"}, "use emojis"),
        ({"slot": "emojis", "value": "never", "polarity": "negative"}, "no emojis"),
        ({"slot": "length", "value": "100 words", "operator": "<="}, "at most 100 words"),
        ({"slot": "length", "value": "at most 100 words"}, "at most 100 words"),
        ({"slot": "line-length", "value": "100"}, "line length: 100"),
        ({"slot": "tone", "value": "formal", "condition": "e-mails"}, "formal tone in emails"),
        ({"slot": "language", "value": "French", "condition": "in comments"}, "comments in French"),
        (
            {"slot": "heading_case", "value": "title case", "condition": "headings"},
            "title case headings",
        ),
    ],
)
def test_parts_say_the_same_as_words(given, text):
    """A rule in parts has the reading of the same rule in words."""
    in_parts, in_words = read_parts(**given), read_text(text)

    assert dataclasses.replace(in_parts, text="") == dataclasses.replace(in_words, text="")


def test_code_stays_in_the_normal_form():
    """A text without a slot is its own value, with what is written as code."""
    assert read_text("No `Any` in type hints").value == "any in type hints"


def test_slots_that_nobody_knows_are_kept():
    """Parts may have a slot of their own; only its own negation contradicts such a value."""
    blue, not_blue = (read_parts(slot="Mood", value=value) for value in ("blue", "not blue"))

    assert blue.slot == "mood"
    assert compare(blue, not_blue).kind == "conflict"
    assert compare(blue, read_parts(slot="mood", value="red")).kind == "unknown"


@pytest.mark.parametrize("wrong", [{"polarity": "maybe"}, {"operator": "somewhat"}])
def test_wrong_parts_are_refused(wrong):
    """A polarity or operator that does not exist is no part of a rule."""
    with pytest.raises(ValueError, match=next(iter(wrong.values()))):
        read_parts(slot="tone", value="formal", **wrong)


def test_other_data_need_another_version():
    """Whoever changes the data files raises VERSION, since verdicts are stored with it."""
    found = hashlib.sha256()
    for name in ("families.toml", "foreign.toml", "lexicon.toml", "slots.toml", "statements.toml"):
        found.update(files(detector).joinpath(name).read_bytes())

    assert {VERSION: found.hexdigest()[:16]} == DATA
