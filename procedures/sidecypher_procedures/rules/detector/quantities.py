"""Numbers with an operator and a unit, as intervals that can be compared."""

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from sidecypher_procedures.rules.detector.vocabulary import vocabulary

OPERATORS: Final = ("at most", "at least", "less than", "more than", "exactly", "about", "between")

_ABOUT = 0.2
_VALUE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(?: to (\d{1,15}(?:\.\d{1,9})?))?(?: (\w+))?")


@dataclass(frozen=True, slots=True)
class Interval:
    """The amounts that a rule accepts.

    Attributes:
        low: The lowest, in `unit`.
        high: The highest, in `unit`.
        unit: The unit that it is compared in; empty for a bare number.
        named: The unit that was written.
        open_low: Whether `low` itself is out.
        open_high: Whether `high` itself is out.
    """

    low: float
    high: float
    unit: str = ""
    named: str = field(default="", compare=False)
    open_low: bool = False
    open_high: bool = False

    def apart(self, other: "Interval") -> bool:
        """Tell whether no amount is in both."""
        first, second = sorted((self, other), key=lambda each: (each.low, each.open_low))
        if first.high == second.low:
            return first.open_high or second.open_low
        return first.high < second.low

    def within(self, other: "Interval") -> bool:
        """Tell whether all of it is in the other one."""
        low = (self.low, self.open_low) >= (other.low, other.open_low)
        high = (self.high, not self.open_high) <= (other.high, not other.open_high)
        return low and high


@lru_cache(maxsize=4096)
def interval(operator: str, value: str) -> Interval | None:
    """Give the interval of a rule's operator and value, or None when the value is no number.

    `about` is taken as a fifth to either side, which is this project's own choice.

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
