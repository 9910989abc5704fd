"""Readings of rules, and the comparison of two rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal

from sidecypher_procedures.rules.detector.grammar import parse, read_condition
from sidecypher_procedures.rules.detector.opposition import contradiction, ranks, topics_of
from sidecypher_procedures.rules.detector.tokens import is_plain_wish
from sidecypher_procedures.rules.detector.values import OPERATORS, Interval, amounts, interval
from sidecypher_procedures.rules.detector.vocabulary import (
    MAX_CHARACTERS,
    Slot,
    canonical,
    mark_code,
    own_slots,
    scan,
    unquoted,
    vocabulary,
    words,
)

DETECTOR: Final = "slots"
"""Name of this detector in recorded contradictions."""
VERSION: Final = "5"
"""Version of the detector; changes if the same two rules may get another verdict."""


@cache
def version() -> str:
    """Return the version in recorded contradictions, which tells slots of the user's apart."""
    _, digest = own_slots()
    return f"{VERSION}+{digest}" if digest else VERSION


IDENTITY: Final = ("slot", "object", "operator", "value", "polarity", "condition")
"""The parts of a reading that identify a rule within its scope."""

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
        slot: Its subject; empty if unknown.
        object: The part of the text it applies to; empty for all of it.
        operator: `at most`, `between` and so on for a number, else empty.
        value: The canonical value; the canonical text without negation if the slot is unknown.
        polarity: Whether the value is wanted.
        condition: Place or time at which it holds; empty for always.
        text: The rule in words.
        about: The stored topics of the rule; None to read them from its text.
    """

    slot: str
    object: str
    operator: str
    value: str
    polarity: Polarity
    condition: str
    text: str
    about: tuple[str, ...] | None = field(default=None, compare=False)

    @property
    def identity(self) -> dict[str, str]:
        """The parts that identify the rule within its scope, by name.

        Example:
            >>> read_text("formal tone").identity == read_text("Use a formal tone!").identity
            True
        """
        return {name: getattr(self, name) for name in IDENTITY}

    @property
    def topics(self) -> list[str]:
        """What the rule is about: its slots, and the roots of its other words, in order.

        Example:
            >>> read_text("Squash commits").topics
            ['commit', 'merge_method']
        """
        if self.about is not None:
            return list(self.about)
        return sorted({*topics_of(self.text), *filter(None, [self.slot])})


@lru_cache(maxsize=8192)
def read_text(text: str) -> Reading:
    """Read a rule in plain English. Other text gets no slot, and is its own value.

    Args:
        text: One rule; one of more than 400 characters gets no slot.

    Example:
        >>> reading = read_text("Never use emojis in titles!")
        >>> reading.slot, reading.polarity, reading.condition
        ('emojis', 'negative', 'title')
    """
    plain = canonical(text)
    short = len(text) <= MAX_CHARACTERS
    parsed = parse(canonical(mark_code(text))) if short and is_plain_wish(text) else None
    if parsed is None:
        # Without its negation, so that a rule and its opposite are found by one value.
        return Reading(
            "",
            "",
            "",
            without_negation(plain),
            _polarity(negative=plain != without_negation(plain)),
            "",
            text,
        )
    return Reading(
        parsed.slot,
        parsed.object,
        parsed.operator,
        parsed.value,
        _polarity(negative=not parsed.positive),
        parsed.condition,
        text,
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
    """Read a rule that is given in parts; unknown slots and values are kept.

    Args:
        slot: A name such as `tone`; upper case, spaces and hyphens do not matter.
        value: Such as `formal`, `at most 100 words`, or `never` for a slot that is there or not.
        object: The part of the text it applies to.
        operator: Such as `at most` or `<=`; if empty, the one in `value` is used.
        polarity: `positive`, `negative` or empty; a negated value is always negative.
        condition: Such as `in titles`.
        text: The rule in words, for display only.

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
    inner = without_negation(plain)
    negative = polarity == "negative" or inner != plain
    if known and known.kind == "presence" and inner in _OFF:
        inner, negative = "use", True
    sign, found = _value(known, inner, _operator(operator)) if known else ("", inner)
    thing, place = _object_and_condition(known, canonical(object), read_condition(condition))
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


def without_negation(text: str) -> str:
    """Remove the negation at the beginning of a canonical text.

    A repeated negation is removed as a whole. A text with a verb of refusal after it ("do not
    avoid") is not negative, and is not changed.

    Example:
        >>> [without_negation(text) for text in ("please do not shout", "do not avoid it")]
        ['shout', 'do not avoid it']
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
    """Return operator and canonical value of the slot, or the text itself if it is unknown."""
    if slot.kind == "presence" and text in _YES:
        return "", "use"
    wanted = words(text)
    for value, phrases in _value_phrases(slot).items():
        if wanted == words(value) or wanted in phrases:
            return operator, value
    if slot.units or slot.default_unit is not None:
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


def _value_phrases(slot: Slot) -> Mapping[str, list[tuple[str, ...]]]:
    return {
        value: [words(text.lstrip("~")) for text in texts] for value, texts in slot.values.items()
    }


def _object_and_condition(slot: Slot | None, thing: str, place: str) -> tuple[str, str]:
    """Return object and condition as a text would have them: "in comments" may be either."""
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
    """Return the temporal marker of a text.

    The past takes precedence ("I used to avoid tables" is past); polarity is read separately.
    Quoted parts are ignored. "I will always" is not about the future.

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
    """The result of comparing two rules.

    Attributes:
        kind: `conflict`, `same`, `compatible` or `unknown`.
        layer: `exact`, `typed` or `lexicon`: the first that decided, or the last that did not.
        reason: One line for people, with canonical values and without the texts of the rules.
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
    if a.identity == b.identity:
        return Verdict("same", "exact", "the same rule in normal form")
    if not (a.slot and b.slot):
        return _by_text(a, b)
    if (a.slot, a.object, a.condition) == (b.slot, b.object, b.condition):
        verdict = _by_value(a, b)
        if a.polarity == b.polarity and ranks(a.text) and ranks(b.text):
            # "A over B" and "C over D" can both hold, "A over B" and "B over A" cannot.
            by_text = _by_text(a, b)
            if "conflict" in {verdict.kind, by_text.kind}:
                return by_text
        return verdict
    reason = _in_words(a, b)
    if reason:
        return Verdict("conflict", "words", reason)
    if a.slot != b.slot:
        return Verdict("compatible", "typed", f"different slots: {_pair(a.slot, b.slot)}")
    if a.object != b.object:
        return Verdict("compatible", "typed", f"different objects: {_pair(a.object, b.object)}")
    return _by_condition(a, b)


def _in_words(a: Reading, b: Reading) -> str:
    """Return why the texts of two rules contradict each other; the empty text if they do not.

    A rule whose polarity is not that of its text, as its temporal marker decides, is not compared.
    """
    if set(a.topics).isdisjoint(b.topics):
        return ""
    reason = contradiction(a.text, b.text)
    if any(read_text(each.text).polarity != each.polarity for each in (a, b) if reason):
        return ""
    return reason


def _pair(one: str, other: str) -> str:
    first, second = sorted((one or "(all)", other or "(all)"))
    return f"{first} and {second}"


def _by_text(a: Reading, b: Reading) -> Verdict:
    if a.slot or b.slot or a.value != b.value:
        reason = _in_words(a, b)
        if reason:
            return Verdict("conflict", "words", reason)
        return Verdict("unknown", "typed", "no slot is known to hold both")
    if a.polarity == b.polarity:
        return Verdict("same", "exact", "the same rule in normal form")
    return Verdict("conflict", "exact", "one text is the other's negation")


def _by_condition(a: Reading, b: Reading) -> Verdict:
    conflict = _by_value(a, b).kind == "conflict"
    if (conflict and _may_meet(a, b)) or _refuses_elsewhere(a, b):
        return Verdict("unknown", "typed", "it is not known whether their conditions meet")
    if a.condition and b.condition:
        reason = f"different conditions: {_pair(a.condition, b.condition)}"
    else:
        reason = f"an exception narrows the general rule: {a.condition or b.condition}"
    return Verdict("compatible", "typed", reason)


def _may_meet(a: Reading, b: Reading) -> bool:
    """Return whether one condition may be the other one in other words, or part of it."""
    if a.condition and b.condition:
        return not all(_is_place(each.condition) for each in (a, b))
    general, special = (b, a) if a.condition else (a, b)
    if not _is_place(special.condition):
        return True
    return not _UNIVERSAL.isdisjoint(canonical(general.text).split())


def _refuses_elsewhere(a: Reading, b: Reading) -> bool:
    """Return whether one rule holds "only in titles", and the other one everywhere."""
    if a.condition and b.condition:
        return False
    special = a if a.condition else b
    return not _ONLY.isdisjoint(canonical(special.text).split())


def _is_place(condition: str) -> bool:
    contexts = vocabulary().contexts
    return all(each.removeprefix("except ") in contexts for each in condition.split(" + "))


_ONLY: Final = {"only", "exclusively", "solely"}
_UNIVERSAL: Final = _ONLY | {
    *("always", "never", "ever", "all", "any", "every", "everywhere", "anywhere", "everything"),
    *("anything", "nothing"),
}


def _by_value(a: Reading, b: Reading) -> Verdict:
    if a.polarity == b.polarity == "negative":
        return Verdict("compatible", "typed", "two negations leave room for both")
    slot = vocabulary().slots.get(a.slot)
    if a.polarity == b.polarity:
        kind, layer = _compare_wanted(slot, a, b)
    else:
        yes, no = (a, b) if a.polarity == "positive" else (b, a)
        kind, layer = _compare_refused(slot, yes, no), "typed"
    said = _pair(_describe(a), _describe(b))
    return Verdict(kind, layer, f"{a.slot}: {said} {_REASONS[kind]}")


_REASONS = {
    "conflict": "exclude each other",
    "same": "mean the same",
    "compatible": "can both hold",
    "unknown": "cannot be compared",
}


def _describe(reading: Reading) -> str:
    no = "not" if reading.polarity == "negative" else ""
    return " ".join(filter(None, [no, reading.operator, reading.value]))


def _compare_wanted(slot: Slot | None, a: Reading, b: Reading) -> tuple[Kind, str]:
    """Compare two wanted values."""
    if slot is None:
        return "unknown", "typed"
    one, other = _amount(slot, a), _amount(slot, b)
    if one and other:
        if one.unit != other.unit:
            return "unknown", "typed"
        if one == other:
            return "same", "typed"
        if one.is_disjoint(other):
            return "conflict", "typed"
        # Both can be followed, but the later one may replace the other.
        return ("unknown" if one.is_limit_like(other) else "compatible"), "typed"
    first, second = _values(slot, a), _values(slot, b)
    if any(frozenset((x, y)) in slot.opposites for x in first for y in second):
        return "conflict", "lexicon"
    return _compare_sets(slot, first, second), "typed"


def _compare_sets(slot: Slot, first: frozenset[str], second: frozenset[str]) -> Kind:
    if slot.many or first == second or _is_special_case(slot, first, second):
        return "compatible"
    if slot.kind == "free" or first | second <= slot.values.keys():
        return "conflict"
    return "unknown"


def _is_special_case(slot: Slot, first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether all values of one set are special cases of values of the other."""
    return all(slot.implies.get(value) in second for value in first) or all(
        slot.implies.get(value) in first for value in second
    )


def _compare_refused(slot: Slot | None, yes: Reading, no: Reading) -> Kind:
    """Compare a wanted value with a refused one."""
    if slot is None:
        return "conflict" if (yes.value, yes.operator) == (no.value, no.operator) else "unknown"
    one, other = _amount(slot, yes), _amount(slot, no)
    if one and other:
        if one.unit != other.unit:
            return "unknown"
        return "conflict" if one.is_within(other) else "compatible"
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
    """Return the named values of a reading; a number stands for the value of its unit."""
    found = interval(reading.operator, reading.value)
    if found and found.named in slot.unit_values:
        return frozenset({slot.unit_values[found.named]})
    return frozenset(reading.value.split(" + "))
