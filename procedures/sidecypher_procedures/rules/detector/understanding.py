"""What a rule says, in a form that can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sidecypher_procedures.rules.detector.canonical import canonical
from sidecypher_procedures.rules.detector.clauses import read_condition
from sidecypher_procedures.rules.detector.measuring import amounts
from sidecypher_procedures.rules.detector.parsing import parse
from sidecypher_procedures.rules.detector.quantities import OPERATORS
from sidecypher_procedures.rules.detector.scanning import scan
from sidecypher_procedures.rules.detector.vocabulary import Slot, vocabulary, words

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
        ValueError: The polarity is another word, or the operator is none of `OPERATORS`.

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
        raise ValueError(f"operator {text!r} is none of {', '.join(OPERATORS)}, <, <=, =, >=, >")
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
