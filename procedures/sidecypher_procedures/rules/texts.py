"""What the built-in extractor finds in what was said, and the part of it that is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from sidecypher_procedures.rules.concepts import Concept, Fact
from sidecypher_procedures.rules.extractor import Entity, Extracted, Relation, Statement, extract
from sidecypher_procedures.rules.inputs import SNIPPET_CHARACTERS, RuleInput
from sidecypher_procedures.rules.model import Scope

OWN_WORDS: Final = ("text", "userMessage")
OTHER_WORDS: Final = ("assistantMessage", "artifactDelta")
_BETWEEN: Final = " ... "

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a text says and is not written.

    Attributes:
        text: What it says; None for all that is behind what a limit let through.
        reason: ``future`` for a rule that is to hold later, since no text says a date that could
            be relied on; ``limit`` where there was more than the extractor takes.
    """

    text: str | None
    reason: Literal["future", "limit"]


@dataclass(slots=True)
class Heard:
    """What was found in texts.

    Attributes:
        concepts: What they are about.
        facts: How these are related.
        rules: What the user wants.
        left_out: What is not written of them.
        snippet: The part of the texts that says it.
        span: Its first place in the snippet, and the one behind its last.
    """

    concepts: list[Concept] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    rules: list[RuleInput] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    snippet: str = ""
    span: Span | None = None


def listen(scope: Scope, texts: Mapping[str, str]) -> Heard:
    """Find concepts, facts and rules in texts, without a model.

    Only what the user said gives rules; every text gives concepts and facts.

    Args:
        scope: Who said it, and where the rules in it hold.
        texts: What was said, by the keys of the input of `rules.remember`.
    """
    heard, said = Heard(), ""
    of_rules: list[Span] = []
    of_facts: list[Span] = []
    of_names: list[Span] = []
    for name, text in texts.items():
        if not text:
            continue
        said = f"{said}\n{text}" if said else text
        place = len(said) - len(text)
        found = extract(text)
        if name in OWN_WORDS:
            stated = [each for each in found.rules if each.temporal_marker != "future"]
            heard.rules += [_rule(scope, each) for each in stated]
            of_rules += _moved(stated, place)
        _note(heard, scope.user, found, own=name in OWN_WORDS)
        of_facts += _moved(found.relations, place)
        of_names += _moved(found.entities, place)
    heard.snippet, heard.span = excerpt(said, of_rules or of_facts or of_names)
    return heard


def excerpt(text: str, spans: Sequence[Span]) -> tuple[str, Span | None]:
    """Return the part of a text that has some places in it, and where in that part they are.

    Of a long text it is what is around them; where they lie too far apart, as many of them as there
    is room for, without what is between.

    Example:
        >>> excerpt("x" * 2000 + "Use tabs.", [(2000, 2008)])[1]
        (991, 999)
    """
    if not spans:
        return text[:SNIPPET_CHARACTERS], None
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    room = SNIPPET_CHARACTERS - (last - first)
    if room < 0:
        pieces = _BETWEEN.join(text[start:end] for start, end in spans)[:SNIPPET_CHARACTERS]
        return pieces, (0, len(pieces))
    begin = max(0, min(first - room // 2, len(text) - SNIPPET_CHARACTERS))
    return text[begin : begin + SNIPPET_CHARACTERS], (first - begin, last - begin)


def _note(heard: Heard, user: str, found: Extracted, *, own: bool) -> None:
    """Add what any text gives, and what is left out of it."""
    heard.concepts += [Concept(user, each.name) for each in found.entities]
    heard.facts += [
        Fact(Concept(user, each.source), each.type, Concept(user, each.target))
        for each in found.relations
    ]
    if own:
        heard.left_out += [
            LeftOut(each.text, "future") for each in found.rules if each.temporal_marker == "future"
        ]
    if found.truncated:
        heard.left_out.append(LeftOut(None, "limit"))


def _moved(found: Sequence[Statement | Relation | Entity], place: int) -> list[Span]:
    return [(each.span[0] + place, each.span[1] + place) for each in found]


def _rule(scope: Scope, found: Statement) -> RuleInput:
    return RuleInput(
        scope=scope,
        reading=found.reading,
        text=found.text,
        marker=found.temporal_marker,
        since=None,
        expires_at=None,
        strict=False,
        confirmed=False,
        confidence=found.confidence,
        rule_id=None,
    )
