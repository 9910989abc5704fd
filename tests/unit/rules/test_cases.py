"""The texts of the cases on which the rules of who wins are told."""

import pytest

from sidecypher_procedures.rules.detector.comparison import compare, read_marker, read_text

FORMAL, CASUAL = "formal tone", "casual tone"
EMOJIS, NO_EMOJIS = "use emojis", "never use emojis"


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (FORMAL, CASUAL, "conflict"),
        (FORMAL, "Use a formal tone.", "same"),
        (EMOJIS, NO_EMOJIS, "conflict"),
        (NO_EMOJIS, "don\u2019t use emojis!", "same"),
        (NO_EMOJIS, "never emojis in titles", "compatible"),
        (EMOJIS, "never emojis in titles", "compatible"),
        ("emojis in comments", "never emojis in titles", "compatible"),
        (FORMAL, "used to like casual", "conflict"),
        (FORMAL, EMOJIS, "compatible"),
        ("write between 50 and 60 words", "never write between 40 and 70 words", "conflict"),
        ("write between 30 and 60 words", "never write between 40 and 70 words", "compatible"),
        ("write like Hemingway", "Write like Hemingway!", "same"),
        ("write like Hemingway", "never write like Hemingway", "conflict"),
        ("write like Hemingway", "write like Woolf", "unknown"),
    ],
)
def test_verdicts_of_the_cases(one, other, kind):
    """What the cases call a contradiction is one, whichever rule comes first."""
    a, b = read_text(one), read_text(other)

    assert compare(a, b).kind == kind
    assert compare(b, a).kind == kind


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("used to like casual", "past"),
        (NO_EMOJIS, "negated"),
        (FORMAL, "current"),
        ("from next week use a formal tone", "future"),
        ("I am used to a formal tone", "current"),
        ("I used to avoid emojis", "past"),
        ("I will never want emojis", "negated"),
        ("I'll always want tabs", "current"),
        ("We will always use British spelling", "current"),
        ("I am never going to want emojis", "negated"),
        ("I will use tabs", "future"),
        ("We plan to always use tabs", "future"),
        ("From next week I will always use tabs", "future"),
        ("Never use the word 'previously'", "negated"),
        ('Always write "in the future" in full', "current"),
        ("never write \u2018I\u2019ll do it soon\u2019", "negated"),
        ("the users' style that I used to like", "past"),
        ("'I used to like casual'", "past"),
    ],
)
def test_time_that_a_text_speaks_of(text, marker):
    """Words such as "used to" are a hint about time, and leave the polarity alone."""
    assert read_marker(text) == marker
