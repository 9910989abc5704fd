"""What a text says: rules, names and relations, each with its place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from sidecypher_procedures.rules.extractor.names import Mention, mentions
from sidecypher_procedures.rules.extractor.relations import Relation, relations
from sidecypher_procedures.rules.extractor.segments import segments
from sidecypher_procedures.rules.extractor.statements import Statement, statements

MAX_CHARACTERS: Final = 100_000
MAX_FOUND: Final = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, as written where it is met first.

    Attributes:
        span: Its first place in the whole text, and the one behind it.
    """

    name: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was found in one text, in the order of the text.

    Attributes:
        truncated: Whether a limit left something out: the text beyond 100,000 characters, or more
            than 500 of one kind.
    """

    rules: tuple[Statement, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    truncated: bool = False


def extract(text: str) -> Extracted:
    """Read a text by patterns; it is data whatever it says, and nothing in it is followed.

    Args:
        text: Any text; what is beyond 100,000 characters is not read.

    Returns:
        Lasting preferences as rules, names, and relations between names. A wish for this one time
        ("write a formal letter") is no rule.

    Example:
        >>> found = extract("Always use tabs. Ada Lovelace works at Acme.")
        >>> found.rules[0].reading.value, found.relations[0].type
        ('tabs', 'WORKS_AT')
    """
    kept = text[:MAX_CHARACTERS]
    sentences = list(segments(kept))
    names = mentions(kept)
    rules, more_rules = _some(each for sentence in sentences for each in statements(sentence))
    facts, more_facts = _some(each for sentence in sentences for each in relations(sentence, names))
    ends = {name for fact in facts for name in (fact.source, fact.target)}
    entities, more_entities = _some(_entities(names, facts, ends))
    more = more_rules or more_facts or more_entities or len(kept) < len(text)
    return Extracted(rules, entities, facts, truncated=more)


def _some(found: Iterator[T]) -> tuple[tuple[T, ...], bool]:
    """Return so many as a text may give, and whether there are more."""
    some = tuple(islice(found, MAX_FOUND))
    return some, next(found, None) is not None


def _entities(
    names: Sequence[Mention], facts: Iterable[Relation], ends: set[str]
) -> Iterator[Entity]:
    """Give each name once: those that are sure, and those at an end of a relation."""
    seen: set[str] = set()
    written = {each.name for each in names}
    kinds = [
        Mention(fact.target, (fact.span[1] - len(fact.target), fact.span[1]), sure=True)
        for fact in facts
        if fact.target not in written
    ]
    for each in sorted([*names, *kinds], key=lambda one: one.span):
        if (each.sure or each.name in ends) and each.name.casefold() not in seen:
            seen.add(each.name.casefold())
            yield Entity(each.name, each.span)
