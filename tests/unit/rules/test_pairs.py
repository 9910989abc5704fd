"""How well the detector tells conflicts from the rest, on pairs whose label it did not give."""

import sys

import pytest
from fix_pairs import figures, hard_pairs, held_slots, independent_pairs, pairs

from sidecypher_procedures.rules.detector.comparison import compare, read_text
from sidecypher_procedures.rules.detector.vocabulary import vocabulary

# Of the slots that were held apart from development. A text with an unknown word has no slot.
PRECISION, RECALL = 0.99, 0.8
# Of texts by others, who had not seen the vocabulary.
INDEPENDENT_PRECISION, INDEPENDENT_RECALL = 0.98, 0.51


@pytest.fixture(scope="module")
def table():
    return {part: figures(pairs(part)) for part in ("held", "open")} | {
        "hard": figures(hard_pairs())
    }


def test_the_figures_are_told(table, capsys):
    """Whoever runs the tests sees precision and recall of every class."""
    lines = ["", "", "slots  verdict     pairs  precision  recall"]
    for part, of_part in table.items():
        for kind, (count, precision, recall) in of_part.items():
            lines.append(f"{part:5}  {kind:10}  {count:5}  {precision:9.3f}  {recall:6.3f}")
    with capsys.disabled():
        sys.stdout.write("\n".join([*lines, ""]))

    assert sum(count for of_part in table.values() for count, _, _ in of_part.values()) >= 300


def test_conflicts_of_slots_held_apart(table):
    """A conflict that is told is one, and most are found, in words nobody had in mind."""
    _, precision, recall = table["held"]["conflict"]

    assert precision >= PRECISION
    assert recall >= RECALL


@pytest.mark.parametrize("name", ["a", "b"])
def test_conflicts_in_texts_by_others(name):
    """What is called a conflict in texts of unknown words is one, and many are found."""
    _, precision, recall = figures(independent_pairs(name))["conflict"]

    assert precision >= INDEPENDENT_PRECISION
    assert recall >= INDEPENDENT_RECALL


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
def test_no_opposite_is_the_same(name):
    """A rule is never swallowed by one that says something else."""
    wrong = [
        pair
        for pair in independent_pairs(name)
        if pair.label != "same"
        and compare(read_text(pair.one), read_text(pair.other)).kind == "same"
    ]

    assert wrong == []


def test_conflicts_of_the_other_slots(table):
    """What development looked at stays understood."""
    _, precision, recall = table["open"]["conflict"]

    assert precision >= 0.99
    assert recall >= 0.95


def test_pairs_that_only_look_like_contradictions(table):
    """Words of a slot in a text about something else are no conflict with it."""
    found = [
        (pair.one, pair.other)
        for pair in hard_pairs()
        if pair.label != "conflict"
        and compare(read_text(pair.one), read_text(pair.other)).kind == "conflict"
    ]

    assert found == []


def test_slots_held_apart_are_slots():
    """The product reads the slots that are held apart, as it reads the others."""
    assert set(held_slots()) <= vocabulary().slots.keys()
    assert len(held_slots()) >= 10


def test_pairs_are_made_without_chance():
    """Every run compares the same pairs."""
    assert pairs("held") == pairs("held")
