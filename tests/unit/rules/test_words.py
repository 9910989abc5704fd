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
        ("Always ask before deleting a file", "Delete files without asking"),
        ("Before merging, get my OK", "You can merge without my approval"),
        ("Don't install packages unless I approve it", "Install packages on your own"),
        ("Commits need my approval", "You may commit without asking"),
        ("Keep the thermostat at 18", "Keep the thermostat at 22"),
        ("No footers", "Add two footers"),
        ("Write the changelog before every release", "Never write a changelog"),
        ("Camera on in every meeting", "I keep my camera off in meetings"),
        ("Those long dashes - not in titles", "Use long dashes in titles"),
        ("Spoilers? Absolutely not", "Spoilers are welcome"),
        ("No nuts, shellfish or eggs", "Eggs, please"),
        ("Never book Ryanair, Wizz or easyJet", "You may book easyJet"),
        ("Stay away from mixins and metaclasses", "Use metaclasses"),
        ("Skip the plan and start coding", "Show me a plan first"),
        ("When reviewing, mention nits", "Don't mention nits in reviews"),
        ("Charts without labels", "Labels on every chart"),
        ("Greetings can go", "I want greetings"),
        ("Composition beats inheritance", "Inheritance over composition"),
        ("Weekly reports", "Send a report every day"),
        ("Test the parser, my boss insists", "Don't test the parser"),
        ("Ask before deleting files", "Delete old files, no need to ask"),
        ("Never push unless I tell you to", "Push as soon as the tests pass"),
        ("Don't ask, just commit", "Never commit without asking"),
        ("You may install packages", "Don't install anything"),
        ("Keep ticket numbers out of commit messages", "Put ticket numbers in commit messages"),
        ("Imports go before constants", "Constants go before imports"),
        ("No nuts", "Add walnuts"),
        ("No sign-off in emails", "Sign emails with Kind regards"),
        ("Tables instead of lists", "Lists instead of tables"),
        ("No emojis in your messages", "Sprinkle a few emojis in"),
        ("Never use emojis", "Use emojis liberally, it is livelier"),
        ("Close letters with Sincerely", "Letters close with Kind regards"),
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
        ("Don't make up sources", "Cite sources for every claim"),
        ("Distances in km, not miles", "Kilometres instead of miles for distances"),
        ("Every table needs a caption", "No tables without captions"),
        ("Only email me if it's urgent", "If it isn't urgent, don't email me"),
        ("Unless I say so, don't refactor", "Refactor only when I tell you to"),
        ("It isn't forbidden to disagree", "You're allowed to disagree"),
        ("Don't use anything but UTC", "Timestamps in UTC only"),
        ("Avoid gluten, dairy and soy", "No soy, gluten or dairy for me"),
        ("Unused imports have to go", "There should be no unused imports"),
        ("Never push to main", "Push to my branch after every step"),
        ("Don't quote me in the newsletter", "Quote the release notes in the newsletter"),
        ("Nobody but me may see my calendar", "I may see my calendar"),
        ("Tabs, not spaces in emails", "No tabs"),
        ("Temperatures in Celsius", "Distances in miles"),
        ("There's no reason not to use emojis", "You can use emojis"),
        ("Plain text only, my client shows raw markdown", "No markdown"),
        ("Ask before installing packages", "Install packages with npm"),
        ("Never push unless I tell you to", "Push after I approve it"),
        ("Don't call me", "Call my wife on Mondays"),
        ("No walnuts", "Nuts are fine"),
        ("No shellfish", "Prawns, crabs, mussels: all of that is off the menu"),
        ("No emojis", "nevr use emojis"),
        ("No emojis", "emojis begone"),
    ],
)
def test_what_only_looks_like_a_contradiction(one, other):
    """Another object, a narrower rule, a rank or what is no rule contradicts nothing."""
    assert verdict(one, other) in {"unknown", "compatible"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lines must not go past 80 columns", "Run to 120 characters before you wrap a line"),
        ("At most 100 words", "At most 200 words"),
        ("Use emojis", "Use emojis only in titles"),
        ("Start every reply with a summary", "The summary isn't useful, drop it"),
        ("Compliment me", "Praise makes me cringe so don't compliment my work"),
        ("Use tables", "Use tables without captions"),
    ],
)
def test_what_one_text_may_replace_is_not_compatible(one, other):
    """Where one rule may replace the other, they are neither the same nor compatible."""
    assert verdict(one, other) == verdict(other, one) in {"unknown", "conflict"}


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
    assert found[1].startswith("5+")


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
