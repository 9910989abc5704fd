"""The pages are in plain English: words that read as translated, and long sentences, are banned."""

import re
from statistics import median

import pytest
from docs.pages import PAGES, name_of, page_named, prose

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
    """A page has no banned word and no sentence of more than 35 words."""
    assert found_in(page) == ([], [])


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


@pytest.mark.parametrize(
    ("phrase", "least", "most"),
    [
        (r"tells?", 0, 3),
        (r"us(?:e|es|ing)", 38, 200),
        (r"if", 35, 200),
        (r"for example", 9.5, 200),
    ],
)
def test_words_are_those_of_plain_english(phrase, least, most):
    """In 10 000 words of README and docs, phrases are about as frequent as in plain English."""
    text = " ".join(prose(page) for page in PAGES if name_of(page).startswith(("README", "docs/")))
    words = len(re.findall(r"[A-Za-z']+", text))
    found = len(re.findall(rf"\b{phrase}\b", text, re.IGNORECASE))

    assert least <= found / words * 10_000 <= most


def test_a_page_is_short():
    """Half of the pages have at most 900 words."""
    pages = [page for page in PAGES if name_of(page).startswith(("README", "docs/"))]

    assert median(len(re.findall(r"[A-Za-z']+", prose(page))) for page in pages) <= 900


@pytest.mark.parametrize(
    "page", ["algo", "code", "github", "memory", "procedures", "rules", "runs", "session"]
)
def test_a_guide_is_short(page):
    """The guide of a namespace has at most 250 lines."""
    assert len(page_named(f"docs/{page}.md").splitlines()) <= 250
