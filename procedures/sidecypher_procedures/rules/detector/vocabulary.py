"""What the detector knows: the slots of `slots.toml` and the words of `lexicon.toml`."""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from sidecypher_procedures.rules.detector.canonical import canonical, stem

NEEDS_TOPIC: Final = "~"


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that a rule may be about.

    Attributes:
        name: Its name in the graph.
        about: What it is, for people.
        many: Whether several values may hold at one time.
        kind: `exclusive` (a set of values), `ordered` (the same, with an order), `presence` (there
            or not), `number` (with a unit) or `free` (any words).
        values: Canonical values, in order when the slot is ordered, with the phrases that say them.
        opposites: Pairs of values that exclude each other although several may hold.
        implies: Values that are a special case of another one.
        units: Units of its numbers; a unit that is `True` alone tells the slot.
        unit_values: The value that a number with this unit stands for.
        bare: The unit of a number that has none; None when it needs one.
        highest: The highest number that can be meant.
        objects: What of the text may be meant, with its phrases.
        topics: Phrases that name the slot itself.
        leads: Phrases before a free value.
    """

    name: str
    about: str
    many: bool
    kind: str
    values: Mapping[str, tuple[str, ...]]
    opposites: frozenset[frozenset[str]]
    implies: Mapping[str, str]
    units: Mapping[str, bool]
    unit_values: Mapping[str, str]
    bare: str | None
    highest: float
    objects: Mapping[str, tuple[str, ...]]
    topics: tuple[str, ...]
    leads: tuple[str, ...]

    def rank(self, value: str) -> int | None:
        """Give a value's place in an ordered slot, from 0."""
        return list(self.values).index(value) if value in self.values else None

    def measure(self, number: str, unit: str) -> str:
        """Give a number's value, in the slot's own unit when none was written."""
        return number if unit or not self.bare else f"{number} {self.bare}"


@dataclass(slots=True)
class Entry:
    """All that one phrase may mean; `inner` are the slots that phrases inside of it name."""

    values: list[tuple[str, str, bool]] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    objects: dict[str, str] = field(default_factory=dict)
    leads: set[str] = field(default_factory=set)
    operators: list[str] = field(default_factory=list)
    far: str = ""
    roles: set[str] = field(default_factory=set)
    context: str = ""
    unit: str = ""
    number: str = ""


Phrases = dict[str, list[tuple[tuple[str, ...], Entry]]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Slots by name, and phrases by their first word, longer ones first.

    Attributes:
        units: For each unit the one it is compared in, and how many of those it is.
    """

    slots: Mapping[str, Slot]
    phrases: Phrases
    units: Mapping[str, tuple[str, float]]
    condition_fillers: frozenset[str]


def words(text: str) -> tuple[str, ...]:
    """Split a text into the words that phrases are compared by.

    Example:
        >>> words("No emojis, please!")
        ('no', 'emoji', 'please')
    """
    return tuple(map(stem, canonical(text).split()))


def table(name: str) -> dict[str, Any]:
    """Read one of the package's TOML files."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


@cache
def vocabulary() -> Vocabulary:
    """Give the vocabulary; it is read once."""
    lexicon = table("lexicon.toml")
    slots = {name: _slot(name, entry) for name, entry in table("slots.toml").items()}
    return Vocabulary(
        slots=slots,
        phrases=_index(lexicon, slots),
        units={
            name: (unit.get("base", name), float(unit.get("factor", 1)))
            for name, unit in lexicon["units"].items()
        },
        condition_fillers=frozenset(
            word for text in lexicon["conditions"]["fillers"] for word in words(text)
        ),
    )


def _slot(name: str, entry: Mapping[str, Any]) -> Slot:
    strong = dict.fromkeys(entry.get("units", []), True)
    degrees = {"sparing": "use", "heavy": "use"} if entry["kind"] == "presence" else {}
    return Slot(
        name=name,
        about=entry["about"],
        many=entry["cardinality"] == "many",
        kind=entry["kind"],
        values={value: tuple(texts) for value, texts in entry.get("values", {}).items()},
        opposites=frozenset(
            map(frozenset, [*entry.get("opposites", []), *([tuple(degrees)] if degrees else [])])
        ),
        implies=degrees | entry.get("implies", {}),
        units=strong | dict.fromkeys(entry.get("weak_units", []), False),
        unit_values=entry.get("unit_values", {}),
        bare=entry.get("bare"),
        highest=entry.get("highest", math.inf),
        objects={name: tuple(texts) for name, texts in entry.get("objects", {}).items()},
        topics=tuple(entry.get("topics", ())),
        leads=tuple(entry.get("leads", ())),
    )


def _index(lexicon: Mapping[str, Any], slots: Mapping[str, Slot]) -> Phrases:
    entries: dict[tuple[str, ...], Entry] = {}
    for text, entry in _lexicon_phrases(lexicon):
        _merge(entries.setdefault(words(text), Entry()), entry)
    for slot in slots.values():
        for text, entry in _slot_phrases(slot):
            _merge(entries.setdefault(words(text), Entry()), entry)
    _inherit(entries)
    index: Phrases = {}
    for tokens, entry in entries.items():
        index.setdefault(tokens[0], []).append((tokens, entry))
    for found in index.values():
        found.sort(key=lambda item: -len(item[0]))
    return index


def _inherit(entries: dict[tuple[str, ...], Entry]) -> None:
    """Let a long phrase with a value name the slots that the phrases inside of it name."""
    for tokens, entry in entries.items():
        if not entry.values:
            continue
        for size in range(1, len(tokens)):
            for start in range(len(tokens) - size + 1):
                inner = entries.get(tokens[start : start + size])
                if inner:
                    entry.inner |= inner.topics - {slot for slot, _, _ in entry.values}
                    entry.objects = inner.objects | entry.objects


def _slot_phrases(slot: Slot) -> Iterator[tuple[str, Entry]]:
    for value, texts in slot.values.items():
        for text in texts:
            strong = not text.startswith(NEEDS_TOPIC)
            yield text.lstrip(NEEDS_TOPIC), Entry(values=[(slot.name, value, strong)])
    for name, texts in slot.objects.items():
        for text in texts:
            yield text, Entry(objects={slot.name: name})
    for text in slot.topics:
        yield text, Entry(topics={slot.name})
    for text in slot.leads:
        yield text, Entry(leads={slot.name})


def _lexicon_phrases(lexicon: Mapping[str, Any]) -> Iterator[tuple[str, Entry]]:
    for section, lists in _ROLES.items():
        for name, role in lists.items():
            for text in lexicon[section][name]:
                yield text, Entry(roles={role})
    for operator, texts in lexicon["operators"].items():
        yield from ((text, Entry(operators=[operator])) for text in texts)
    for operator, texts in lexicon["far_operators"].items():
        yield from ((text, Entry(far=operator)) for text in texts)
    for number, texts in lexicon["numbers"].items():
        yield from ((text, Entry(number=number)) for text in texts)
    for unit, entry in lexicon["units"].items():
        yield from ((text, Entry(unit=unit)) for text in entry["names"])
    for context, texts in lexicon["contexts"].items():
        yield from ((text, Entry(context=context)) for text in texts)


_ROLES = {
    "negation": {
        "adverbs": "not",
        "separable": "separable",
        "particles": "particle",
        "verbs": "avoid",
        "predicates": "predicate",
        "contrasts": "contrast",
        "neutral": "neutral",
        "hedges": "hedge",
    },
    "words": {"verbs": "verb", "breaks": "break", "fillers": "filler"},
    "temporal": {
        "past": "past",
        "accustomed": "accustomed",
        "future": "future",
        "current": "current",
    },
    "degrees": {"sparing": "sparing", "heavy": "heavy"},
    "universal": {"words": "universal"},
    "comparatives": {"less": "less"},
    "conditions": {
        "heads": "head",
        "purposes": "purpose",
        "near": "near",
        "wide": "wide",
        "exceptions": "exception",
    },
}


def _merge(into: Entry, entry: Entry) -> None:
    into.values += entry.values
    into.topics |= entry.topics
    into.objects |= entry.objects
    into.leads |= entry.leads
    into.operators += entry.operators
    into.roles |= entry.roles
    into.far = into.far or entry.far
    into.context = into.context or entry.context
    into.unit = into.unit or entry.unit
    into.number = into.number or entry.number
