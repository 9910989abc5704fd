"""A rule's text as slot, value, operator, object, polarity and condition."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from sidecypher_procedures.rules.detector.values import Amount, amounts, negated
from sidecypher_procedures.rules.detector.vocabulary import (
    Entry,
    Mark,
    Slot,
    canonical,
    scan,
    stem,
    vocabulary,
)

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


# Words that a text may have besides: with the slot's own name next to the value, and without. One
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
        hidden = {place for part in parts if left_out(part) for place in _parsing_places(part)}
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


def _parsing_places(part: Clause) -> range:
    return range(part.start, part.end)


def _finish(marks: Sequence[Mark], found: Finding, parts: Sequence[Clause]) -> Parsed | None:
    conditions = [part for part in parts if part.exception or not _spent(marks, part, found)]
    outside = {place for part in conditions for place in _parsing_places(part)}
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
    if found.core.intersection(_parsing_places(part)):
        return True
    words = [place for place in _parsing_places(part) if not marks[place].entry.roles]
    return bool(words) and all(
        place in found.used and _own(marks[place], found.slot.name) for place in words
    )


def _own(mark: Mark, slot: str) -> bool:
    entry = mark.entry
    return (
        slot in entry.topics or slot in entry.objects or any(slot == n for n, _, _ in entry.values)
    )
