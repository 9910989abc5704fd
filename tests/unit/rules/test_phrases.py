"""Parts of a text that may be names, and lists that are merged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.rules.concept_search import find_phrases
from sidecypher_procedures.rules.selection import BOUNDS
from sidecypher_procedures.rules.store import normal_name


def test_phrases_are_words_in_a_row():
    """Phrases are one to some words in a row, in the order of the text, each once."""
    found = find_phrases("Ask Ann  ask", replace(BOUNDS, phrase_words=2))

    assert found.names == ("ask", "ask ann", "ann", "ann ask")
    assert found.cut is False


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It is (C#).", "c#"),
        ("\u201cApollo\u201d, please", "apollo"),
        ("Ann\u2019s view", "ann"),
        ("use `node.js`!", "node.js"),
        ("**Apollo** is", "apollo"),
        ("about 100%.", "100%"),
        ("use \\Hub{//x}.", "\\hub{//x}"),
        ("is it (v2)?", "(v2)"),
    ],
)
def test_marks_around_a_name_do_not_count(text, name):
    """Brackets, quotes and the marks that end sentences are no part of a name."""
    assert name in find_phrases(text, BOUNDS).names


def test_a_long_text_is_cut():
    """Only so many characters and phrases are looked at, and the result says so."""
    few = replace(BOUNDS, phrases=3)

    assert len(find_phrases("a b c d e f", few).names) == 3
    assert find_phrases("a b c d e f", few).cut is True
    assert find_phrases("a" * 11, replace(BOUNDS, text_characters=10)).cut is True


@given(st.text(max_size=200))
def test_any_text_has_bounded_phrases(text):
    """Any text is read, and every phrase is a part of its normal form."""
    found = find_phrases(text, replace(BOUNDS, phrases=50))

    assert len(found.names) <= 50
    assert all(name in normal_name(text) for name in found.names)
