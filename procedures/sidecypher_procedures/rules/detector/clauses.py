"""The parts of a rule that say where or when it holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from sidecypher_procedures.rules.detector.canonical import canonical, stem
from sidecypher_procedures.rules.detector.scanning import Mark, scan
from sidecypher_procedures.rules.detector.vocabulary import vocabulary

_ENDS = {"verb", "not", "avoid", "break", "contrast"}
_PRONOUNS = {"i", "we", "you", "he", "she", "it", "they", "user", "users", "to", "someone"}
_SOFT_ENDS = {"please", "always", "should", "must", "i", "keep"}


@dataclass(frozen=True, slots=True)
class Clause:
    """Marks `start` to `end` (not included), which may be a condition.

    Attributes:
        name: What the condition is called; empty when it says nothing.
        fixed: Whether it is a place that the lexicon knows.
        aside: Whether it names no value unless the rest names none: "when I ask in German".
        exception: Whether the rule holds everywhere but here.
    """

    start: int
    end: int
    name: str
    fixed: bool
    aside: bool
    exception: bool


def clauses(marks: Sequence[Mark]) -> list[Clause]:
    """Find the clauses of a text; none overlaps another."""
    found, place = [], 0
    while place < len(marks):
        clause = _clause(marks, place)
        if clause:
            found.append(clause)
        place = clause.end if clause else place + 1
    return found


def read_condition(text: str) -> str:
    """Give the canonical name of a condition, with or without its preposition.

    Example:
        >>> read_condition("in headings"), read_condition("Titles")
        ('title', 'title')
    """
    plain = canonical(text)
    for candidate in (plain, f"in {plain}"):
        marks = scan(candidate)
        found = clauses(marks)
        if len(found) == 1 and (found[0].start, found[0].end) == (0, len(marks)):
            return found[0].name or plain
    return plain


def _clause(marks: Sequence[Mark], start: int) -> Clause | None:
    roles = marks[start].entry.roles
    exception = "exception" in roles
    if not (exception or roles & {"head", "wide", "near"}):
        return None
    inner = start + 1
    if exception and inner < len(marks) and marks[inner].entry.roles & {"head", "wide"}:
        inner += 1
    place, names = _places(marks, inner)
    if names:
        return Clause(
            start,
            place,
            _name(names, exception=exception),
            fixed=True,
            aside=False,
            exception=exception,
        )
    if roles == {"near"} or (not exception and not roles & {"head", "wide"}):
        return None
    wide = exception or "wide" in roles
    end = inner
    while end < len(marks) and not _ends(marks, end, inner, wide=wide):
        end += 1
    universal = any("universal" in mark.entry.roles for mark in marks[inner : inner + 2])
    names = [] if universal else [word for mark in marks[inner:end] for word in _words(mark)]
    name = _name(names, exception=exception)
    aside = wide or "purpose" in roles
    return Clause(start, end, name, fixed=False, aside=aside, exception=exception)


def _places(marks: Sequence[Mark], start: int) -> tuple[int, list[str]]:
    """Read known places, with words between that say nothing; give the end and the names."""
    fillers = vocabulary().condition_fillers
    names: list[str] = []
    joined = True
    place = end = start
    while place < len(marks):
        mark = marks[place]
        if mark.entry.context and joined:
            names.append(mark.entry.context)
            end, joined = place + 1, False
        elif names and mark.text in {"and", "or"}:
            joined = True
        elif names or not _empty(mark, fillers):
            break
        place += 1
    while names and end < len(marks) and marks[end].text in {"code", "files", "file"}:
        end += 1
    return end, names


def _empty(mark: Mark, fillers: frozenset[str]) -> bool:
    return all(stem(word) in fillers for word in mark.text.split())


def _ends(marks: Sequence[Mark], place: int, start: int, *, wide: bool) -> bool:
    mark = marks[place]
    roles = mark.entry.roles
    after_pronoun = place > start and marks[place - 1].text in _PRONOUNS
    if roles & _ENDS:
        return not (wide and (after_pronoun or place == start))
    if "exception" in roles or "wide" in roles:
        return True
    if mark.text in _SOFT_ENDS:
        return place > start
    return "head" in roles and (not wide or bool(_places(marks, place + 1)[1]))


def _words(mark: Mark) -> list[str]:
    if mark.entry.context:
        return [mark.entry.context]
    roles = mark.entry.roles
    if roles & {"filler", "head", "near", "past", "future", "current"}:
        return []
    fillers = vocabulary().condition_fillers
    return [word for word in map(stem, mark.text.split()) if word not in fillers]


def _name(names: Sequence[str], *, exception: bool) -> str:
    text = " ".join(dict.fromkeys(names))
    return f"except {text}" if exception and text else text
