"""Texts without a slot are compared by their words."""

import os
import subprocess
import sys

import pytest

from sidecypher_procedures.rules.detector.comparison import compare, read_text
from sidecypher_procedures.rules.detector.tokens import is_aside
from sidecypher_procedures.rules.settings import RulesSettings, RulesSettingsError

OWN = """
[mascot]
about = "which animal is drawn"
values = { otter = ["otter"], owl = ["owl"] }
topics = ["mascot"]
"""

SCRIPT = """
from sidecypher_procedures.rules.detector.comparison import compare, read_text, version
found = compare(read_text("our mascot is an otter"), read_text("the mascot is an owl"))
print(found.kind, version())
"""


def verdict(one, other):
    return compare(read_text(one), read_text(other)).kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("squash commits before merging", "never squash commits"),
        ("Deploy via Heroku", "Everything is deployed on Fly.io"),
        ("Use Jest", "We've moved from Jest to Vitest, so write tests for that"),
        ("Favour composition over inheritance", "Favour inheritance over composition"),
        ("Put the verdict first", "The verdict goes last"),
        ("Give me three ideas", "Give me five ideas"),
        ("Always write tests", "You needn't write tests"),
        ("Never swear", "You're allowed to swear"),
        ("Keep pineapples out of my recipes", "Pineapples in my recipes, please"),
        ("Write the tests before the migration", "Write the tests after the migration"),
        ("Mets toujours des titres", "Ne mets jamais de titres"),
        ("Usa siempre tablas", "Nunca uses las tablas"),
        ("Keine Kommentare", "Comment the code"),
    ],
)
def test_contradictions_in_words_without_a_slot(one, other):
    """What one text asks for and the other refuses or replaces is a conflict, in both orders."""
    assert verdict(one, other) == verdict(other, one) == "conflict"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never push to main", "Push to the feature branch when tests pass"),
        ("No meat", "Suggest meat substitutes"),
        ("No milk", "Recommend milk alternatives"),
        ("Never write tests", "Write test plans"),
        ("I prefer TypeScript over JavaScript", "I prefer Rust over C++"),
        ("I prefer pandas to Excel", "I prefer Excel to Google Sheets"),
        ("Emails to Karim go in Arabic", "Emails to Lena go in German"),
        ("Mention chapter 5", "Never mention chapter 7"),
        ("Use type hints", "No `Any` in type hints"),
        ("Add comments", "Comments should explain why, not what"),
        ("Be funny", "No jokes about politics"),
        ("Always add a docstring", "Only add docstrings to public functions"),
        ("Keep answers short", "Just this once, give me a long answer"),
        ("Use React", "What would it look like if we used Vue for everything?"),
        ("No emojis", "The style guide of that company reads: 'Use emojis'"),
        ("Use emojis", "nevr use emojis"),
    ],
)
def test_what_only_looks_like_a_contradiction(one, other):
    """Another object, a narrower rule, a rank or what is no rule contradicts nothing."""
    assert verdict(one, other) in {"unknown", "compatible"}


@pytest.mark.parametrize(
    ("sentence", "aside"),
    [
        ("Just this once, use tabs", True),
        ("Should I use tabs?", True),
        ("Could you use tabs?", False),
        ("My boss says 'use tabs'", True),
        ("My wife prefers dark mode", True),
        ("Be formal when replying to my boss", False),
        ("Hedge your claims", False),
        ("Format code according to PEP 8", False),
        ("Explain statistics as if I were a beginner", False),
        ("Answer Maria in her language", False),
        ("Forget what I said about being formal", False),
        ("Use tabs", False),
    ],
)
def test_sentences_that_are_not_rules(sentence, aside):
    """A question, a quotation and what is for once only ask for nothing that lasts."""
    assert is_aside(sentence) is aside


def test_slots_of_the_user(tmp_path):
    """Values of a slot in the user's file exclude each other, and the version tells the file."""
    path = tmp_path / "slots.toml"
    path.write_text(OWN, encoding="utf-8")
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            SCRIPT,
        ],
        env=os.environ | {"SIDECYPHER_RULES_SLOTS": str(path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert found[0] == "conflict"
    assert found[1].startswith("3+")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[mascot", "expected"),
        ("[mascot]\nabout = 'x'", "mascot.values"),
        ("[mascot]\nvalues = {owl = 'owl'}", "mascot.values.owl"),
        ("[mascot]\nvalues = {owl = ['owl']}\ncolour = 'x'", "mascot.colour"),
    ],
)
def test_a_file_of_slots_that_cannot_be_used(tmp_path, monkeypatch, text, told):
    """A file that is no TOML, or has a wrong key or value, is refused with where it is wrong."""
    path = tmp_path / "slots.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("SIDECYPHER_RULES_SLOTS", str(path))

    with pytest.raises(RulesSettingsError, match=told):
        RulesSettings.load()


def test_a_rule_is_not_read_with_a_file_of_slots_that_cannot_be_used(tmp_path):
    """Whatever reads the first rule says which setting is wrong, with SC-807."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"SIDECYPHER_RULES_SLOTS": str(tmp_path / "none.toml")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "RulesSettingsError" in done.stderr
    assert "`SIDECYPHER_RULES_SLOTS` cannot be used: the file cannot be read" in done.stderr


def test_a_file_of_slots_that_is_missing(tmp_path, monkeypatch):
    """A file that is not there is refused, without its path."""
    monkeypatch.setenv("SIDECYPHER_RULES_SLOTS", str(tmp_path / "none.toml"))

    with pytest.raises(RulesSettingsError, match="cannot be read") as error:
        RulesSettings.load()
    assert str(tmp_path) not in str(error.value)
