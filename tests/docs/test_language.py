"""The pages are in plain English: words that read as translated, and long sentences, are banned."""

import json
import re
from pathlib import Path

import pytest
from docs.pages import PAGES, name_of, prose

EXCEPTIONS = Path(__file__).parent / "language.json"
"""How many banned words and long sentences a page may still have. Numbers may only shrink."""

BANNED = re.compile(
    r"\b(?:(?:is|are|was|were) (?:no(?! longer)|none)|anew|beside|whoever|nobody|the way out"
    r"|of (?:your|their|its|his|our) own)\b",
    re.IGNORECASE,
)
LONGEST = 35
"""Words in a sentence."""

_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?:])\s+(?=[^a-z])|\s\|\s|\n\s*\n|\n(?=\s*(?:[-*#|>]|\d+\.)\s?)")


def sentences(text):
    """Return the sentences of a page, each cell of a table and each item of a list on its own."""
    plain = _LINK.sub(r"\1", _CODE.sub("code", text))
    return [" ".join(each.split()) for each in _END.split(plain) if each.strip(" |-*#>\n")]


def found_in(page):
    """Return the banned words and the long sentences of a page."""
    text = prose(page)
    plain = " ".join(_CODE.sub("code", text).split())
    long = [each for each in sentences(text) if len(each.split()) > LONGEST]
    return [match[0] for match in BANNED.finditer(plain)], long


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_in_plain_english(page):
    """A page has no banned word and no sentence of more than 35 words, but for its exceptions."""
    words, long = found_in(page)
    allowed = json.loads(EXCEPTIONS.read_text()).get(name_of(page), {"words": 0, "sentences": 0})

    assert len(words) <= allowed["words"], words
    assert len(long) <= allowed["sentences"], long


def test_exceptions_only_shrink():
    """A page that has become better gets smaller numbers, and one without exceptions gets none."""
    found = {name_of(page): found_in(page) for page in PAGES}
    left = {
        name: {"words": len(words), "sentences": len(long)}
        for name, (words, long) in found.items()
        if words or long
    }

    assert json.loads(EXCEPTIONS.read_text()) == left


def test_what_is_banned_is_found():
    """Banned words are found whatever their case; a long sentence is found behind a short one."""
    assert [match[0] for match in BANNED.finditer("It is no file. Nobody reads anew.")] == [
        "is no",
        "Nobody",
        "anew",
    ]
    assert [len(each.split()) for each in sentences("Short. " + "Word " * 36 + "`a b` end.")] == [
        1,
        38,
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/glossary.md"])
def test_pages_without_exceptions(page):
    """The front door and the glossary have no exception."""
    assert page not in json.loads(EXCEPTIONS.read_text())
