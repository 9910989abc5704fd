"""The numbers of a text, with the operator before or behind them and their unit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sidecypher_procedures.rules.detector.scanning import Mark

_BEHIND = {"at most", "at least", "exactly", "about"}
_REACH = 3
_LOOK_BACK = 5
_PLAIN = {"under", "below", "above", "exceeding", "beyond", "within", "exactly"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, or two with what is between them.

    Attributes:
        operator: One of `quantities.OPERATORS`.
        value: Such as `100 word` or `3 to 5 sentence`.
        unit: The unit's name; empty when none is written.
        number: Place of the (first) number.
        places: All places that were read.
    """

    operator: str
    value: str
    unit: str
    number: int
    places: frozenset[int]


def amounts(marks: Sequence[Mark], places: Sequence[int]) -> Iterator[Amount]:
    """Read the amounts in the visible places of a text."""
    index = 0
    while index < len(places):
        if marks[places[index]].entry.number:
            amount, index = _amount(marks, places, index)
            yield amount
        else:
            index += 1


def _amount(marks: Sequence[Mark], places: Sequence[int], first: int) -> tuple[Amount, int]:
    read = {places[first]}
    value = marks[places[first]].entry.number
    index, operator = first + 1, ""
    if _text(marks, places, index) in {"to", "and"} and _number(marks, places, index + 1):
        value += f" to {_number(marks, places, index + 1)}"
        read |= {places[index], places[index + 1]}
        index, operator = index + 2, "between"
    unit = ""
    for place in places[index : index + _REACH]:
        entry = marks[place].entry
        behind = next((name for name in entry.operators if name in _BEHIND), "")
        if not unit and entry.unit:
            unit = entry.unit
        elif behind and not operator:
            operator = behind
        elif not (unit == "" and marks[place].text in {"or", "single", "wide", "full", "short"}):
            break
        read.add(place)
        index += 1
    before = _before(marks, places, first)
    if before is not None:
        read.add(places[before])
        names = marks[places[before]].entry.operators
        if not operator:
            operator = names[0]
    if not operator:
        operator = _far(marks, places, read)
    if unit:
        value += f" {unit}"
    return Amount(operator or "exactly", value, unit, places[first], frozenset(read)), index


def _far(marks: Sequence[Mark], places: Sequence[int], read: set[int]) -> str:
    """Look for an operator anywhere: "limit answers to 100 words"."""
    for place in places:
        if marks[place].entry.far and place not in read:
            read.add(place)
            return marks[place].entry.far
    return ""


def _before(marks: Sequence[Mark], places: Sequence[int], first: int) -> int | None:
    for index in range(first - 1, max(-1, first - 1 - _LOOK_BACK), -1):
        mark = marks[places[index]]
        near = all(_small(marks[place]) for place in places[index + 1 : first])
        if mark.entry.operators and (near or mark.text in _PLAIN or " " in mark.text):
            return index
        if mark.entry.number or not mark.known:
            return None
    return None


def _small(mark: Mark) -> bool:
    return mark.text in {"of", "a", "the", "be", "to", "is", "are"}


def _text(marks: Sequence[Mark], places: Sequence[int], index: int) -> str:
    return marks[places[index]].text if index < len(places) else ""


def _number(marks: Sequence[Mark], places: Sequence[int], index: int) -> str:
    return marks[places[index]].entry.number if index < len(places) else ""
