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
    marks, place = [], 0
    while place < len(stems):
        entry, length = _at(stems, place) or (_UNKNOWN, 1)
        if length == 1:
            entry = _number(written[place]) or entry
        marks.append(Mark(" ".join(written[place : place + length]), entry))
        place += length
    return marks


def _at(stems: tuple[str, ...], place: int) -> tuple[Entry, int] | None:
    for tokens, entry in vocabulary().phrases.get(stems[place], ()):
        size = len(tokens)
        if stems[place : place + size] == tokens and not _crossed(stems, place, size, entry):
            return entry, size
    return None


def _crossed(stems: tuple[str, ...], place: int, size: int, entry: Entry) -> bool:
    """Tell whether a value begins inside of words that name none: "in the past | tense"."""
    if size == 1 or entry.values or entry.unit:
        return False
    end = place + size
    return any(
        known.values and start + len(tokens) > end and stems[start : start + len(tokens)] == tokens
        for start in range(place + 1, end)
        for tokens, known in vocabulary().phrases.get(stems[start], ())
    )


def _number(word: str) -> Entry | None:
    if word[0].isdigit() and word.isascii() and word.replace(".", "", 1).isdigit():
        whole, _, part = word.partition(".")
        part = part.rstrip("0")
        return Entry(number=(whole.lstrip("0") or "0") + (f".{part}" if part else ""))
    return None
