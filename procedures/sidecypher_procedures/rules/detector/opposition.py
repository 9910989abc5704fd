"""Which statements of two texts cannot both be followed.

The texts may have words that no slot has: "never squash commits" forbids what "squash the commits"
asks for.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from typing import Final

from sidecypher_procedures.rules.detector.statements import Statement, statements
from sidecypher_procedures.rules.detector.tokens import (
    AFTER,
    ALONE,
    BEFORE,
    UNASKED,
    everyday,
    kinds_of,
)
from sidecypher_procedures.rules.detector.values import interval
from sidecypher_procedures.rules.detector.vocabulary import vocabulary

_SOFT: Final = {"permission", "waiver"}
_MOST_SPECIAL: Final = 1
_SOME: Final = {"exactly", "at least", "about", "between"}
_ORDER: Final = [frozenset({BEFORE}), frozenset({AFTER})]


@lru_cache(maxsize=8192)
def topics_of(text: str) -> frozenset[str]:
    """Return what the statements of a text are about: slots, opposites and the roots of words.

    Example:
        >>> sorted(topics_of("Squash commits before the release"))
        ['befor', 'commit', 'merge_method', 'releas']
    """
    words = {word for each in statements(text) for word in each.all | each.condition}
    return frozenset(map(_topic, words.union(*map(kinds_of, words))))


def ranks(text: str) -> bool:
    """Return whether a text only prefers one thing to another.

    Example:
        >>> ranks("tabs over spaces"), ranks("tabs")
        (True, False)
    """
    return any(each.strength == "rank" for each in statements(text))


def _topic(word: str) -> str:
    group = everyday().contrasts.get(word)
    return word.partition("=")[0] if group is None else f"contrast {group[0]}"


def contradiction(one: str, other: str) -> str:
    """Return why two texts cannot both be followed; an empty text if nothing is found.

    Example:
        >>> contradiction("Never squash commits", "Please squash the commits")
        'one refuses what the other asks for: commit, merge_method=squash'
        >>> contradiction("Never squash commits", "Sign the commits")
        ''
    """
    pairs = product(statements(one), statements(other))
    return next(filter(None, (_opposed(a, b) for a, b in pairs)), "")


def _opposed(a: Statement, b: Statement) -> str:
    if not a.content or not b.content:
        return ""
    if a.wanted != b.wanted:
        return _refused(a, b) if a.wanted else _refused(b, a)
    if a.condition != b.condition:
        return _other_time(a, b)
    if a.wanted and not a.strength and not b.strength:
        return _apart(a, b) or _other_numbers(a, b)
    return ""


def _other_time(a: Statement, b: Statement) -> str:
    """Compare "A before B" with "A after B" and "B before A"."""
    differ = [a.condition - b.condition, b.condition - a.condition]
    other_order = a.all == b.all and differ in (_ORDER, _ORDER[::-1])
    swapped = any((a.all | order, b.all | order) == (b.condition, a.condition) for order in _ORDER)
    if a.wanted and b.wanted and (other_order or swapped):
        return "they exclude each other: after and before"
    return ""


def _refused(yes: Statement, no: Statement) -> str:
    """Compare what one statement asks for with what the other one refuses."""
    if {yes.strength, no.strength} == _SOFT or not _same_amounts(yes, no):
        return ""
    yes = _general(yes, no)
    if no.condition == {UNASKED} and _is_done_unasked(yes, no):
        yes = replace(yes, content=yes.content - {ALONE}, condition=no.condition)
    if yes.condition != no.condition and not (_is_ordered(yes) and not no.condition):
        return ""
    if yes.strength == no.strength == "rank" and yes.beside != no.beside:
        # "A over B" and "B over C" can both hold, "A over B" and "B over A" cannot.
        return ""
    inside = (
        no.content <= yes.all
        and not no.content.isdisjoint(yes.content)
        and no.place <= yes.all | yes.topics
        and yes.place <= no.all
        and _is_understood(yes, no)
        and len(_special(yes, no)) <= _MOST_SPECIAL
        and (no.universal or not _is_other(yes, no))
    )
    if inside or yes.all == no.all:
        return f"one refuses what the other asks for: {', '.join(sorted(no.all))}"
    return ""


def _is_understood(yes: Statement, no: Statement) -> bool:
    """Return whether no unknown word of a wish may be a "not" that stands before the rest."""
    if yes.unknown <= no.content:
        return True
    first = next(filter(None, yes.order), "")
    return first not in yes.unknown and "" in yes.order


def _general(yes: Statement, no: Statement) -> Statement:
    """Return what is asked for, with a general word for a special one where that is refused."""
    refused = no.content - yes.content
    general = {word: min(kinds_of(word) & refused, default="") for word in yes.content}
    if not any(general.values()):
        return yes
    content = frozenset(general[word] or word for word in yes.content)
    return replace(yes, content=content)


def _special(yes: Statement, no: Statement) -> frozenset[str]:
    """Return what makes a wish more special than a refusal: neither its verbs nor degrees."""
    known = everyday()
    return yes.content - no.content - known.actions - known.contrasts.keys()


def _is_done_unasked(yes: Statement, no: Statement) -> bool:
    """Return whether a wish is to be followed each time, and not only after somebody was asked."""
    if yes.strength == "permission" or ALONE in yes.content:
        return True
    if yes.condition:
        return _is_ordered(yes) and yes.condition.isdisjoint(everyday().consent)
    return yes.all == no.all


def _is_ordered(said: Statement) -> bool:
    """Return whether something is asked for each time, before or after something else."""
    return not {BEFORE, AFTER}.isdisjoint(said.condition)


def _same_amounts(yes: Statement, no: Statement) -> bool:
    """Return whether what is refused is as much as what is asked for, or any of it."""
    if yes.amounts == no.amounts:
        return True
    return not no.amounts and all(operator in _SOME for operator, _ in yes.amounts)


def _is_other(yes: Statement, no: Statement) -> bool:
    """Return whether what is asked for is another thing, or the same done to another thing."""
    only_verbs = no.content <= everyday().actions and no.content != yes.content
    return only_verbs or _is_compound(yes, no)


def _is_compound(yes: Statement, no: Statement) -> bool:
    """Return whether the refused words are only part of a name: "meat" of "meat substitutes".

    A value of a slot keeps its meaning before other words.
    """
    last = next((word for word in reversed(no.order) if word), "")
    if "=" in last:
        return False
    extra = yes.content - no.content - everyday().contrasts.keys()
    return any(first == last and second in extra for first, second in pairwise(yes.order))


def _apart(a: Statement, b: Statement) -> str:
    """Compare two wishes that differ by two values of one slot, or by two opposites."""
    if a.amounts != b.amounts:
        return ""
    ours, theirs = a.all - b.all, b.all - a.all
    shared = (a.all | a.topics) & (b.all | b.topics)
    for x, y in product(sorted(ours), sorted(theirs)):
        if not _exclude(x, y) or ((x in a.place or y in b.place) and _is_place(x)):
            continue
        rest = (ours | theirs) - {x, y} - _actions(a, b)
        narrows = rest & (a.place | b.place | a.unknown | b.unknown)
        if not rest or (shared and len(rest) == 1 and not narrows):
            return f"they exclude each other: {min(x, y)} and {max(x, y)}"
    return ""


def _actions(a: Statement, b: Statement) -> frozenset[str]:
    """Return the verbs that make no difference: "book" and "find" a window seat."""
    return everyday().actions - a.place - b.place


def _exclude(x: str, y: str) -> bool:
    """Return whether two words are opposites, or values of which a slot holds one."""
    contrasts = everyday().contrasts
    if x in contrasts and y in contrasts:
        (group, side), (other_group, other_side) = contrasts[x], contrasts[y]
        if group == other_group and side != other_side:
            return True
    (name, _, value), (other_name, _, other) = x.partition("="), y.partition("=")
    slot = vocabulary().slots.get(name)
    if name != other_name or slot is None or not value or not other:
        return False
    if frozenset((value, other)) in slot.opposites:
        return True
    return not slot.many and slot.implies.get(value) != other and slot.implies.get(other) != value


def _is_place(x: str) -> bool:
    slot = vocabulary().slots.get(x.partition("=")[0])
    return bool(slot and slot.place)


def _other_numbers(a: Statement, b: Statement) -> str:
    differ = a.all ^ b.all
    if len(a.amounts) != 1 or len(b.amounts) != 1 or not differ <= _actions(a, b):
        return ""
    if not (a.all <= b.all or b.all <= a.all):
        return ""
    one, other = interval(*a.amounts[0]), interval(*b.amounts[0])
    if one and other and one.unit == other.unit and one.is_disjoint(other):
        return f"the numbers exclude each other: {a.amounts[0][1]} and {b.amounts[0][1]}"
    return ""
