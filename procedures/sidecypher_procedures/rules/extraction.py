"""`rules.remember`: findings of a text or an extractor, and writing them."""

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
    Replacement,
    end_facts,
    fact_type,
    write_concepts,
    write_extraction,
    write_facts,
)

USER_TEXTS: Final = ("text", "userMessage")
_BETWEEN: Final = " ... "

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A finding that is not written.

    Attributes:
        text: Its text; None for everything beyond a limit.
        reason: ``future`` for a rule of the future, since no reliable date can be read from text;
            ``limit`` for findings beyond the limits of the extractor.
    """

    text: str | None
    reason: Literal["future", "limit"]


@dataclass(slots=True)
class ExtractedTexts:
    """Findings in texts.

    Attributes:
        left_out: Findings that are not written.
        snippet: The part of the texts that has the findings.
        span: Start and end of the findings in the snippet; the end is exclusive.
    """

    concepts: list[Concept] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    rules: list[StatedRule] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    snippet: str = ""
    span: Span | None = None


def find_in_texts(scope: Scope, texts: Mapping[str, str]) -> ExtractedTexts:
    """Find concepts, facts and rules in texts, without a model.

    Rules are read from the user's own texts only, concepts and facts from every text. Texts are
    named by the keys of the input of `rules.remember`.
    """
    result, joined = ExtractedTexts(), ""
    of_rules: list[Span] = []
    of_facts: list[Span] = []
    of_names: list[Span] = []
    for name, text in texts.items():
        if not text:
            continue
        joined = f"{joined}\n{text}" if joined else text
        place = len(joined) - len(text)
        found = extract(text)
        if name in USER_TEXTS:
            stated = [each for each in found.rules if each.temporal_marker != "future"]
            result.rules += [_rule(scope, each) for each in stated]
            of_rules += _shifted(stated, place)
        _add_findings(result, scope.user, found, own=name in USER_TEXTS)
        of_facts += _shifted(found.relations, place)
        of_names += _shifted(found.entities, place)
    result.snippet, result.span = excerpt(joined, of_rules or of_facts or of_names)
    return result


def excerpt(text: str, spans: Sequence[Span]) -> tuple[str, Span | None]:
    """Return the part of a text around some spans, and the range of the spans in that part.

    If the spans are too far apart for one snippet, as many of them as fit are joined without the
    text between them.

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


def _add_findings(result: ExtractedTexts, user: str, found: Extracted, *, own: bool) -> None:
    """Add the concepts and facts of a text, and the findings that are left out."""
    result.concepts += [Concept(user, each.name) for each in found.entities]
    result.facts += [
        Fact(Concept(user, each.source), each.type, Concept(user, each.target))
        for each in found.relations
    ]
    if own:
        result.left_out += [
            LeftOut(each.text, "future") for each in found.rules if each.temporal_marker == "future"
        ]
    if found.truncated:
        result.left_out.append(LeftOut(None, "limit"))


def _shifted(found: Sequence[Statement | Relation | Entity], place: int) -> list[Span]:
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
    """Findings to write, all of one user and from one extraction."""

    user: str
    extraction: Source
    concepts: list[Concept]
    facts: list[Fact]
    rules: list[StatedRule]
    left_out: list[LeftOut] = field(default_factory=list)
    ended: list[Fact] = field(default_factory=list)
    replacing: list[Replacement] = field(default_factory=list)

    @classmethod
    def of(cls, given: RememberInput) -> Self:
        """Return the findings in the input, or those found in its texts."""
        scope, source = given.where, given.source
        if given.is_found:
            user = scope.user
            concepts = [Concept(user, each.name) for each in given.entities or ()]
            related = [(each, _fact(user, each)) for each in given.relations or ()]
            return cls(
                user,
                source,
                concepts,
                facts=[fact for each, fact in related if not each.ended],
                rules=given.stated,
                ended=[fact for each, fact in related if each.ended],
                replacing=[
                    Replacement(fact, [later.fact_id for _, later in related[place:]])
                    for place, (each, fact) in enumerate(related)
                    if each.replaces
                ],
            )
        result = find_in_texts(scope, given.texts)
        if source.raw_snippet is None:
            # The part of the texts that has the findings.
            span = None if result.span is None else list(result.span)
            source = replace(source, raw_snippet=result.snippet or None, source_span=span)
        return cls(scope.user, source, result.concepts, result.facts, result.rules, result.left_out)

    @property
    def all_concepts(self) -> list[Concept]:
        """The concepts, including the ends of facts."""
        facts = [*self.facts, *self.ended]
        ends = [end for fact in facts for end in (fact.source, fact.target)]
        return [*self.concepts, *ends]


def _fact(user: str, found: RelationInput) -> Fact:
    return Fact(Concept(user, found.from_), fact_type(found.type), Concept(user, found.to))


MomentOf = Callable[[datetime], Moment]
"""Function that returns the moment for the time of a transaction."""

_STEP: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Remembered:
    """Keys of concepts, ids of facts, rules in input order, and the locks of their scopes.

    Attributes:
        ended: Ids of facts that hold no longer.
    """

    concepts: list[str]
    facts: list[str]
    ended: list[str]
    rules: list[Written]
    held: dict[Scope, Lock]


def remember(ctx: Context, findings: Findings, moment_of: MomentOf) -> Remembered:
    """Write an extraction with its concepts, facts and rules.

    Every writer locks in the same order: scopes, then concepts, each by key.

    Raises:
        RuleTaken: The id of a rule belongs to another rule.
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
    ended = end_facts(ctx, findings.ended, findings.replacing, extraction.extraction_id)
    rules = _state_rules(ctx, findings, held, moment_of)
    return Remembered(concepts, facts, ended, rules, held)


def _state_rules(
    ctx: Context, findings: Findings, held: dict[Scope, Lock], moment_of: MomentOf
) -> list[Written]:
    """State the rules one after the other, so that the last one in a text is the most recent."""
    written = []
    for place, rule in enumerate(findings.rules):
        lock = held[rule.scope]
        moment = moment_of(lock.now)
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
