"""A rule's text as slot, value, operator, object, polarity and condition."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sidecypher_procedures.rules.detector.clauses import Clause, clauses
from sidecypher_procedures.rules.detector.scanning import Mark, scan
from sidecypher_procedures.rules.detector.spotting import Finding, findings

# Words that a text may have besides: with the slot's own name beside the value, and without. One
# that stands right behind a value ("French revolution") makes the value belong to something else.
# An unknown word may be a "not" of another language, a mistyped one or a verdict ("comments are
# noise"): it is passed over only where a known verb or "not" stands before it and the value.
_LEFT_SURE: Final = 3
_LEFT: Final = 2
_SAYING: Final = {"verb", "not", "avoid"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says, in the words of the vocabulary."""

    slot: str
    object: str
    operator: str
    value: str
    positive: bool
    condition: str


def parse(text: str) -> Parsed | None:
    """Read a canonical text; None when it names no slot, several, or says too much besides."""
    marks = scan(text)
    if not any(_telling(mark) for mark in marks):
        return None
    parts = clauses(marks)
    found: list[Finding] = []
    seen: list[set[int]] = []
    for left_out in (_hides, _is_fixed, _is_any):
        hidden = {place for part in parts if left_out(part) for place in _places(part)}
        if hidden not in seen:
            seen.append(hidden)
            found = findings(marks, [place for place in range(len(marks)) if place not in hidden])
        if len(found) == 1:
            break
    if len(found) != 1 or not found[0].value:
        return None
    return _finish(marks, found[0], parts)


def _hides(part: Clause) -> bool:
    return part.fixed or part.exception or part.aside


def _is_fixed(part: Clause) -> bool:
    return part.fixed or part.exception


def _is_any(_part: Clause) -> bool:
    return True


def _telling(mark: Mark) -> bool:
    entry = mark.entry
    return bool(entry.values or entry.unit or entry.leads or entry.number)


def _places(part: Clause) -> range:
    return range(part.start, part.end)


def _finish(marks: Sequence[Mark], found: Finding, parts: Sequence[Clause]) -> Parsed | None:
    conditions = [part for part in parts if part.exception or not _spent(marks, part, found)]
    outside = {place for part in conditions for place in _places(part)}
    names = {part.name for part in conditions if part.name}
    begun = _begins(marks, outside)
    left = 0
    for place, mark in enumerate(marks):
        if place in found.used or place in outside:
            continue
        if not mark.known and begun > min(place, *found.core):
            return None
        if "hedge" in mark.entry.roles:
            return None
        if mark.entry.number and not mark.entry.roles:
            return None
        if mark.entry.context and not mark.entry.values:
            names.add(mark.entry.context)
        elif not mark.entry.roles and not mark.entry.operators:
            left += 1 if found.sure or place - 1 not in found.core else _LEFT + 1
    if left > (_LEFT_SURE if found.sure else _LEFT):
        return None
    return Parsed(
        found.slot.name,
        found.object,
        found.operator,
        found.value,
        found.positive,
        " + ".join(sorted(names)),
    )


def _begins(marks: Sequence[Mark], outside: Collection[int]) -> int:
    """Find the first word that says whether something is wanted."""
    saying = (
        place
        for place, mark in enumerate(marks)
        if place not in outside and mark.entry.roles & _SAYING
    )
    return next(saying, len(marks))


def _spent(marks: Sequence[Mark], part: Clause, found: Finding) -> bool:
    """Tell whether what looks like a condition is what the rule is about."""
    if found.core.intersection(_places(part)):
        return True
    words = [place for place in _places(part) if not marks[place].entry.roles]
    return bool(words) and all(
        place in found.used and _own(marks[place], found.slot.name) for place in words
    )


def _own(mark: Mark, slot: str) -> bool:
    entry = mark.entry
    return (
        slot in entry.topics or slot in entry.objects or any(slot == n for n, _, _ in entry.values)
    )
