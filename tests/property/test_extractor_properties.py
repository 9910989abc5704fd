"""Whatever a text is, what is extracted from it stands in it."""

from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.rules.extractor import extract

PIECES = [
    *(
        "Use tabs",
        "never",
        "emojis",
        "Ada Lovelace",
        "Acme",
        "uses",
        "is a",
        "is part of",
        "`code`",
    ),
    *(
        '"Open Canvas"',
        ". ",
        ", and ",
        "?",
        "\n- ",
        "```",
        "#tag",
        "foo.bar",
        "in French",
        "\u0130",
    ),
]
texts = st.text(st.characters(), max_size=200) | st.lists(
    st.sampled_from(PIECES) | st.text(max_size=3), max_size=30
).map(" ".join)


@given(texts)
def test_what_is_found_stands_in_the_text(text):
    """Spans lie inside the text; rules and names are what stands there."""
    found = extract(text)

    assert [text[slice(*rule.span)] for rule in found.rules] == [rule.text for rule in found.rules]
    for entity in found.entities:
        written = text[slice(*entity.span)]
        assert written
        assert entity.name == written
    assert all(0 <= each.span[0] < each.span[1] <= len(text) for each in found.relations)


@given(texts)
def test_extracting_again_finds_the_same(text):
    """There is no chance in it."""
    assert extract(text) == extract(text)
