"""Refusals in words that the detector was not made for are never taken for their opposite."""

import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from sidecypher_procedures.rules.detector.comparison import compare, read_text

ABOUT = tomllib.loads(
    (Path(__file__).parents[2] / "data/rules/refusals.toml").read_text(encoding="utf-8")
)["about"]


def verdicts(label):
    return {
        (each["plain"], text): compare(read_text(each["plain"]), read_text(text)).kind
        for each in ABOUT
        for text in each[label]
    }


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("contradicts", {"same"}), ("other", {"same", "conflict"}), ("same", {"conflict"})],
)
def test_what_is_not_understood_is_not_taken_for_its_opposite(label, wrong):
    """A "not" that nobody knows leaves a text without a slot, or is read as a "not"."""
    assert {pair for pair, kind in verdicts(label).items() if kind in wrong} == set()


def test_how_many_refusals_are_understood(capsys):
    """Most are even read as what they say."""
    kinds = {label: Counter(verdicts(label).values()) for label in ("contradicts", "same")}
    with capsys.disabled():
        sys.stdout.write(f"\nrefusals: {kinds}\n")

    assert kinds["contradicts"]["conflict"] >= 0.6 * kinds["contradicts"].total()
    assert kinds["same"]["same"] >= 0.8 * kinds["same"].total()
