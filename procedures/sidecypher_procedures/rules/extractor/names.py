"""Names in a text: of people, things and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_WORD = re.compile(r"\w+(?:['\u2019]\w+)?")
# Every repetition is bounded, and no two alternatives share more than a bounded beginning.
_MARKED = re.compile(
    r"`(?P<code>[^`\n]{1,60})`"
    r"|\"(?P<quoted>[^\"\n]{1,60})\"|\u201c(?P<curly>[^\u201d\n]{1,60})\u201d"
    r"|(?<!\w)(?P<tag>[#@][^\W\d]\w{1,38})"
    r"|(?<![\w.])(?P<dotted>[^\W\d]\w{0,38}(?:\.[^\W\d]\w{1,38}){1,6})(?!\w)"
    r"|\b(?P<snake>[^\W\d_]\w{0,38}_\w{1,38})\b"
)
# A word with an apostrophe, however long, is refused before its capitals are looked for.
_MIXED = re.compile(r"(?=\w++\Z)(?:[^\W\d_]+[a-z0-9][A-Z]|[A-Z]\w*[a-z]\d)\w*")
_SMALL = {"of", "de", "van", "von", "der", "da", "del", "la"}
_NO_START = frozenset(
    "the a an in on at for from with to and but or if when while since as i we you he she it they "
    "this that these those my our your his her its their use write keep answer please never always "
    "no not do don't what why how who where is are was were can could would should there here also "
    "then so today after before maybe perhaps ask tell see call let make hello hi hey thanks meet "
    "contact ping email add remove give show only just even both either neither all some".split()
)
_MAX_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a name may stand.

    Attributes:
        sure: Whether it is a name by itself; one word with a capital is one only in a relation.
    """

    name: str
    span: tuple[int, int]
    sure: bool


def mentions(text: str) -> list[Mention]:
    """Give all names of a text in order, none inside another; marked ones come first.

    Example:
        >>> [each.name for each in mentions("Ada Lovelace wrote `notes.md`")]
        ['Ada Lovelace', 'notes.md']
    """
    found = [*_marked(text), *_capitalised(text, list(_WORD.finditer(text)))]
    taken: list[Mention] = []
    end = -1
    order = {id(each): rank for rank, each in enumerate(found)}
    for each in sorted(found, key=lambda one: (one.span[0], order[id(one)])):
        if each.span[0] >= end:
            taken.append(each)
            end = each.span[1]
    return taken


def _marked(text: str) -> Iterator[Mention]:
    for found in _MARKED.finditer(text):
        kind = str(found.lastgroup)
        name = found[kind].strip()
        if kind in {"quoted", "curly"} and not _looks_like_name(name):
            continue
        if name:
            start = found.start(kind) + found[kind].index(name)
            yield Mention(name, (start, start + len(name)), sure=True)


def _looks_like_name(text: str) -> bool:
    words = text.split()
    return 0 < len(words) <= _MAX_WORDS and words[0][0].isupper() and text[-1].isalnum()


def _capitalised(text: str, words: list[re.Match[str]]) -> Iterator[Mention]:
    """Give runs of words with a capital, and single words of mixed case such as `GraphQL`."""
    place = 0
    while place < len(words):
        if not _capital(words[place][0]):
            place += 1
            continue
        end = _run(text, words, place)
        while place < end and words[place][0].casefold() in _NO_START:
            place += 1
        if place < end:
            span = (words[place].start(), words[end - 1].end())
            sure = end > place + 1 or bool(_MIXED.fullmatch(words[place][0]))
            yield Mention(text[slice(*span)], span, sure=sure)
        place = end


def _capital(word: str) -> bool:
    return word[0].isupper() or bool(_MIXED.fullmatch(word))


def _run(text: str, words: list[re.Match[str]], place: int) -> int:
    """Give the place behind the last word of a name; small words may stand inside of it."""
    end = ahead = place + 1
    while ahead < min(len(words), place + _MAX_WORDS) and _close(
        text, *words[ahead - 1 : ahead + 1]
    ):
        word = words[ahead][0]
        if not (word[0].isupper() or word in _SMALL):
            break
        ahead += 1
        end = ahead if word[0].isupper() else end
    return end


def _close(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    return text[one.end() : other.start()] in {" ", "-", ". "} and (
        text[one.end() : other.start()] != ". " or one[0] in {"Dr", "Mr", "Mrs", "Ms", "St", "Prof"}
    )
