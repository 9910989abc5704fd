"""The page about the detector tells its slots and its figures."""

from docs.pages import page_named, rows
from fix_pairs import figures, hard_pairs, independent_pairs, pairs

from sidecypher_procedures.rules.detector import comparison as detector
from sidecypher_procedures.rules.detector.values import OPERATORS
from sidecypher_procedures.rules.detector.vocabulary import table, vocabulary

PAGE = "docs/rules-detector.md"


def slot_rows():
    return [
        [
            f"`{slot.name}`",
            slot.about,
            slot.kind,
            "many" if slot.many else "one",
            ", ".join(
                f"`{value}`" for value in [*slot.values, *(f"n {unit}" for unit in slot.units)]
            ),
        ]
        for slot in vocabulary().slots.values()
        if slot.name in table("slots.toml")
    ]


def family_rows():
    return [
        [f"`{name}`", entry["about"], ", ".join(f"`{value}`" for value in entry["values"])]
        for name, entry in table("families.toml").items()
    ]


def figure_rows():
    parts = {
        **{f"set {name}": independent_pairs(name) for name in "abcde"},
        "held apart": pairs("held"),
        "open": pairs("open"),
        "hard": hard_pairs(),
    }
    return [
        [name, kind, str(count), f"{precision:.2f}", f"{recall:.2f}"]
        for name, found in parts.items()
        for kind, (count, precision, recall) in figures(found).items()
    ]


def test_slots_of_the_page():
    """The table of slots is that of slots.toml."""
    assert rows(page_named(PAGE), "slot") == slot_rows()


def test_families_of_the_page():
    """The table of families is that of families.toml."""
    assert rows(page_named(PAGE), "family") == family_rows()


def test_figures_of_the_page():
    """Precision and recall are those that the pairs give today."""
    assert rows(page_named(PAGE), "pairs") == figure_rows()


def test_version_and_operators_of_the_page():
    """The page names the detector's version and all operators."""
    page = page_named(PAGE)

    assert f"(`{detector.DETECTOR}`), its version (`{detector.VERSION}`)" in page
    assert all(f"`{operator}`" in page for operator in OPERATORS)
