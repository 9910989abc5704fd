"""Pairs of rules whose label follows from what they were written to say, and a score on them."""

import json
import random
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from sidecypher_procedures.rules.detector.comparison import compare, read_text

GRAMMAR = Path(__file__).parent / "data/rules/grammar.toml"
SEED = 4
KINDS = ("conflict", "same", "compatible", "unknown")
_PER_LABEL = 14
_SPECIAL = {("sparing", "use"), ("heavy", "use")}


@dataclass(frozen=True)
class Statement:
    """A rule in words, and what they say.

    Attributes:
        low: With `high` the amounts accepted by a number, else None.
        open: Whether `high` itself is refused.
    """

    text: str
    slot: str
    value: str = ""
    negative: bool = False
    condition: str = ""
    low: float | None = None
    high: float | None = None
    open: bool = False


@dataclass(frozen=True)
class Pair:
    """Two texts, the verdict they must get, and the slot they were made from."""

    one: str
    other: str
    label: str
    slot: str


def pairs(part):
    """Make the pairs of one part of the grammar, `held` or `open`; the same ones every time."""
    grammar = tomllib.loads(GRAMMAR.read_text(encoding="utf-8"))
    chance = random.Random(SEED)
    slots = {name: list(_statements(name, entry)) for name, entry in grammar[part].items()}
    found = []
    for name, statements in slots.items():
        entry = grammar[part][name]
        found += _inside(name, statements, entry, grammar, chance)
        found += _outside(name, statements, slots, grammar, chance)
    return found


def hard_pairs():
    """Give the pairs written one by one."""
    grammar = tomllib.loads(GRAMMAR.read_text(encoding="utf-8"))
    return [Pair(*each["texts"], each["label"], "hard") for each in grammar["hard"]]


def independent_pairs(name):
    """Give a set of pairs by a writer who had not seen the vocabulary; it is never changed."""
    lines = (GRAMMAR.parent / f"independent-{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Pair(each["a"], each["b"], each["label"].replace("unclear", "unknown"), each["class"])
        for each in map(json.loads, lines)
    ]


def figures(found):
    """Give for each kind how many pairs are of it, and precision and recall of the detector."""
    counts = Counter(
        (pair.label, compare(read_text(pair.one), read_text(pair.other)).kind) for pair in found
    )
    result = {}
    for kind in KINDS:
        said = sum(counts[label, kind] for label in KINDS)
        true = sum(counts[kind, said_kind] for said_kind in KINDS)
        right = counts[kind, kind]
        result[kind] = (true, right / said if said else 1.0, right / true if true else 1.0)
    return result


def held_slots():
    return list(tomllib.loads(GRAMMAR.read_text(encoding="utf-8"))["held"])


def _statements(slot, entry):
    for negative in (False, True):
        for value, texts in entry.get("denies" if negative else "says", {}).items():
            for text in texts:
                if entry["kind"] == "number":
                    yield from _amounts(text, slot, value, entry["numbers"])
                else:
                    yield Statement(text, slot, value, negative)


def _amounts(text, slot, operator, numbers):
    for number in numbers:
        low = 0 if operator in {"at most", "less than"} else number
        high = float("inf") if operator == "at least" else number
        yield Statement(text.format(number), slot, low=low, high=high, open=operator == "less than")


def _label(one, other, entry):
    """Say what two statements of one slot are to each other."""
    if one.condition != other.condition:
        return "compatible"
    if one.low is not None:
        return _of_amounts(one, other)
    if one.value == other.value:
        return "same" if one.negative == other.negative else "conflict"
    if one.negative and other.negative:
        return "compatible"
    if one.negative or other.negative:
        yes, no = (other, one) if one.negative else (one, other)
        return "conflict" if (yes.value, no.value) in _SPECIAL else "compatible"
    if {(one.value, other.value), (other.value, one.value)} & _SPECIAL:
        return "compatible"
    if entry.get("many") and sorted((one.value, other.value)) not in map(sorted, entry["apart"]):
        return "compatible"
    return "conflict"


def _of_amounts(one, other):
    if (one.low, one.high, one.open) == (other.low, other.high, other.open):
        return "same"
    if _beyond(one, other) or _beyond(other, one):
        return "conflict"
    # Of two upper limits, or two lower ones, the later may replace the other.
    limits = one.low == other.low == 0 or one.high == other.high == float("inf")
    return "unknown" if limits else "compatible"


def _beyond(one, other):
    return one.low > other.high or (one.low == other.high and other.open)


def _inside(name, statements, entry, grammar, chance):
    by_label = defaultdict(list)
    for one, other in combinations(statements, 2):
        by_label[_label(one, other, entry)].append((one, other))
    for label, found in sorted(by_label.items()):
        for one, other in chance.sample(found, min(_PER_LABEL, len(found))):
            yield Pair(*_both(one, other, grammar, chance), label, name)
    for one, other in chance.sample(list(combinations(statements, 2)), _PER_LABEL):
        yield _conditioned(one, other, entry, grammar, chance)


def _conditioned(one, other, entry, grammar, chance):
    """Give one statement a condition, and the other one the same, another or none."""
    contexts = grammar["contexts"]
    first = chance.choice(sorted(contexts))
    second = chance.choice(["", first, first, chance.choice(sorted(contexts))])
    one, other = (
        replace(each, condition=place, text=_placed(each.text, contexts.get(place), chance))
        for each, place in ((one, first), (other, second))
    )
    return Pair(one.text, other.text, _label(one, other, entry), one.slot)


def _placed(text, phrases, chance):
    if not phrases:
        return text
    phrase = chance.choice(phrases)
    return f"{phrase.capitalize()}, {_lower(text)}" if chance.random() < 0.5 else f"{text} {phrase}"


def _outside(name, statements, slots, grammar, chance):
    others = [each for each in slots if each != name and not each.startswith(name[:5])]
    for _ in range(5):
        other = chance.choice(slots[chance.choice(others)])
        one = chance.choice(statements)
        yield Pair(*_both(one, other, grammar, chance), "compatible", name)
    for text in chance.sample(grammar["off"]["texts"], 3):
        yield Pair(chance.choice(statements).text, text, "unknown", name)


def _both(one, other, grammar, chance):
    return [_decorated(each.text, grammar, chance) for each in (one, other)]


def _decorated(text, grammar, chance):
    return chance.choice(grammar["decorations"]["texts"]).format(text, l=_lower(text))


def _lower(text):
    return text if text[:2] in {"I ", "UK", "US", "EU"} else text[0].lower() + text[1:]
