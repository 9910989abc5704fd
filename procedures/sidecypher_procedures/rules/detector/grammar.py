"""Parser from the text of a rule to slot, value, operator, object, polarity and condition."""

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
    """Marks `start` to `end` (exclusive), which may be a condition.

    Attributes:
        name: The name of the condition; empty if it has no meaning.
        fixed: Whether it is a place in the lexicon.
        aside: Whether it has a value only if the rest has none: "when I ask in German".
        exception: Whether the rule holds everywhere but here.
    """

    start: int
    end: int
    name: str
    fixed: bool
    aside: bool
    exception: bool


def clauses(marks: Sequence[Mark]) -> list[Clause]:
    """Return the clauses of a text, without overlaps."""
    found, place = [], 0
    while place < len(marks):
        clause = _clause(marks, place)
        if clause:
            found.append(clause)
        place = clause.end if clause else place + 1
    return found


def read_condition(text: str) -> str:
    """Return the canonical name of a condition, with or without its preposition.

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
    """Read known places and fillers between them; return the end and the names."""
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
    """One slot found in a text.

    Attributes:
        value: Its value; empty if the text has several, or a negation that is not understood.
        core: Positions of the value.
        used: Positions of all words that belong to it.
        sure: Whether the text names the slot, or no other slot has the value.
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
    """The marks that indicate one slot."""

    values: dict[int, str] = field(default_factory=dict)
    weak: dict[int, str] = field(default_factory=dict)
    topics: set[int] = field(default_factory=set)
    objects: dict[int, str] = field(default_factory=dict)
    amount: Amount | None = None
    lead: int | None = None

    @property
    def around(self) -> set[int]:
        """Positions of the marks that name the slot or its object."""
        return {*self.topics, *self.objects}

    @property
    def object(self) -> str:
        """The part of the text that the rule applies to."""
        return " + ".join(sorted(set(self.objects.values())))


def findings(marks: Sequence[Mark], places: Sequence[int]) -> list[Finding]:
    """Return the slots at the visible positions of a text.

    A slot is left out if its value is only the object or the name of another one. For example,
    "comments in French" does not ask for comments.
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
    return slot.default_unit is not None and float(amount.value.split()[-1]) <= slot.highest


def _gather(found: defaultdict[str, _Evidence], place: int, entry: Entry, *, visible: bool) -> None:
    """Collect the meanings of a phrase; a phrase in a condition may name a slot, but no value."""
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


def _negations(
    marks: Sequence[Mark], places: Sequence[int], mentions: Collection[int]
) -> dict[int, bool] | None:
    """Call `negated` for the visible marks; return positions in the whole text."""
    order = {place: index for index, place in enumerate(places)}
    said = negated([marks[place] for place in places], {order[place] for place in mentions})
    return None if said is None else {places[index]: no for index, no in said.items()}


def _measured(
    slot: Slot, each: _Evidence, amount: Amount, marks: Sequence[Mark], places: Sequence[int]
) -> Finding:
    visible = [place for place in places if place not in amount.places or place == amount.number]
    said = _negations(marks, visible, [amount.number]) or {}
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
    said = _negations(marks, places, [lead]) or {}
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
    said = _negations(marks, places, mentions) or {}
    wanted = {mentions[place] for place, no in said.items() if not no}
    refused = {mentions[place] for place, no in said.items() if no}
    # What one part of the text wants and another refuses is not known.
    value = "" if wanted & refused else _single_value(slot, wanted or refused)
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


def _single_value(slot: Slot, values: set[str]) -> str:
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


# Most unused words in a text: with the slot's own name next to the value, and without. A word
# right after a value ("French revolution") makes the value belong to something else. An unknown
# word may be a "not" of another language, a typing error or a verdict ("comments are noise"), so
# a text that has one has no slot.
_MOST_UNUSED_SURE: Final = 3
_MOST_UNUSED: Final = 2


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parsed parts of a text, in the terms of the vocabulary."""

    slot: str
    object: str
    operator: str
    value: str
    positive: bool
    condition: str


def parse(text: str) -> Parsed | None:
    """Parse a canonical text; return None if it has no slot, several, or too many other words."""
    marks = scan(text)
    if not any(_is_informative(mark) for mark in marks):
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


def _is_informative(mark: Mark) -> bool:
    entry = mark.entry
    return bool(entry.values or entry.unit or entry.leads or entry.number)


def _parsing_places(part: Clause) -> range:
    return range(part.start, part.end)


def _finish(marks: Sequence[Mark], found: Finding, parts: Sequence[Clause]) -> Parsed | None:
    conditions = [part for part in parts if part.exception or not _is_subject(marks, part, found)]
    outside = {place for part in conditions for place in _parsing_places(part)}
    names = {part.name for part in conditions if part.name}
    unused = 0
    if _asks_for_part(marks, found, named=bool(names)) or _takes_for_granted(marks, found):
        return None
    for place, mark in enumerate(marks):
        if place in found.used or place in outside:
            continue
        if not mark.known or _is_of_other_slots(mark):
            return None
        if "hedge" in mark.entry.roles:
            return None
        if mark.entry.number and not mark.entry.roles:
            return None
        if mark.entry.context and not mark.entry.values:
            names.add(mark.entry.context)
        elif not mark.entry.roles and not mark.entry.operators:
            unused += 1 if found.sure or place - 1 not in found.core else _MOST_UNUSED + 1
    if unused > (_MOST_UNUSED_SURE if found.sure else _MOST_UNUSED):
        return None
    return Parsed(
        found.slot.name,
        found.object,
        found.operator,
        found.value,
        found.positive,
        " + ".join(sorted(names)),
    )


def _is_of_other_slots(mark: Mark) -> bool:
    """Return whether a word is known only as a value of slots that the text does not name."""
    entry = mark.entry
    return bool(entry.values) and not (entry.roles or entry.topics or entry.context)


_ONLY: Final = {"only", "just", "solely", "exclusively"}


def _asks_for_part(marks: Sequence[Mark], found: Finding, *, named: bool) -> bool:
    """Return whether a text ranks its only value, or asks for it "only" in unknown places."""
    if len(found.core) == 1 and any(
        "contrast" in mark.entry.roles or mark.text == "than" for mark in marks
    ):
        return True
    only = any(mark.text in _ONLY for mark in marks)
    return only and found.slot.kind == "presence" and not named


def _takes_for_granted(marks: Sequence[Mark], found: Finding) -> bool:
    """Return whether a text speaks about each of what is there: "every table needs a caption"."""
    return marks[0].text in {"every", "each"} and 1 in found.core


def _is_subject(marks: Sequence[Mark], part: Clause, found: Finding) -> bool:
    """Return whether a clause is the subject of the rule instead of a condition."""
    if found.core.intersection(_parsing_places(part)):
        return True
    words = [place for place in _parsing_places(part) if not marks[place].entry.roles]
    return bool(words) and all(
        place in found.used and _belongs_to(marks[place], found.slot.name) for place in words
    )


def _belongs_to(mark: Mark, slot: str) -> bool:
    entry = mark.entry
    return (
        slot in entry.topics or slot in entry.objects or any(slot == n for n, _, _ in entry.values)
    )
