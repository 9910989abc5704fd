"""What the marks of a text say about one slot or another."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from sidecypher_procedures.rules.detector.measuring import Amount, amounts
from sidecypher_procedures.rules.detector.polarity import negated
from sidecypher_procedures.rules.detector.scanning import Mark
from sidecypher_procedures.rules.detector.vocabulary import Entry, Slot, vocabulary

_OPPOSITE: Final = {
    "more than": "at most",
    "at most": "more than",
    "less than": "at least",
    "at least": "less than",
}
_FREE_WORDS: Final = 4
_POLITE: Final = {"please", "always", "from now on", "thanks", "now", "a", "an", "the"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One slot that a text speaks of.

    Attributes:
        value: Its value; empty when the text names several, or says no in a way not understood.
        core: Places of the value.
        used: Places of all that belongs to it.
        sure: Whether the text names the slot, or the value can be of no other one.
        named: How often the text names the slot.
    """

    slot: Slot
    value: str
    operator: str
    object: str
    positive: bool
    core: frozenset[int]
    used: frozenset[int]
    sure: bool
    named: int


@dataclass(slots=True)
class _Evidence:
    """The marks that speak for one slot."""

    values: dict[int, str] = field(default_factory=dict)
    weak: dict[int, str] = field(default_factory=dict)
    topics: set[int] = field(default_factory=set)
    objects: dict[int, str] = field(default_factory=dict)
    amount: Amount | None = None
    lead: int | None = None

    @property
    def around(self) -> set[int]:
        """Places of what names the slot or its object."""
        return {*self.topics, *self.objects}

    @property
    def object(self) -> str:
        """What of the text is meant."""
        return " + ".join(sorted(set(self.objects.values())))


def findings(marks: Sequence[Mark], places: Sequence[int]) -> list[Finding]:
    """Find the slots that the visible places of a text speak of.

    A slot whose value is only the object or the name of another one is left out: in "comments in
    French" nobody asks for comments.
    """
    slots = vocabulary().slots
    found = [
        finding
        for name, each in _evidence(marks, places).items()
        if (finding := _finding(slots[name], each, marks, places))
    ]
    return [each for each in found if not any(_covers(other, each) for other in found)]


def _covers(other: Finding, each: Finding) -> bool:
    if other.core == each.core:
        return other.named > each.named
    return each.core <= other.used - other.core or each.core < other.core


def _evidence(marks: Sequence[Mark], places: Sequence[int]) -> dict[str, _Evidence]:
    found: defaultdict[str, _Evidence] = defaultdict(_Evidence)
    measured: set[int] = set()
    inside = set(places)
    for amount in amounts(marks, places):
        measured |= amount.places
        for slot in vocabulary().slots.values():
            if _fits(amount, slot):
                found[slot.name].amount = amount
    for place, mark in enumerate(marks):
        if place not in measured:
            _gather(found, place, mark.entry, visible=place in inside)
    return found


def _fits(amount: Amount, slot: Slot) -> bool:
    if amount.unit:
        return amount.unit in slot.units
    return slot.bare is not None and float(amount.value.split()[-1]) <= slot.highest


def _gather(found: defaultdict[str, _Evidence], place: int, entry: Entry, *, visible: bool) -> None:
    """Note what a phrase says; what stands in a condition may name a slot, but no value."""
    for name in entry.topics | entry.inner:
        found[name].topics.add(place)
    for name, thing in entry.objects.items():
        found[name].objects[place] = thing
    for name, value, strong in entry.values if visible else ():
        (found[name].values if strong else found[name].weak)[place] = value
    for name in entry.leads if visible else ():
        found[name].lead = place


def _finding(
    slot: Slot, each: _Evidence, marks: Sequence[Mark], places: Sequence[int]
) -> Finding | None:
    if each.amount and (slot.units.get(each.amount.unit) or each.around):
        return _measured(slot, each, each.amount, marks, places)
    if each.lead is not None:
        return _free(slot, each.lead, marks, places)
    mentions = each.values | (each.weak if each.around or each.values else {})
    if not mentions:
        return None
    return _valued(slot, each, mentions, marks, places)


def _say_no(
    marks: Sequence[Mark], places: Sequence[int], mentions: Collection[int]
) -> dict[int, bool] | None:
    """Ask `negated` about the visible marks, in places of the whole text."""
    order = {place: index for index, place in enumerate(places)}
    said = negated([marks[place] for place in places], {order[place] for place in mentions})
    return None if said is None else {places[index]: no for index, no in said.items()}


def _measured(
    slot: Slot, each: _Evidence, amount: Amount, marks: Sequence[Mark], places: Sequence[int]
) -> Finding:
    visible = [place for place in places if place not in amount.places or place == amount.number]
    said = _say_no(marks, visible, [amount.number]) or {}
    no, operator = said.get(amount.number, False), amount.operator
    if no and operator in _OPPOSITE:
        no, operator = False, _OPPOSITE[operator]
    value = slot.measure(amount.value, amount.unit)
    implied = {place for place, name in each.values.items() if name in slot.unit_values.values()}
    return Finding(
        slot,
        value if said else "",
        operator,
        each.object,
        not no,
        amount.places,
        frozenset({*amount.places, *each.around, *implied}),
        sure=bool(amount.unit),
        named=len(each.topics),
    )


def _free(slot: Slot, lead: int, marks: Sequence[Mark], places: Sequence[int]) -> Finding:
    said = _say_no(marks, places, [lead]) or {}
    rest = [place for place in places if place > lead]
    name = " ".join(marks[place].text for place in rest if marks[place].text not in _POLITE)
    fits = said and len(name.split()) <= _FREE_WORDS
    used = frozenset({lead, *rest})
    positive = not said.get(lead, False)
    return Finding(slot, name if fits else "", "", "", positive, used, used, sure=True, named=1)


def _valued(
    slot: Slot,
    each: _Evidence,
    mentions: dict[int, str],
    marks: Sequence[Mark],
    places: Sequence[int],
) -> Finding:
    said = _say_no(marks, places, mentions) or {}
    wanted = {mentions[place] for place, no in said.items() if not no}
    refused = {mentions[place] for place, no in said.items() if no}
    value = _one(slot, wanted or refused)
    if slot.kind == "presence" and value == "use":
        value = _degree(marks, places) or value
    return Finding(
        slot,
        value,
        "",
        each.object,
        bool(wanted),
        frozenset(mentions),
        frozenset({*mentions, *each.values, *each.around}),
        sure=bool(each.topics),
        named=len(each.topics),
    )


def _one(slot: Slot, values: set[str]) -> str:
    special = values - {slot.implies.get(value, "") for value in values}
    if len(special) == 1 or slot.many:
        return " + ".join(sorted(special))
    return ""


def _degree(marks: Sequence[Mark], places: Sequence[int]) -> str:
    for place in places:
        for degree in ("sparing", "heavy"):
            if degree in marks[place].entry.roles:
                return degree
    return ""
