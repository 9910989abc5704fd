"""A text in sentences, with their places in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sidecypher_procedures.rules.detector.quoting import ends_quoted

# A run of marks is read once, from its first one: it may be as long as the text.
_END = re.compile(
    r"(?<![.!?\u3002\uff01\uff1f])[.!?\u3002\uff01\uff1f]++(?=[\s\"'\u201d)\]]|$)"
    r"|[;\n]|\u3002|\uff01|\uff1f"
)
_ABBREVIATIONS = {
    "dr",
    "mr",
    "mrs",
    "ms",
    "prof",
    "st",
    "e.g",
    "i.e",
    "etc",
    "vs",
    "no",
    "max",
    "min",
}
_LAST_WORD = re.compile(r"[\w.]{1,12}$")
_BULLET = re.compile(r"\s*(?:[-*\u2022>#]+\s+|\d{1,3}[.)]\s+)?")
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence, line or item of a list.

    Attributes:
        start: Its place in the whole text.
        question: Whether it ends in a question mark.
    """

    text: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)


def segments(text: str) -> Iterator[Segment]:
    """Divide a text into sentences, without the code in fenced blocks.

    Example:
        >>> [(each.text, each.start) for each in segments("Use tabs. Why?")]
        [('Use tabs', 0), ('Why', 10)]
    """
    for start, end in _outside_fences(text):
        yield from _sentences(text, start, end)


def _outside_fences(text: str) -> Iterator[tuple[int, int]]:
    start, fenced = 0, False
    while start <= len(text):
        end = text.find(_FENCE, start)
        stop = end if end >= 0 else len(text)
        if not fenced:
            yield start, stop
        start, fenced = stop + len(_FENCE), not fenced


def _sentences(text: str, start: int, stop: int) -> Iterator[Segment]:
    for found in _END.finditer(text, start, stop):
        if found[0] == "." and _abbreviated(text, start, found.start()):
            continue
        yield from _segment(text, start, found.start(), question=found[0][-1] in "?\uff1f")
        start = found.end()
    yield from _segment(text, start, stop, question=False)


def _abbreviated(text: str, start: int, end: int) -> bool:
    word = _LAST_WORD.search(text[max(start, end - 12) : end])
    return word is not None and word[0].casefold() in _ABBREVIATIONS


def _segment(text: str, start: int, end: int, *, question: bool) -> Iterator[Segment]:
    bullet = _BULLET.match(text, start, end)
    start = bullet.end() if bullet else start
    whole = text[start:end]
    inner = whole.rstrip(" \t\r\"'\u201d)]")
    if ends_quoted(whole[: len(inner) + 1]):
        inner = whole[: len(inner) + 1]
    start += len(inner) - len(inner.lstrip(" \t\r\"'\u201c(["))
    inner = inner.lstrip(" \t\r\"'\u201c([")
    if inner:
        yield Segment(inner, start, question)
