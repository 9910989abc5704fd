"""What a rule says, and whether two rules can both be followed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sidecypher_procedures.rules.detector.grammar import parse, read_condition
from sidecypher_procedures.rules.detector.values import OPERATORS, Interval, amounts, interval
from sidecypher_procedures.rules.detector.vocabulary import (
    Slot,
    canonical,
    scan,
    unquoted,
    vocabulary,
    words,
)

DETECTOR: Final = "slots"
"""Name of this detector, which each recorded contradiction has."""
VERSION: Final = "2"
"""Raised when the same two rules may be compared differently."""

MAX_CHARACTERS: Final = 400
IDENTITY: Final = ("slot", "object", "operator", "value", "polarity", "condition")
"""The parts of a reading that make two rules of one scope the same rule."""

_NO = ("do not ", "never ", "no ", "not ")
_REFUSALS = ("avoid ", "without ", "stop ")
_POLITE_NO = tuple(f"please {word}" for word in (*_NO, *_REFUSALS))
_YES = {"use", "yes", "true", "on", "always", "enabled", "wanted"}
_OFF = {"no", "false", "off", "never", "none", "not", "disabled", "unwanted"}
_SYMBOLS = {"": "", "<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}

Polarity = Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule in canonical parts.

    Attributes:
        slot: What it is about; empty when that is not known.
        object: What of the text is meant; empty for all of it.
        operator: `at most`, `between` and so on for a number, else empty.
        value: The canonical value; the canonical text, not negated, when the slot is not known.
        polarity: Whether the value is wanted.
        condition: Where or when it holds; empty for always.
        text: The rule's canonical text.
    """

    slot: str
    object: str
    operator: str
    value: str
    polarity: Polarity
    condition: str
    text: str

    @property
    def identity(self) -> dict[str, str]:
        """The parts that make it the same rule as another of its scope, by name.

        Example:
            >>> read_text("formal tone").identity == read_text("Use a formal tone!").identity
            True
        """
        return {name: getattr(self, name) for name in IDENTITY}


def read_text(text: str) -> Reading:
    """Read a rule in plain English; one in other words gets no slot and is its own value.

    Args:
        text: One rule; of more than 400 characters of normal form no slot is sought.

    Example:
        >>> reading = read_text("Never use emojis in titles!")
        >>> reading.slot, reading.polarity, reading.condition
        ('emojis', 'negative', 'title')
    """
    plain = canonical(text)
    parsed = parse(plain) if len(plain) <= MAX_CHARACTERS else None
    if parsed is None:
        # Without its negation, so that a rule and its opposite are found by one value.
        return Reading("", "", "", bare(plain), _polarity(negative=plain != bare(plain)), "", plain)
    return Reading(
        parsed.slot,
        parsed.object,
        parsed.operator,
        parsed.value,
        _polarity(negative=not parsed.positive),
        parsed.condition,
        plain,
    )


def read_parts(
    *,
    slot: str,
    value: str,
    object: str = "",  # noqa: A002  # the rule's own word for it
    operator: str = "",
    polarity: str = "",
    condition: str = "",
    text: str = "",
) -> Reading:
    """Read a rule that is given in parts; a slot or value that is not known is kept as it is.

    Args:
        slot: A name such as `tone`; upper case, spaces and hyphens do not matter.
        value: Such as `formal`, `at most 100 words`, or `never` for a slot that is there or not.
        object: What of the text is meant.
        operator: Such as `at most` or `<=`; the one in `value` counts when this is empty.
        polarity: `positive`, `negative` or empty; a value that says no is negative in any case.
        condition: Such as `in titles`.
        text: The rule in words; it decides nothing.

    Raises:
        ValueError: The polarity is another word, or the operator is not one of `OPERATORS`.

    Example:
        >>> read_parts(slot="Tone", value="relaxed").value
        'casual'
    """
    if polarity not in {"", "positive", "negative"}:
        raise ValueError(f"polarity {polarity!r} is neither 'positive' nor 'negative'")
    name = "_".join(canonical(slot).replace("_", " ").split())
    known = vocabulary().slots.get(name)
    plain = canonical(value)
    inner = bare(plain)
    negative = polarity == "negative" or inner != plain
    if known and known.kind == "presence" and inner in _OFF:
        inner, negative = "use", True
    sign, found = _value(known, inner, _operator(operator)) if known else ("", inner)
    thing, place = _where(known, canonical(object), read_condition(condition))
    joined = " ".join(filter(None, [name, thing, sign or _operator(operator), found, place]))
    return Reading(
        name,
        thing,
        sign or _operator(operator),
        found,
        _polarity(negative=negative),
        place,
        canonical(text) or canonical(f"not {joined}" if negative else joined),
    )


def bare(text: str) -> str:
    """Take the negation away from the beginning of a canonical text.

    Saying no twice is still no; a text that goes on with a verb of refusal ("do not avoid") says
    yes, and stays as it is.

    Example:
        >>> bare("please do not shout"), bare("never never shout"), bare("do not avoid it")
        ('shout', 'shout', 'do not avoid it')
    """
    if len(text) > MAX_CHARACTERS:
        return text
    rest = text.removeprefix("please ") if text.startswith(_POLITE_NO) else text
    first = rest
    while found := next((word for word in _NO if rest.startswith(word)), None):
        rest = rest[len(found) :]
    if rest.startswith(_REFUSALS):
        if rest != first:
            return text
        rest = rest.partition(" ")[2]
        if rest.startswith((*_NO, *_REFUSALS)):
            return text
    return rest if rest != first else text


def _polarity(*, negative: bool) -> Polarity:
    return "negative" if negative else "positive"


def _operator(text: str) -> str:
    plain = " ".join(text.split()).casefold()
    plain = _SYMBOLS.get(plain, "exactly" if plain in {"=", "=="} else plain)
    if plain and plain not in OPERATORS:
        raise ValueError(f"operator {text!r} is not one of {', '.join(OPERATORS)}, <, <=, =, >=, >")
    return plain


def _value(slot: Slot, text: str, operator: str) -> tuple[str, str]:
    """Give operator and value in the slot's own words, or the value as it is."""
    if slot.kind == "presence" and text in _YES:
        return "", "use"
    wanted = words(text)
    for value, phrases in _spoken(slot).items():
        if wanted == words(value) or wanted in phrases:
            return operator, value
    if slot.units or slot.bare is not None:
        marks = scan(text)
        found = list(amounts(marks, range(len(marks))))
        if len(found) == 1 and len(found[0].places) == len(marks):
            amount = found[0]
            said = amount.operator if amount.operator != "exactly" else operator
            return said or "exactly", slot.measure(amount.value, amount.unit)
    parsed = parse(text)
    if parsed and parsed.slot == slot.name and parsed.positive:
        return parsed.operator or operator, parsed.value
    return operator, text


def _spoken(slot: Slot) -> Mapping[str, list[tuple[str, ...]]]:
    return {
        value: [words(text.lstrip("~")) for text in texts] for value, texts in slot.values.items()
    }


def _where(slot: Slot | None, thing: str, place: str) -> tuple[str, str]:
    """Give object and condition as a text would have them: "in comments" may be either."""
    if slot is None:
        return thing, place
    for name, phrases in slot.objects.items():
        if words(thing) in {words(name), *map(words, phrases)}:
            thing = name
    if place in slot.objects and thing in {"", place}:
        return place, ""
    if words(place) in map(words, slot.topics):
        return thing, ""
    return thing, place


Marker = Literal["current", "past", "future", "negated"]

_LASTING: Final = {"always", "never"}
_PROMISES: Final = {"i will", "we will", "going to"}


def read_marker(text: str) -> Marker:
    """Tell whether a text speaks of now, of the past, of later, or of what must not be.

    The past goes before the rest ("I used to avoid tables" is past); polarity is read by itself.
    What stands in quotes is only mentioned. "I will always" promises what holds already.

    Example:
        >>> read_marker("I used to like a casual tone")
        'past'
        >>> read_marker("I will never want emojis")
        'negated'
    """
    said = canonical(unquoted(text))
    lasting = not _LASTING.isdisjoint(said.split())
    roles = {
        role
        for mark in scan(said)
        if not (lasting and mark.text in _PROMISES)
        for role in mark.entry.roles
    }
    if "past" in roles:
        return "past"
    if "future" in roles and "current" not in roles:
        return "future"
    return "negated" if read_text(text).polarity == "negative" else "current"


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
        >>> from sidecypher_procedures.rules.detector.comparison import read_text
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
