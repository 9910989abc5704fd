"""The normal form of a rule's text: what may differ without the rule being another one."""

import re
import unicodedata
from functools import lru_cache

_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u00b4`"), "'")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_DROPPED = dict.fromkeys([0xFE0E, 0xFE0F], None)
_KEPT = "+<>=%.'#-"

_RANGE = re.compile(r"(?<![\w.-])(\d{1,9}) ?- ?(\d{1,9})(?![\w.-])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SHORT = re.compile(r"(?:n't|'re|'ve|'ll|'d|'m|'s)(?!\w)")
_LONG = {
    "n't": " not",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
    "'d": " would",
    "'m": " am",
    "'s": " is",
}
_PLAIN = re.compile(r"[a-z ]*")
_SIGNS = re.compile(r"([<>]=?|(?<![<>])=|%)")
_MARKS = re.compile(r"'|-|(?<!\d)\.|\.(?!\d)|(?<!\b[cf])#|(?<!c)\+(?!\+)")
_WHOLE = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "cant": "can not",
    "wont": "will not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "arent": "are not",
    "shouldnt": "should not",
    "wouldnt": "would not",
    "mustnt": "must not",
    "im": "i am",
    "ive": "i have",
    "gonna": "going to",
    "wanna": "want to",
}
_IS = (["it"], ["let"], ["that"])
_LONGER_THAN_IS = 5
_PASSES = 8


class _Separators(dict[int, str | None]):
    """What each character becomes; learnt from Unicode's categories when first met."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        if character in _KEPT or category[0] in "LMN" or category in {"Sc", "So", "Sm", "Co", "Cn"}:
            kept: str | None = character
        elif category == "Cf":
            kept = None
        else:
            kept = " "
        self[code] = kept
        return kept


_SEPARATORS = _Separators({**_QUOTES, **_DASHES, **_DROPPED})


def canonical(text: str) -> str:
    """Bring a text into its normal form, which is its own normal form.

    NFKC, case folded, contractions written out, punctuation and runs of white space made one space;
    signs that carry meaning (`c++`, `<=`, `50 %`, currencies, emojis) stay. A text of punctuation
    alone stays as it is, so that two of them are not taken for one.

    Args:
        text: Any text in any script.

    Returns:
        The normal form; empty only when the text is white space.

    Example:
        >>> canonical("Don\u2019t use  EMOJIS!")
        'do not use emojis'
    """
    for _ in range(_PASSES):
        before, text = text, _once(text)
        if text == before:
            break
    return text


def _once(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return " ".join(_WHOLE.get(word, word) for word in text.split())
    folded = _folded(text)
    words = _THOUSANDS.sub("", folded).translate(_SEPARATORS)
    words = " ".join(_WHOLE.get(word, word) for word in words.split())
    words = _SHORT.sub(_written_out, words)
    words = _RANGE.sub(r"\1 to \2", words)
    words = _SIGNS.sub(r" \1 ", _MARKS.sub(_mark, words))
    return " ".join(words.split()) or " ".join(folded.split())


def _written_out(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _LONGER_THAN_IS) : found.start()]
    possessive = found[0] == "'s" and before.split()[-1:] not in _IS
    return "" if possessive else _LONG[found[0]]


def _mark(found: re.Match[str]) -> str:
    return "" if found[0] == "'" else " "


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Drop the plural `s`, so that a phrase is found in both numbers.

    Example:
        >>> stem("emojis"), stem("class"), stem("focus")
        ('emoji', 'class', 'focus')
    """
    short = 3
    if len(word) > short and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word
