"""A rule's text as slot, value, operator, object, polarity and condition."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sidecypher_procedures.rules.detector.clauses import Clause, clauses
from sidecypher_procedures.rules.detector.measuring import Amount, amounts
from sidecypher_procedures.rules.detector.polarity import negated
from sidecypher_procedures.rules.detector.scanning import Mark, scan
from sidecypher_procedures.rules.detector.vocabulary import Entry, Slot, vocabulary

_OPPOSITE = {
    "more than": "at most",
    "at most": "more than",
    "less than": "at least",
    "at least": "less than",
}
_FREE_WORDS = 4


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says, in the words of the vocabulary."""

    slot: str
    object: str
    operator: str
    value: str
    positive: bool
    condition: str


@dataclass(slots=True)
class _Evidence:
    """The marks that speak for one slot."""

    values: dict[int, str] = field(default_factory=dict)
    weak: dict[int, str] = field(default_factory=dict)
    topics: set[int] = field(default_factory=set)
    objects: dict[int, str] = field(default_factory=dict)
    amount: Amount | None = None
    lead: int | None = None


@dataclass(frozen=True, slots=True)
class _Finding:
    slot: Slot
    value: str
    operator: str
    object: str
    positive: bool
    core: frozenset[int]
    used: frozenset[int]
    sure: bool


def parse(text: str) -> Parsed | None:
    """Read a canonical text; None when it names no slot, several, or says too much besides."""
    marks = scan(text)
    if not any(_telling(mark) for mark in marks):
        return None
    parts = clauses(marks)
    hidden = {place for part in parts if part.fixed or part.exception for place in _places(part)}
    open_places = {place for part in parts for place in _places(part)} - hidden
    everything = [place for place in range(len(marks)) if place not in hidden]
    found = _findings(marks, everything)
    if len(found) > 1:
        everything = [place for place in everything if place not in open_places]
        found = _findings(marks, everything)
    if len(found) != 1:
        return None
    return _finish(marks, found[0], parts)


def _telling(mark: Mark) -> bool:
    entry = mark.entry
    return bool(entry.values or entry.unit or entry.leads or entry.number)


def _places(part: Clause) -> range:
    return range(part.start, part.end)


def _finish(marks: Sequence[Mark], found: _Finding, parts: Sequence[Clause]) -> Parsed | None:
    conditions = [
        part for part in parts if part.exception or not found.used.intersection(_places(part))
    ]
    outside = {place for part in conditions for place in _places(part)}
    names = {part.name for part in conditions if part.name}
    left = 0
    for place, mark in enumerate(marks):
        if place in found.used or place in outside:
            continue
        if "hedge" in mark.entry.roles:
            return None
        if mark.entry.context and not mark.entry.values:
            names.add(mark.entry.context)
        elif not mark.entry.roles and not mark.entry.operators:
            left += 1
    if left > (2 if found.sure else 1):
        return None
    return Parsed(
        found.slot.name,
        found.object,
        found.operator,
        found.value,
        found.positive,
        " + ".join(sorted(names)),
    )


def _findings(marks: Sequence[Mark], places: Sequence[int]) -> list[_Finding]:
    evidence = _evidence(marks, places)
    slots = vocabulary().slots
    found = [
        finding
        for name, each in evidence.items()
        if (finding := _finding(slots[name], each, marks, places))
    ]
    return [
        each
        for each in found
        if not any(other is not each and each.core <= other.used - other.core for other in found)
        and not any(other is not each and each.core < other.core for other in found)
    ]


def _evidence(marks: Sequence[Mark], places: Sequence[int]) -> dict[str, _Evidence]:
    found: defaultdict[str, _Evidence] = defaultdict(_Evidence)
    measured: set[int] = set()
    for amount in amounts(marks, places):
        measured |= amount.places
        for slot in vocabulary().slots.values():
            if amount.unit in slot.units or (not amount.unit and slot.bare):
                found[slot.name].amount = amount
    for place, mark in enumerate(marks):
        if place not in measured:
            _gather(found, place, mark.entry, visible=place in places)
    return found


def _gather(found: defaultdict[str, _Evidence], place: int, entry: Entry, *, visible: bool) -> None:
    """Note what a phrase says; what stands in a condition may name a slot, but no value."""
    for name in entry.topics:
        found[name].topics.add(place)
    for name, thing in entry.objects.items():
        found[name].objects[place] = thing
    for name, value, strong in entry.values if visible else ():
        (found[name].values if strong else found[name].weak)[place] = value
    for name in entry.leads if visible else ():
        found[name].lead = place


def _finding(
    slot: Slot, each: _Evidence, marks: Sequence[Mark], places: Sequence[int]
) -> _Finding | None:
    if each.amount and (slot.units.get(each.amount.unit) or each.topics or each.objects):
        return _measured(slot, each, each.amount, marks, places)
    if each.lead is not None:
        return _free(slot, each.lead, marks, places)
    mentions = each.values | (each.weak if each.topics or each.objects or each.values else {})
    if not mentions:
        return None
    return _valued(slot, each, mentions, marks, places)


def _say_no(
    marks: Sequence[Mark], places: Sequence[int], mentions: Iterable[int]
) -> dict[int, bool] | None:
    """Ask `negated` about the visible marks, in places of the whole text."""
    order = {place: index for index, place in enumerate(places)}
    said = negated([marks[place] for place in places], {order[place] for place in mentions})
    return None if said is None else {places[index]: no for index, no in said.items()}


def _measured(
    slot: Slot, each: _Evidence, amount: Amount, marks: Sequence[Mark], places: Sequence[int]
) -> _Finding | None:
    visible = [place for place in places if place not in amount.places or place == amount.number]
    said = _say_no(marks, visible, [amount.number])
    if said is None:
        return None
    no, operator = said[amount.number], amount.operator
    if no and operator in _OPPOSITE:
        no, operator = False, _OPPOSITE[operator]
    named = {place for place, value in each.values.items() if value in slot.unit_values.values()}
    return _Finding(
        slot,
        amount.value,
        operator,
        _object(each),
        not no,
        frozenset(amount.places),
        frozenset({*amount.places, *each.topics, *each.objects, *named}),
        sure=True,
    )


def _free(slot: Slot, lead: int, marks: Sequence[Mark], places: Sequence[int]) -> _Finding | None:
    said = _say_no(marks, places, [lead])
    rest = [place for place in places if place > lead]
    names = [marks[place].text for place in rest if not _polite(marks[place])]
    if said is None or not names or len(" ".join(names).split()) > _FREE_WORDS:
        return None
    used = frozenset({lead, *rest})
    return _Finding(slot, " ".join(names), "", "", not said[lead], used, used, sure=True)


def _polite(mark: Mark) -> bool:
    return mark.text in {"please", "always", "from now on", "thanks", "now", "a", "an", "the"}


def _valued(
    slot: Slot,
    each: _Evidence,
    mentions: dict[int, str],
    marks: Sequence[Mark],
    places: Sequence[int],
) -> _Finding | None:
    said = _say_no(marks, places, mentions)
    if said is None:
        return None
    wanted = {value for place, value in mentions.items() if not said[place]}
    refused = {value for place, value in mentions.items() if said[place]}
    value = _one(slot, wanted or refused)
    if not value:
        return None
    if slot.kind == "presence" and value == "use":
        value = _degree(marks, places) or value
    return _Finding(
        slot,
        value,
        "",
        _object(each),
        bool(wanted),
        frozenset(mentions),
        frozenset({*mentions, *each.values, *each.topics, *each.objects}),
        sure=bool(each.topics),
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


def _object(each: _Evidence) -> str:
    return " + ".join(sorted(set(each.objects.values())))
