"""A text as a row of marks: the longest known phrase at each place, or a word nobody knows."""

from dataclasses import dataclass
from typing import Final

from sidecypher_procedures.rules.detector.canonical import stem
from sidecypher_procedures.rules.detector.vocabulary import Entry, vocabulary

_UNKNOWN: Final = Entry()


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the text.

    Attributes:
        text: Its words, as written in the canonical text.
        entry: What it may mean.
    """

    text: str
    entry: Entry

    @property
    def known(self) -> bool:
        """Whether the vocabulary has it."""
        return self.entry is not _UNKNOWN


def scan(text: str) -> list[Mark]:
    """Divide a canonical text into marks, from left to right.

    Example:
        >>> [mark.text for mark in scan("no more than two emojis")]
        ['no more than', 'two', 'emojis']
    """
    written = text.split()
    stems = tuple(map(stem, written))
    phrases = vocabulary().phrases
    marks, place = [], 0
    while place < len(stems):
        entry, length = _number(written[place]), 1
        for tokens, known in phrases.get(stems[place], ()):
            size = len(tokens)
            if stems[place : place + size] == tokens and (entry is None or size > 1):
                entry, length = known, size
                break
        marks.append(Mark(" ".join(written[place : place + length]), entry or _UNKNOWN))
        place += length
    return marks


def _number(word: str) -> Entry | None:
    if word[0].isdigit() and word.isascii() and word.replace(".", "", 1).isdigit():
        whole, _, part = word.partition(".")
        return Entry(number=(whole.lstrip("0") or "0") + (f".{part}" if part else ""))
    return None
