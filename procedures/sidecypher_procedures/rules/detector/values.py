"""Numbers, units and negations in a text, and comparable intervals."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from sidecypher_procedures.rules.detector.vocabulary import Entry, Mark, vocabulary

_BEHIND = {"at most", "at least", "exactly", "about"}
_WORDS_AFTER = 3
_WORDS_BEFORE = 5
_PLAIN = {"under", "below", "above", "exceeding", "beyond", "within", "exactly"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, or a range of two numbers.

    Attributes:
        operator: One of `OPERATORS`.
        value: Such as `100 word` or `3 to 5 sentence`.
        unit: The name of the unit; empty if the text has none.
        number: Position of the (first) number.
        places: All positions that were read.
    """

    operator: str
    value: str
    unit: str
    number: int
    places: frozenset[int]


def amounts(marks: Sequence[Mark], places: Sequence[int]) -> Iterator[Amount]:
    """Yield the amounts at the visible positions of a text."""
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
    if _text(marks, places, index) in {"to", "and", "or"} and _number(marks, places, index + 1):
        value += f" to {_number(marks, places, index + 1)}"
        read |= {places[index], places[index + 1]}
        index, operator = index + 2, "between"
    unit = ""
    for place in places[index : index + _WORDS_AFTER]:
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
    before = _operator_before(marks, places, first)
    if before is not None:
        read.add(places[before])
        names = marks[places[before]].entry.operators
        if not operator:
            operator = names[0]
    if not operator:
        operator = _far_operator(marks, places, read)
    if unit:
        value += f" {unit}"
    return Amount(operator or "exactly", value, unit, places[first], frozenset(read)), index


def _far_operator(marks: Sequence[Mark], places: Sequence[int], read: set[int]) -> str:
    """Return an operator far from its number, as in "limit answers to 100 words"."""
    for place in places:
        if marks[place].entry.far and place not in read:
            read.add(place)
            return marks[place].entry.far
    return ""


def _operator_before(marks: Sequence[Mark], places: Sequence[int], first: int) -> int | None:
    for index in range(first - 1, max(-1, first - 1 - _WORDS_BEFORE), -1):
        mark = marks[places[index]]
        near = all(_is_filler(marks[place]) for place in places[index + 1 : first])
        if mark.entry.operators and (near or mark.text in _PLAIN or " " in mark.text):
            return index
        if mark.entry.number or not mark.known:
            return None
    return None


def _is_filler(mark: Mark) -> bool:
    return mark.text in {"of", "a", "the", "be", "to", "is", "are"}


def _text(marks: Sequence[Mark], places: Sequence[int], index: int) -> str:
    return marks[places[index]].text if index < len(places) else ""


def _number(marks: Sequence[Mark], places: Sequence[int], index: int) -> str:
    return marks[places[index]].entry.number if index < len(places) else ""


OPERATORS: Final = ("at most", "at least", "less than", "more than", "exactly", "about", "between")

_ABOUT = 0.2
_VALUE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(?: to (\d{1,15}(?:\.\d{1,9})?))?(?: (\w+))?")


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of the amounts that a rule accepts.

    Attributes:
        low: Lower bound, in `unit`.
        high: Upper bound, in `unit`.
        unit: The unit for comparison; empty for a bare number.
        named: The unit in the text.
        open_low: Whether `low` itself is excluded.
        open_high: Whether `high` itself is excluded.
    """

    low: float
    high: float
    unit: str = ""
    named: str = field(default="", compare=False)
    open_low: bool = False
    open_high: bool = False

    def is_disjoint(self, other: "Interval") -> bool:
        """Return whether the intervals are disjoint."""
        first, second = sorted((self, other), key=lambda each: (each.low, each.open_low))
        if first.high == second.low:
            return first.open_high or second.open_low
        return first.high < second.low

    def is_limit_like(self, other: "Interval") -> bool:
        """Return whether both are upper limits, or both are lower limits."""
        return (self.low == other.low == 0) or (self.high == other.high == math.inf)

    def is_within(self, other: "Interval") -> bool:
        """Return whether this interval is a subset of the other one."""
        low = (self.low, self.open_low) >= (other.low, other.open_low)
        high = (self.high, not self.open_high) <= (other.high, not other.open_high)
        return low and high


@lru_cache(maxsize=4096)
def interval(operator: str, value: str) -> Interval | None:
    """Return the interval of an operator and a value, or None if the value is not a number.

    `about` means 20 % to either side, which is this project's choice.

    Args:
        operator: One of `OPERATORS`, or empty for `exactly`.
        value: Such as `100 word`, `50 to 100 word` or `0.2`.

    Example:
        >>> interval("at most", "2 minute").high
        120.0
    """
    found = _VALUE.fullmatch(value)
    if not found:
        return None
    unit = found[3] or ""
    base, factor = vocabulary().units.get(unit, (unit, 1.0))
    low = float(found[1]) * factor
    high = float(found[2]) * factor if found[2] else low
    match operator:
        case "at most" | "less than":
            bounds = (0.0, high)
        case "at least" | "more than":
            bounds = (low, math.inf)
        case "about":
            bounds = (low * (1 - _ABOUT), high * (1 + _ABOUT))
        case _:
            bounds = (low, high)
    return Interval(
        *bounds, base, unit, open_low=operator == "more than", open_high=operator == "less than"
    )


LACKING: Final = {"without", "minus", "sans", "free of"}
"""These refuse what follows, and not what is before them: "tables without captions"."""


def negated(marks: Sequence[Mark], mentions: Collection[int]) -> dict[int, bool] | None:
    """Return for each mention whether it is negated.

    A repeated negation is still one ("never, never"); a negated verb of refusal is a yes ("do not
    skip"). Words after the last mention apply to all of them ("emojis are not allowed").

    Args:
        marks: The text without its conditions.
        mentions: Positions in `marks` where a value is mentioned.

    Returns:
        Whether each is negated. None if the text negates something unknown after the mentions, or
        before another verb: "do not evr use emojis" may be one statement or two.
    """
    found: dict[int, bool] = {}
    separable = separable_verb([mark.entry for mark in marks])
    no = content = False
    last = max(mentions, default=-1)
    for place, mark in enumerate(marks[: last + 1]):
        roles = mark.entry.roles
        if place in mentions:
            found[place] = no
            content = True
        elif "neutral" in roles or "break" in roles:
            no = content = False
        elif roles & {"not", "less"}:
            no, content = True, False
        elif "avoid" in roles or place == separable:
            no, content = not no or content, False
        elif found and ("contrast" in roles or (mark.text == "to" and _prefers(marks[:place]))):
            no, content = True, False
        elif "verb" in roles:
            if no and content and not found:
                return None
            no = no and not content
        else:
            content = content or not mark.known
    behind = _behind(marks[last + 1 :])
    if behind is None:
        return None
    return {place: no or behind for place, no in found.items()}


def _prefers(marks: Sequence[Mark]) -> bool:
    return any(mark.text in {"prefer", "prefers"} for mark in marks)


def _behind(marks: Sequence[Mark]) -> bool | None:
    no = says = False
    for place, mark in enumerate(marks):
        roles = mark.entry.roles
        if "not" in roles:
            no = True
        elif mark.text in LACKING:
            return None
        elif "avoid" in roles and _follows(marks, place, _PRONOUNS):
            # "It is not useful, drop it" refuses it twice.
            return True
        elif roles & {"avoid", "predicate"}:
            says = True
        elif no and not says and (not mark.known or mark.entry.values):
            return None
    return no != says


_PRONOUNS: Final = {"it", "them", "that", "this", "those", "these"}


def _follows(marks: Sequence[Mark], place: int, texts: Collection[str]) -> bool:
    return any(mark.text in texts for mark in marks[place + 1 : place + 2])


def separable_verb(entries: Sequence[Entry]) -> int | None:
    """Return the position of a negating verb around its object, as in "leave comments out"."""
    verb = None
    for place, entry in enumerate(entries):
        if "separable" in entry.roles:
            verb = place
        elif "particle" in entry.roles and verb is not None and place > verb + 1:
            return verb
    return None
