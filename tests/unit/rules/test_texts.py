"""What is heard in texts, and the part of them that is kept."""

import pytest

from sidecypher_procedures.rules.extraction import Findings
from sidecypher_procedures.rules.extractor import MAX_FOUND
from sidecypher_procedures.rules.options import ExtractionInput, RememberInput

FAR = "It rained. " * 150
RULE = "Never use emojis"


def heard(**values):
    return Findings.of(RememberInput.from_map({"userId": "ann", **values}))


def quoted(extraction):
    start, end = extraction.source_span
    return extraction.raw_snippet[start:end]


def test_an_empty_span_is_a_place_in_the_text():
    """A span may end where it starts."""
    given = ExtractionInput.from_map({"method": "rule", "sourceSpan": [3, 3]})

    assert given.source_span == [3, 3]


@pytest.mark.parametrize(
    "values",
    [
        {"text": f"{RULE}."},
        {"text": f"{RULE}. {FAR}"},
        {"text": f"{FAR} {RULE}."},
        {"text": f"{FAR} {RULE}. {FAR}"},
        {"userMessage": f"{RULE}.", "text": FAR},
        {"userMessage": f"{RULE}.", "assistantMessage": FAR},
    ],
)
def test_a_snippet_has_what_was_found(values):
    """However long the texts are, the kept part has the rule, and the span tells where."""
    extraction = heard(**values).extraction

    assert quoted(extraction) == RULE
    assert len(extraction.raw_snippet) <= 1000


def test_a_snippet_has_findings_that_lie_far_apart():
    """What does not fit into one part of the text is kept without what is between."""
    found = heard(text=f"Use tabs. {FAR} {RULE}.")

    assert found.extraction.raw_snippet == f"Use tabs ... {RULE}"
    assert quoted(found.extraction) == found.extraction.raw_snippet


def test_a_snippet_is_about_rules_before_relations_before_names():
    """The span covers what weighs most; without any finding there is none."""
    fact = "Ada Lovelace works at Acme"

    assert quoted(heard(text=f"{fact}. {RULE}.").extraction) == RULE
    assert quoted(heard(text=f"Hello GraphQL. {fact}.").extraction) == fact
    assert quoted(heard(text="Hello, GraphQL.").extraction) == "GraphQL"
    assert heard(text="it rains").extraction.source_span is None


def test_a_snippet_of_the_caller_is_kept():
    """Who gives a snippet or a span has both as given."""
    given = heard(text=RULE, extraction={"rawSnippet": "no emojis"}).extraction

    assert (given.raw_snippet, given.source_span) == ("no emojis", None)
    given = heard(text=f"{FAR} {RULE}", extraction={"sourceSpan": [3, 9]}).extraction
    assert (given.raw_snippet, given.source_span) == (FAR[:1000], [3, 9])


def test_what_is_for_a_future_time_is_told():
    """A rule that is to hold later is left out, with its words; nobody else's words are rules."""
    found = heard(
        text=f"From next week answer in German. {RULE}.",
        assistantMessage="From next week answer in French.",
    )

    assert [each.text for each in found.rules] == [RULE]
    assert [(each.text, each.reason) for each in found.left_out] == [
        ("From next week answer in German", "future")
    ]


@pytest.mark.parametrize(("more", "told"), [(0, []), (1, [(None, "limit")])])
def test_what_is_too_much_is_told(more, told):
    """Beyond the limit nothing is taken, and that is said; at the limit nothing is left out."""
    found = heard(text="Use tabs. " * (MAX_FOUND + more))

    assert len(found.rules) == MAX_FOUND
    assert [(each.text, each.reason) for each in found.left_out] == told
