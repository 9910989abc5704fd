"""`rules.remember`: what a text or an extractor says, and all that is written of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Literal, Self

from sidecypher import Context
from sidecypher_procedures.rules.changes import Written, state_rule
from sidecypher_procedures.rules.extractor import Entity, Extracted, Relation, Statement, extract
from sidecypher_procedures.rules.model import (
    SNIPPET_CHARACTERS,
    Lock,
    Scope,
    Source,
    StatedRule,
    lock_all,
)
from sidecypher_procedures.rules.options import RelationInput, RememberInput
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.store import (
    Concept,
    Fact,
    write_concepts,
    write_extraction,
    write_facts,
)

OWN_WORDS: Final = ("text", "userMessage")
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
class ExtractedTexts:
    """What was found in texts.

    Attributes:
        left_out: What is not written of them.
        snippet: The part of the texts that says it.
        span: Its first place in the snippet, and the one behind its last.
    """

    concepts: list[Concept] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    rules: list[StatedRule] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    snippet: str = ""
    span: Span | None = None


def listen(scope: Scope, texts: Mapping[str, str]) -> ExtractedTexts:
    """Find concepts, facts and rules in texts, without a model.

    Only what the user said gives rules; every text gives concepts and facts. Texts are named by
    the keys of the input of `rules.remember`.
    """
    heard, said = ExtractedTexts(), ""
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


def _note(heard: ExtractedTexts, user: str, found: Extracted, *, own: bool) -> None:
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


def _rule(scope: Scope, found: Statement) -> StatedRule:
    return StatedRule(
        scope=scope,
        reading=found.reading,
        text=found.text,
        marker=found.temporal_marker,
        confidence=found.confidence,
    )


@dataclass(frozen=True, slots=True)
class Findings:
    """What is to be remembered, all of one user and from one extraction."""

    user: str
    extraction: Source
    concepts: list[Concept]
    facts: list[Fact]
    rules: list[StatedRule]
    left_out: list[LeftOut] = field(default_factory=list)

    @classmethod
    def of(cls, given: RememberInput) -> Self:
        """Return what comes with the input, or is found in its texts."""
        scope, source = given.where, given.source
        if given.is_found:
            user = scope.user
            concepts = [Concept(user, each.name) for each in given.entities or ()]
            facts = [_fact(user, each) for each in given.relations or ()]
            return cls(user, source, concepts, facts, given.stated)
        heard = listen(scope, given.texts)
        if source.raw_snippet is None:
            # The part of the texts that it rests on.
            span = None if heard.span is None else list(heard.span)
            source = replace(source, raw_snippet=heard.snippet or None, source_span=span)
        return cls(scope.user, source, heard.concepts, heard.facts, heard.rules, heard.left_out)

    @property
    def all_concepts(self) -> list[Concept]:
        """The concepts, with those that only facts name."""
        ends = [end for fact in self.facts for end in (fact.source, fact.target)]
        return [*self.concepts, *ends]


def _fact(user: str, found: RelationInput) -> Fact:
    kind = "_".join(found.type.upper().replace("-", " ").replace("_", " ").split())
    return Fact(Concept(user, found.from_), kind, Concept(user, found.to))


Choose = Callable[[datetime], Moment]
"""Gives the moment for the time of a transaction."""

_STEP: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Remembered:
    """Keys of concepts, ids of facts, rules in the order of the input, locks of their scopes."""

    concepts: list[str]
    facts: list[str]
    rules: list[Written]
    held: dict[Scope, Lock]


def remember(ctx: Context, findings: Findings, choose: Choose) -> Remembered:
    """Write an extraction with its concepts, facts and rules.

    Every writer takes its locks in one order: scopes, then concepts, each by their keys.

    Raises:
        RuleTaken: A rule asks for an id that is another rule's.
    """
    held = lock_all(ctx, [rule.scope for rule in findings.rules])
    extraction = findings.extraction
    write_extraction(ctx, findings.user, extraction)
    concepts = write_concepts(
        ctx,
        findings.user,
        findings.all_concepts,
        extraction.extraction_id,
        extraction.artifact_id,
    )
    facts = write_facts(ctx, findings.user, findings.facts, extraction.extraction_id)
    rules = _state_rules(ctx, findings, held, choose)
    return Remembered(concepts, facts, rules, held)


def _state_rules(
    ctx: Context, findings: Findings, held: dict[Scope, Lock], choose: Choose
) -> list[Written]:
    """State the rules one after the other: what a text says last is the most recent."""
    written = []
    for place, rule in enumerate(findings.rules):
        lock = held[rule.scope]
        moment = choose(lock.now)
        since = rule.since or moment.now - _STEP * (len(findings.rules) - 1 - place)
        written.append(
            state_rule(
                ctx,
                replace(rule, since=since),
                findings.extraction,
                replace(lock, recorded_at=lock.recorded_at + _STEP * place),
                moment,
            )
        )
    return written
