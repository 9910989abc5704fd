"""Whether two rules can both be followed."""

from dataclasses import dataclass
from typing import Literal

from sidecypher_procedures.rules.detector.quantities import Interval, interval
from sidecypher_procedures.rules.detector.understanding import Reading
from sidecypher_procedures.rules.detector.vocabulary import Slot, vocabulary

Kind = Literal["conflict", "same", "compatible", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the detector says of two rules.

    Attributes:
        kind: `conflict`, `same`, `compatible` or `unknown`.
        layer: `exact`, `typed` or `lexicon`: the first that could tell, or the last that could not.
        reason: One line for people, with canonical values and no text of the rules.
    """

    kind: Kind
    layer: str
    reason: str


def compare(a: Reading, b: Reading) -> Verdict:
    """Compare two rules; the order does not matter.

    Example:
        >>> from sidecypher_procedures.rules.detector import read_text
        >>> compare(read_text("formal tone"), read_text("use a casual tone")).kind
        'conflict'
    """
    if _parts(a) == _parts(b):
        return Verdict("same", "exact", "the same rule in normal form")
    if not (a.slot and b.slot):
        return _by_text(a, b)
    if a.slot != b.slot:
        return Verdict("compatible", "typed", f"different slots: {_both(a.slot, b.slot)}")
    if a.object != b.object:
        return Verdict("compatible", "typed", f"different objects: {_both(a.object, b.object)}")
    if a.condition != b.condition:
        return _by_condition(a, b)
    return _by_value(a, b)


def _parts(reading: Reading) -> tuple[str, ...]:
    return (
        reading.slot,
        reading.object,
        reading.operator,
        reading.value,
        reading.polarity,
        reading.condition,
    )


def _both(one: str, other: str) -> str:
    first, second = sorted((one or "(all)", other or "(all)"))
    return f"{first} and {second}"


def _by_text(a: Reading, b: Reading) -> Verdict:
    if a.slot or b.slot or a.value != b.value:
        return Verdict("unknown", "typed", "no slot is known to hold both")
    if a.polarity == b.polarity:
        return Verdict("same", "exact", "the same rule in normal form")
    return Verdict("conflict", "exact", "one text is the other's negation")


def _by_condition(a: Reading, b: Reading) -> Verdict:
    if a.condition and b.condition:
        reason = f"different conditions: {_both(a.condition, b.condition)}"
    else:
        reason = f"an exception narrows the general rule: {a.condition or b.condition}"
    return Verdict("compatible", "typed", reason)


def _by_value(a: Reading, b: Reading) -> Verdict:
    if a.polarity == b.polarity == "negative":
        return Verdict("compatible", "typed", "two negations leave room for both")
    slot = vocabulary().slots.get(a.slot)
    if a.polarity == b.polarity:
        kind, layer = _wanted(slot, a, b)
    else:
        yes, no = (a, b) if a.polarity == "positive" else (b, a)
        kind, layer = _refused(slot, yes, no), "typed"
    said = _both(_said(a), _said(b))
    return Verdict(kind, layer, f"{a.slot}: {said} {_REASONS[kind]}")


_REASONS = {
    "conflict": "exclude each other",
    "same": "mean the same",
    "compatible": "can both hold",
    "unknown": "cannot be compared",
}


def _said(reading: Reading) -> str:
    no = "not" if reading.polarity == "negative" else ""
    return " ".join(filter(None, [no, reading.operator, reading.value]))


def _wanted(slot: Slot | None, a: Reading, b: Reading) -> tuple[Kind, str]:
    """Compare two wanted values."""
    if slot is None:
        return "unknown", "typed"
    one, other = _amount(slot, a), _amount(slot, b)
    if one and other:
        if one.unit != other.unit:
            return "unknown", "typed"
        if one == other:
            return "same", "typed"
        return ("conflict" if one.apart(other) else "compatible"), "typed"
    first, second = _values(slot, a), _values(slot, b)
    if any(frozenset((x, y)) in slot.opposites for x in first for y in second):
        return "conflict", "lexicon"
    return _of_sets(slot, first, second), "typed"


def _of_sets(slot: Slot, first: frozenset[str], second: frozenset[str]) -> Kind:
    if slot.many or first == second or _special(slot, first, second):
        return "compatible"
    if slot.kind == "free" or first | second <= slot.values.keys():
        return "conflict"
    return "unknown"


def _special(slot: Slot, first: frozenset[str], second: frozenset[str]) -> bool:
    """Tell whether all values of one are special cases of values of the other."""
    return all(slot.implies.get(value) in second for value in first) or all(
        slot.implies.get(value) in first for value in second
    )


def _refused(slot: Slot | None, yes: Reading, no: Reading) -> Kind:
    """Compare a wanted value with a refused one."""
    if slot is None:
        return "conflict" if (yes.value, yes.operator) == (no.value, no.operator) else "unknown"
    one, other = _amount(slot, yes), _amount(slot, no)
    if one and other:
        if one.unit != other.unit:
            return "unknown"
        return "conflict" if one.within(other) else "compatible"
    wanted, refused = _values(slot, yes), _values(slot, no)
    if any(value in refused or slot.implies.get(value) in refused for value in wanted):
        return "conflict"
    return "compatible"


def _amount(slot: Slot, reading: Reading) -> Interval | None:
    rank = slot.rank(reading.value) if slot.kind == "ordered" else None
    if rank is not None:
        return interval(reading.operator, f"{rank} level")
    return interval(reading.operator, reading.value)


def _values(slot: Slot, reading: Reading) -> frozenset[str]:
    """Give the named values of a reading; a number stands for the one that its unit implies."""
    found = interval(reading.operator, reading.value)
    if found and found.named in slot.unit_values:
        return frozenset({slot.unit_values[found.named]})
    return frozenset(reading.value.split(" + "))
