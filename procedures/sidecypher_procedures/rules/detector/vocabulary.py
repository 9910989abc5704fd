"""Words and slots of the detector, and the division of a text into known phrases."""

import hashlib
import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from os import environ
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from sidecypher_procedures.rules.errors import RulesSettingsError

_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u00b4`"), "'")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_DROPPED = dict.fromkeys([0xFE0E, 0xFE0F], None)
_KEPT = "+<>=%.'#-"

_RANGE = re.compile(r"(?<![\w.-])(\d{1,9}) ?- ?(\d{1,9})(?![\w.-])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SHORT = re.compile(r"(?:n't|'re|'ve|'ll|'d|'m|'s)(?!\w)")
_LONG = {
    "n't": " not",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
    "'d": " would",
    "'m": " am",
    "'s": " is",
}
_PLAIN = re.compile(r"[a-z ]*")
_SIGNS = re.compile(r"([<>]=?|(?<![<>])=|%)")
_MARKS = re.compile(r"'|-|(?<!\d)\.|\.(?!\d)|(?<!\b[cf])#|(?<!c)\+(?!\+)")
_WHOLE = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "cant": "can not",
    "wont": "will not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "arent": "are not",
    "shouldnt": "should not",
    "wouldnt": "would not",
    "mustnt": "must not",
    "im": "i am",
    "ive": "i have",
    "gonna": "going to",
    "wanna": "want to",
}
_IS = (["it"], ["let"], ["that"])
_LONGER_THAN_IS = 5
_PASSES = 8


class _Separators(dict[int, str | None]):
    """Table of replacements of characters, filled on demand from Unicode categories."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        if character in _KEPT or category[0] in "LMN" or category in {"Sc", "So", "Sm", "Co", "Cn"}:
            kept: str | None = character
        elif category == "Cf":
            kept = None
        else:
            kept = " "
        self[code] = kept
        return kept


_SEPARATORS = _Separators({**_QUOTES, **_DASHES, **_DROPPED})


def canonical(text: str) -> str:
    """Return the normal form of a text. The function is idempotent.

    NFKC, case folded, contractions expanded, punctuation and white space replaced by one space.
    Signs with a meaning (`c++`, `<=`, `50 %`, currencies, emojis) stay. A text of punctuation alone
    is not changed, so that two such texts stay different.

    Args:
        text: Any text in any script.

    Returns:
        The normal form; empty only if the text is white space.

    Example:
        >>> canonical("Don\u2019t use  EMOJIS!")
        'do not use emojis'
    """
    for _ in range(_PASSES):
        before, text = text, _normalise_once(text)
        if text == before:
            break
    return text


def _normalise_once(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return " ".join(_WHOLE.get(word, word) for word in text.split())
    folded = _folded(text)
    words = _THOUSANDS.sub("", folded).translate(_SEPARATORS)
    words = " ".join(_WHOLE.get(word, word) for word in words.split())
    words = _SHORT.sub(_written_out, words)
    words = _RANGE.sub(r"\1 to \2", words)
    words = _SIGNS.sub(r" \1 ", _MARKS.sub(_mark, words))
    return " ".join(words.split()) or " ".join(folded.split())


def _written_out(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _LONGER_THAN_IS) : found.start()]
    possessive = found[0] == "'s" and before.split()[-1:] not in _IS
    return "" if possessive else _LONG[found[0]]


def _mark(found: re.Match[str]) -> str:
    return "" if found[0] == "'" else " "


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Remove a plural `s`, so that singular and plural match the same phrase.

    Example:
        >>> stem("emojis"), stem("class"), stem("focus")
        ('emoji', 'class', 'focus')
    """
    short = 3
    if len(word) > short and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word


# An apostrophe is inside or behind a word. Every repetition is bounded.
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,300}\"|`[^`\n]{1,300}`"
    r"|\u201c[^\u201d\n]{1,300}\u201d|\u00ab[^\u00bb\n]{1,300}\u00bb"
    r"|\u2018[^\n]{1,300}?\u2019(?!\w)|(?<!\w)'(?=\S)[^\n]{1,300}?(?<=\S)'(?!\w)"
)
_LONGEST: Final = 302


def unquoted(text: str) -> str:
    """Remove quoted parts from a text; a text that is quoted as a whole is not changed.

    Example:
        >>> unquoted("Don't use the word 'previously'")
        "Don't use the word  "
    """
    rest = _QUOTED.sub(" ", text)
    return rest if rest.strip() else text


def ends_quoted(text: str) -> bool:
    """Return whether the last character closes a quotation that begins inside the text.

    Example:
        >>> ends_quoted("Say 'yes'"), ends_quoted("'Say yes'"), ends_quoted("the users'")
        (True, False, False)
    """
    begin = max(0, len(text) - _LONGEST)
    return any(
        found.end() == len(text) and found.start() > 0 for found in _QUOTED.finditer(text, begin)
    )


MAX_CHARACTERS: Final = 400
"""The longest text whose words are read; a longer one is compared by its normal form alone."""

NEEDS_TOPIC: Final = "~"


@dataclass(frozen=True, slots=True)
class Slot:
    """A subject of rules.

    Attributes:
        name: Its name in the graph.
        about: Description for people.
        many: Whether several values may hold at the same time.
        kind: `exclusive` (a set of values), `ordered` (the same, with an order), `presence`
            (present or not), `number` (with a unit) or `free` (any words).
        values: Canonical values, in order if the slot is ordered, with their phrases.
        opposites: Pairs of values that exclude each other although several may hold.
        implies: Values that are a special case of another one.
        units: Units of its numbers; a unit with `True` is enough to identify the slot.
        unit_values: The value that a number with this unit stands for.
        bare: The unit of a number without one; None if a unit is required.
        highest: The highest plausible number.
        objects: Parts of a text that the rule may apply to, with their phrases.
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
    default_unit: str | None
    highest: float
    objects: Mapping[str, tuple[str, ...]]
    topics: tuple[str, ...]
    leads: tuple[str, ...]
    place: bool

    def rank(self, value: str) -> int | None:
        """Return the rank of a value in an ordered slot, from 0."""
        return list(self.values).index(value) if value in self.values else None

    def measure(self, number: str, unit: str) -> str:
        """Return a number as a value, with the slot's default unit if the text has none."""
        return number if unit or not self.default_unit else f"{number} {self.default_unit}"


@dataclass(slots=True)
class Entry:
    """All meanings of one phrase; `inner` are the slots named by phrases inside it."""

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
        units: For each unit its base unit, and the factor between them.
    """

    slots: Mapping[str, Slot]
    phrases: Phrases
    units: Mapping[str, tuple[str, float]]
    condition_fillers: frozenset[str]
    contexts: frozenset[str]


def words(text: str) -> tuple[str, ...]:
    """Split a text into the stemmed words that phrases are compared by.

    Example:
        >>> words("No emojis, please!")
        ('no', 'emoji', 'please')
    """
    return tuple(map(stem, canonical(text).split()))


def table(name: str) -> dict[str, Any]:
    """Read one of the package's TOML files."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


OWN_SLOTS: Final = "SIDECYPHER_RULES_SLOTS"
"""Environment variable that names a file with slots of the user's."""


@cache
def own_slots() -> tuple[dict[str, Any], str]:
    """Return the user's slots and the digest of their file, which is read once; empty without one.

    Raises:
        RulesSettingsError: The file cannot be read or used.
    """
    path = environ.get(OWN_SLOTS)
    if not path:
        return {}, ""
    try:
        text = read_slots(Path(path))
        return parse_slots(text), hashlib.sha256(text).hexdigest()[:8]
    except ValueError as error:
        raise RulesSettingsError(f"The setting `{OWN_SLOTS}` cannot be used: {error}") from None


def read_slots(path: Path) -> bytes:
    """Read a file of the user's slots.

    Raises:
        ValueError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, which is read once. Slots of the user replace those of their name."""
    lexicon = table("lexicon.toml")
    tables = table("slots.toml") | table("families.toml") | own_slots()[0]
    slots = {name: _slot(name, entry) for name, entry in tables.items()}
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
        contexts=frozenset(lexicon["contexts"]),
    )


class OwnSlot(BaseModel, extra="forbid"):
    """A slot in a file of the user's: values that exclude each other, with their phrases.

    Attributes:
        values: For each value the phrases that say it; one that begins with `~` counts only beside
            a topic.
        topics: Phrases that name the slot.
        cardinality: `many` if several values may hold at once, except `opposites`.
    """

    about: str = ""
    values: Annotated[dict[str, list[str]], Field(min_length=1)]
    topics: list[str] = []
    cardinality: Literal["one", "many"] = "one"
    opposites: list[tuple[str, str]] = []


def parse_slots(text: bytes) -> dict[str, Any]:
    """Parse a file of the user's slots, in TOML.

    Raises:
        ValueError: It is no TOML in UTF-8, or a slot has an unknown key or a value of another type.

    Example:
        >>> parse_slots(b'[mascot]\\nvalues = {otter = ["otter"]}')["mascot"]["values"]
        {'otter': ['otter']}
    """
    try:
        slots = TypeAdapter(dict[str, OwnSlot]).validate_python(tomllib.loads(text.decode()))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return {name: slot.model_dump() for name, slot in slots.items()}


def _slot(name: str, entry: Mapping[str, Any]) -> Slot:
    strong = dict.fromkeys(entry.get("units", []), True)
    degrees = {"sparing": "use", "heavy": "use"} if entry.get("kind") == "presence" else {}
    return Slot(
        name=name,
        about=entry.get("about", ""),
        many=entry.get("cardinality") == "many",
        kind=entry.get("kind", "exclusive"),
        values={value: tuple(texts) for value, texts in entry.get("values", {}).items()},
        opposites=frozenset(
            map(frozenset, [*entry.get("opposites", []), *([tuple(degrees)] if degrees else [])])
        ),
        implies=degrees | entry.get("implies", {}),
        units=strong | dict.fromkeys(entry.get("weak_units", []), False),
        unit_values=entry.get("unit_values", {}),
        default_unit=entry.get("bare"),
        highest=entry.get("highest", math.inf),
        objects={name: tuple(texts) for name, texts in entry.get("objects", {}).items()},
        topics=tuple(entry.get("topics", ())),
        leads=tuple(entry.get("leads", ())),
        place=entry.get("place", False),
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
    """Add the slots of inner phrases to long phrases with a value."""
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


_UNKNOWN: Final = Entry()


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the text.

    Attributes:
        text: Its words in the canonical text.
    """

    text: str
    entry: Entry

    @property
    def known(self) -> bool:
        """Whether the phrase is in the vocabulary."""
        return self.entry is not _UNKNOWN


def scan(text: str) -> list[Mark]:
    """Split a canonical text into marks, from left to right.

    Example:
        >>> [mark.text for mark in scan("no more than two emojis")]
        ['no more than', 'two', 'emojis']
    """
    written = text.split()
    stems = tuple(map(stem, written))
    marks, place = [], 0
    while place < len(stems):
        entry, length = phrase_at(stems, place) or (_UNKNOWN, 1)
        if length == 1:
            entry = number_entry(written[place]) or entry
        marks.append(Mark(" ".join(written[place : place + length]), entry))
        place += length
    return marks


_CODE: Final = re.compile(r"`([^`\n]{1,100})`")


def mark_code(text: str) -> str:
    """Replace code that is not in the vocabulary by a word that means nothing else.

    Example:
        >>> mark_code("no `Any`, but `pytest`")
        'no codeAny, but pytest'
    """
    return _CODE.sub(_marked_code, text)


def _marked_code(found: re.Match[str]) -> str:
    known = any(mark.entry.values or mark.entry.unit for mark in scan(canonical(found[1])))
    return found[1] if known else "code" + "".join(found[1].split())


def phrase_at(stems: tuple[str, ...], place: int) -> tuple[Entry, int] | None:
    """Return the meanings of the longest phrase at a position, and how many words it has."""
    for tokens, entry in vocabulary().phrases.get(stems[place], ()):
        size = len(tokens)
        if stems[place : place + size] == tokens and not _splits_value(stems, place, size, entry):
            return entry, size
    return None


def _splits_value(stems: tuple[str, ...], place: int, size: int, entry: Entry) -> bool:
    """Return whether a value begins inside a phrase without values: "in the past | tense"."""
    if size == 1 or entry.values or entry.unit:
        return False
    end = place + size
    return any(
        known.values and start + len(tokens) > end and stems[start : start + len(tokens)] == tokens
        for start in range(place + 1, end)
        for tokens, known in vocabulary().phrases.get(stems[start], ())
    )


def number_entry(word: str) -> Entry | None:
    """Return the entry of a number in digits; None for another word."""
    if word[0].isdigit() and word.isascii() and word.replace(".", "", 1).isdigit():
        whole, _, part = word.partition(".")
        part = part.rstrip("0")
        return Entry(number=(whole.lstrip("0") or "0") + (f".{part}" if part else ""))
    return None
