"""Parts of a text that may be names, and lists that are merged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.rules.concept_search import K, find_phrases, fuse
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


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "chunks", "artifact"]),
        st.lists(st.sampled_from("abcdef"), unique=True),
    )
)
def test_fusion_is_explained_by_its_ranks(lists):
    """A score is what its ranks say, and the order is that of scores, then of keys."""
    fused = fuse(lists)

    assert [each.key for each in fused] == [
        each.key for each in sorted(fused, key=lambda each: (-each.score, each.key))
    ]
    for each in fused:
        assert each.ranks == {
            name: keys.index(each.key) + 1 for name, keys in lists.items() if each.key in keys
        }
        assert each.score == pytest.approx(sum(1 / (K + rank) for rank in each.ranks.values()))


def test_fusion_does_not_depend_on_the_order_of_the_lists():
    """Two lists give the same result whichever comes first, also between equal scores."""
    lists = {"prompt": ["b", "a"], "chunks": ["a", "b"]}
    turned = dict(reversed(lists.items()))

    assert [each.key for each in fuse(lists)] == [each.key for each in fuse(turned)] == ["a", "b"]
