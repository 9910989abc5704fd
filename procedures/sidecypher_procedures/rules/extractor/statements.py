"""The sentences of a text that state a lasting preference."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sidecypher_procedures.rules.detector import Marker, Reading, read_marker, read_text
from sidecypher_procedures.rules.extractor.segments import Segment


def _any(words: str) -> str:
    """Make a pattern of phrases that are divided by commas."""
    return "(?:" + "|".join(words.split(", ")) + ")"


_VERBS = _any(
    "use, write, keep, answer, reply, respond, avoid, do not, don.?t, no, not, skip, omit, leave, "
    "indent, call, name, add, include, make, be, set, limit, wrap, format, put, give, explain, "
    "start, end, stick, speak, refrain, address, refer, cite, spell, capitali[sz]e, show, sound, "
    "at most, at least, max\\w*, min\\w*, in, for, when, without, output, quote"
)
_POLITE = _any("please, also, and, but, then, so, ok, okay, kindly, just, only")
_ORDER = re.compile(
    r"(?:(?:from|starting|as of|beginning) (?:next |now |to)?\w+,? (?:on,? )?)?"
    rf"(?:{_POLITE}[, ]+)*{_VERBS}\b",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b"
    + _any(
        "always, never, from now on, going forward, in general, by default, prefer\\w*, no longer, "
        "any ?more, used to, stop, must, should, rule, whenever, at all times"
    )
    + r"\b",
    re.IGNORECASE,
)
_LIKING = re.compile(
    r"\b(?:i|we)(?:.d|.m)? (?:"
    + _any("really, also, do not, don.t, would, no longer, still, just")
    + " ){0,2}"
    + _any("like, love, want, need, hate, dislike, enjoy, use")
    + r"\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:can|could|would|will) you (?:please )?", re.IGNORECASE)
_MADE = _any(
    "write, make, give, create, generate, draft, translate, summari[sz]e, rewrite, fix, explain, "
    "convert, add, show, do, put"
)
_THING = _any("an?, the, this, that, my, these, those, it, another, one, \\d+")
_NOW = _any("this time, just once, for now, the following, this (?:one|text|function|file|code)")
# A wish for this one time: "write a letter", "make this formal".
_ONCE = re.compile(rf"(?:please )?{_MADE} (?:me )?{_THING}\b(?! lot\b)|.*\b{_NOW}\b", re.IGNORECASE)
_PARTS = re.compile(r",\s+(?:and |but )?|\s+(?:and|but)\s+|\s+[\u2013\u2014-]\s+", re.IGNORECASE)
_WHY = re.compile(r"\s(?:because|since|so that|as it|as they)\s", re.IGNORECASE)

MAX_SENTENCE: Final = 300
_SURE, _LIKELY, _UNREAD = 0.9, 0.7, 0.5


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule that a text states.

    Attributes:
        text: As written.
        reading: What the detector reads in it.
        temporal_marker: The time it speaks of; `negated` for a prohibition.
        span: Its first place in the whole text, and the one behind it.
        confidence: 0.9 for a lasting wish about a known slot, 0.7 for an order about one, 0.5 for a
            lasting wish that the detector cannot read. The numbers are this project's own choice.
    """

    text: str
    reading: Reading
    temporal_marker: Marker
    span: tuple[int, int]
    confidence: float


def statements(segment: Segment) -> Iterator[Statement]:
    """Give the rules of one sentence; several when it has several parts that are rules.

    Example:
        >>> found = statements(Segment("Use tabs and never use emojis", 0, question=False))
        >>> [each.text for each in found]
        ['Use tabs', 'never use emojis']
    """
    if len(segment.text) > MAX_SENTENCE:
        return
    asked = _ASKED.match(segment.text)
    if segment.question and not asked:
        return
    start = asked.end() if asked else 0
    why = _WHY.search(segment.text, start)
    end = why.start() if why else len(segment.text)
    whole = _statement(segment, start, end)
    if whole and whole.reading.slot:
        yield whole
        return
    parts = [each for each in _divided(segment, start, end) if each.reading.slot]
    if parts:
        yield from parts
    elif whole:
        yield whole


def _divided(segment: Segment, start: int, end: int) -> Iterator[Statement]:
    for found in _PARTS.finditer(segment.text, start, end):
        part = _statement(segment, start, found.start())
        if part:
            yield part
        start = found.end()
    part = _statement(segment, start, end)
    if part:
        yield part


def _statement(segment: Segment, start: int, end: int) -> Statement | None:
    text = segment.text[start:end].rstrip(" ,")
    lasting = bool(_LASTING.search(text))
    liking = bool(_LIKING.search(text))
    if not (lasting or liking or _ORDER.match(text)):
        return None
    if not lasting and _ONCE.match(text):
        return None
    reading = read_text(text)
    if not (reading.slot or lasting):
        return None
    place = segment.start + start
    confidence = (_SURE if lasting or liking else _LIKELY) if reading.slot else _UNREAD
    return Statement(text, reading, read_marker(text), (place, place + len(text)), confidence)
