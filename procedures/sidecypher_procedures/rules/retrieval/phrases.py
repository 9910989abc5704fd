"""Parts of a text that may be names of concepts, in any script, found without a model."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sidecypher_procedures.rules.concepts import normal_name
from sidecypher_procedures.rules.retrieval.bounds import Bounds

_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # kana, Han, Hangul
    "\U00020000-\U0003ffff]+"
)
_OPENING: Final = frozenset({"Ps", "Pi", "Pf"})
_CLOSING: Final = frozenset({"Pe", "Pi", "Pf", "Po"})
_QUOTES: Final = frozenset("\"'`*_")
# They end names such as `C#` and `100%`, and no sentence.
_PART_OF_NAMES: Final = frozenset("#%&@")
_POSSESSIVE: Final = re.compile("['\u2019]s$")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Parts of a text.

    Attributes:
        names: Each phrase once, in its normal form, in the order of its first place in the text.
        cut: Whether the text has more than was looked at.
    """

    names: tuple[str, ...]
    cut: bool


def find_phrases(text: str, bounds: Bounds) -> Phrases:
    """Return the parts of a text that may be names: one to some words in a row.

    Of scripts that write words without spaces, and of Hangul, whose particles are joined to the
    words, it is every run of characters up to a length.

    Example:
        >>> find_phrases("Ask Ann's bot.", Bounds(phrase_words=1)).names
        ('ask', "ann's", 'ann', 'bot.', 'bot')
    """
    folded = normal_name(text[: bounds.text_characters])
    found: dict[str, None] = {}
    for name in _candidates(folded.split(" "), bounds):
        if len(found) >= bounds.phrases:
            return Phrases(tuple(found), cut=True)
        found[name] = None
    return Phrases(tuple(found), cut=len(text) > bounds.text_characters)


def _candidates(words: list[str], bounds: Bounds) -> Iterator[str]:
    for start, word in enumerate(words):
        for length in range(1, min(bounds.phrase_words, len(words) - start) + 1):
            yield from _spellings(" ".join(words[start : start + length]))
        for run in _UNSPACED.findall(word):
            yield from _runs(run, bounds.phrase_characters)


def _spellings(phrase: str) -> Iterator[str]:
    """Yield a phrase, without the punctuation around it, and without a possessive `'s`."""
    trimmed = _trim(phrase)
    yield from filter(None, (phrase, trimmed, _POSSESSIVE.sub("", trimmed)))


def _trim(phrase: str) -> str:
    start, end = 0, len(phrase)
    while start < end and _is_mark(phrase[start], _OPENING):
        start += 1
    while end > start and _is_mark(phrase[end - 1], _CLOSING):
        end -= 1
    return phrase[start:end]


def _is_mark(character: str, categories: Iterable[str]) -> bool:
    if character in _PART_OF_NAMES:
        return False
    return character in _QUOTES or unicodedata.category(character) in categories


def _runs(run: str, longest: int) -> Iterator[str]:
    for start in range(len(run)):
        for end in range(start + 1, min(start + longest, len(run)) + 1):
            yield run[start:end]
