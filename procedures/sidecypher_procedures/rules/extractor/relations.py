"""Relations between names, told by a few verbs that leave little doubt."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sidecypher_procedures.rules.extractor.names import Mention
from sidecypher_procedures.rules.extractor.segments import Segment

# In this order: "is a part of" is told before "is a".
_TYPES = {
    "PART_OF": r"is (?:a )?part of|is a (?:component|module|member) of|belongs to",
    "USES": r"uses?|makes? use of|is using",
    "DEPENDS_ON": r"depends? on|relies on|rely on|requires?|needs?",
    "WORKS_AT": r"works? (?:at|for)|is employed (?:at|by)",
    "WRITTEN_IN": r"is (?:written|implemented|built|coded) in",
    "BASED_ON": r"is (?:based|built) on",
    "RUNS_ON": r"runs? on|is deployed (?:on|to)|is hosted (?:on|at)",
    "LOCATED_IN": r"is (?:located|based|situated) in|lives? in",
    "CREATED_BY": r"(?:is|was) (?:created|written|made|developed|built|founded|maintained) by",
    "OWNED_BY": r"is owned by|is run by",
    "CREATED": r"created|wrote|founded|developed|invented|designed",
    "MANAGES": r"manages?|leads?|maintains?|owns?",
    "REPORTS_TO": r"reports? to",
    "EXTENDS": r"extends?|inherits? from|subclasses",
    "IMPLEMENTS": r"implements?",
    "CALLS": r"calls?|invokes?",
    "IMPORTS": r"imports?",
    "CONTAINS": r"contains?|includes?|consists of",
    "REPLACES": r"replaces?|supersedes?",
    "CONNECTS_TO": r"connects? to|talks? to|integrates? with",
    "KNOWN_AS": r"is (?:also )?(?:known|called) as|is also called|stands for",
    "IS_A": r"is an?|are|is the",
}
_VERB = re.compile(
    r"(?:(?:also|now|currently|mainly|still|always|usually) )?(?:"
    + "|".join(f"(?P<{name}>{verbs})" for name, verbs in _TYPES.items())
    + r")\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the|our|its|their)\s+", re.IGNORECASE)
_KIND = re.compile(r"[^\W\d_][\w-]{1,30}(?: [^\W\d_][\w-]{1,30}){0,3}")
_KIND_END = frozenset(
    "that which who for with of in on at to from and or but by as is are was when where we".split()
)
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|maybe|perhaps|might|could|would|suppose|imagine|should|not|never)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """Two names and what the first is to the second.

    Attributes:
        source: The name that the relation starts at.
        type: In capitals with underscores, such as `DEPENDS_ON`.
        target: The name that it ends at.
        span: First place of the whole statement in the text, and the one behind it.
    """

    source: str
    type: str
    target: str
    span: tuple[int, int]


def relations(segment: Segment, found: Sequence[Mention]) -> Iterator[Relation]:
    """Give the relations that one sentence states as a fact, from name to adjacent name.

    Questions, conditions, wishes and negations state no fact.

    Args:
        segment: The sentence.
        found: Names of the whole text, in order.

    Example:
        >>> sentence = Segment("Ada works at Acme", 0, question=False)
        >>> names = [Mention("Ada", (0, 3), sure=False), Mention("Acme", (13, 17), sure=False)]
        >>> [(each.source, each.type, each.target) for each in relations(sentence, names)]
        [('Ada', 'WORKS_AT', 'Acme')]
    """
    if segment.question:
        return
    first = bisect_left(found, segment.start, key=lambda each: each.span[0])
    for place in range(first, len(found)):
        source = found[place]
        if source.span[1] > segment.end:
            break
        relation = _from(segment, source, found, place + 1)
        if relation and not _DOUBT.search(segment.text, 0, source.span[0] - segment.start):
            yield relation


def _from(
    segment: Segment, source: Mention, found: Sequence[Mention], following: int
) -> Relation | None:
    text, begin = segment.text, segment.start
    start = _behind(text, source.span[1] - begin)
    if start is None:
        return None
    verb = _VERB.match(text, start)
    if verb is None:
        return None
    kind = str(verb.lastgroup)
    place = verb.end()
    while place < len(text) and text[place] in ' `"\u201c':
        place += 1
    article = _ARTICLE.match(text, place)
    if article:
        place = article.end()
    target = _target(segment, place, found[following : following + 2], kind)
    if target is None or target.name.casefold() == source.name.casefold():
        return None
    return Relation(source.name, kind, target.name, (source.span[0], target.span[1]))


def _behind(text: str, end: int) -> int | None:
    """Give the place of the next word, when only a closing mark and white space come before it."""
    place = end
    while place < len(text) and text[place] in '`"\u201d ':
        place += 1
    return place if place > end and text[place - 1] == " " else None


def _target(
    segment: Segment, place: int, following: Sequence[Mention], kind: str
) -> Mention | None:
    """Give the name at a place of the sentence; what something is may be a common noun."""
    text, begin = segment.text, segment.start
    for mention in following:
        start = mention.span[0] - begin
        if start >= place and not text[place:start].strip(' `"\u201c'):
            return mention
    if kind != "IS_A":
        return None
    phrase = _KIND.match(text, place)
    words = phrase[0].split() if phrase else []
    end = next((i for i, word in enumerate(words) if word.casefold() in _KIND_END), len(words))
    name = " ".join(words[:end])
    span = (begin + place, begin + place + len(name))
    return Mention(name, span, sure=True) if name else None
