"""What callers of `rules` pass as MAPs: rules, extractions, texts and options."""

from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sidecypher import Deadline, Description, Options
from sidecypher_procedures.names import LONGEST_NAME, Id, Name
from sidecypher_procedures.paging import TimePage
from sidecypher_procedures.rules.detector.comparison import Reading, read_parts, read_text
from sidecypher_procedures.rules.detector.values import OPERATORS
from sidecypher_procedures.rules.errors import InvalidArgument
from sidecypher_procedures.rules.model import (
    SCOPE_KINDS,
    SNIPPET_CHARACTERS,
    Marker,
    Method,
    Scope,
    ScopeKind,
    Source,
    StatedRule,
    Strategy,
    ends_early,
)
from sidecypher_procedures.rules.store import normal_name

_MOST_IDS: Final = 100
_MOST_FINDINGS: Final = 1000
_LONGEST_TEXT: Final = 1000
_LONGEST_SAID: Final = 100_000
_LONGEST_PROMPT: Final = 1_000_000
# Bytes of value, and of all that the index on (user, scope, scopeId, slot, value) has of a rule; no
# entry of an index of Neo4j is larger than 8 KiB.
_LONGEST_VALUE: Final = 4000
_LONGEST_ENTRY: Final = 7500
_MOST_ROWS: Final = 10_000
_SHARE_OF_CALL: Final = 0.8

_User = Annotated[Name, Field(min_length=1), Description("id of the user")]
_Required = Annotated[Name, Field(min_length=1)]
_RuleText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_TEXT)]
_Said = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_SAID)]
_Prompt = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_PROMPT)]


def scope_of(user: str, kind: ScopeKind, identifier: str, session: str = "") -> Scope:
    """Return a scope; one of a session without an id is that of `session`.

    Raises:
        ValueError: There is no such kind, or it lacks an id or has one too many.
    """
    if kind not in SCOPE_KINDS:
        raise ValueError(f"the kinds of scopes are {', '.join(SCOPE_KINDS)}")
    identifier = identifier or (session if kind == "session" else "")
    if kind == "global" and identifier:
        raise ValueError("a global scope has no `scopeId`; leave one of the two out")
    if kind != "global" and not identifier:
        raise ValueError(f"a scope for a {kind} lacks `scopeId`; give it")
    return Scope(user, kind, identifier)


def scope_argument(user: str, kind: ScopeKind, identifier: str) -> Scope:
    """Check userId, scope and scopeId that are arguments themselves.

    Raises:
        InvalidArgument: There is no user, or the scope lacks an id or has one too many.
    """
    user, identifier = user.strip(), identifier.strip()
    if not 0 < len(user) <= LONGEST_NAME or len(identifier) > LONGEST_NAME:
        raise InvalidArgument(
            "The `userId` or the `scopeId` has no characters, or too many",
            hint=f"Give 1 to {LONGEST_NAME}.",
        )
    try:
        return scope_of(user, kind, identifier)
    except ValueError as error:
        raise InvalidArgument(f"The `scope` cannot be used: {error}") from None


class _RuleFields(Options):
    text: Annotated[_RuleText, Description("what the user wants, in words")] = ""
    slot: Annotated[Name, Description("what it is about, such as `tone`, with `value`")] = ""
    value: Annotated[Name, Description("what is wanted of it, with `slot`")] = ""
    object: Annotated[Name, Description("what the slot is meant for, with `slot`")] = ""
    operator: Annotated[Name, Description("how the value is meant, with `slot`")] = ""
    polarity: Annotated[
        Literal["", "positive", "negative"], Description("whether it is wanted or not")
    ] = ""
    condition: Annotated[Name, Description("when it holds, in words, with `slot`")] = ""
    scope_id: Annotated[Name, Description("id of the project or session")] = ""
    temporal_marker: Annotated[Marker, Description("what it says about time")] = "current"
    since: Annotated[
        datetime | None, Description("when it begins; the time of the transaction by default")
    ] = None
    expires_at: Annotated[datetime | None, Description("when it ends")] = None
    strict: Annotated[bool, Description("whether nothing unconfirmed may override it")] = False
    confirmed: Annotated[bool, Description("whether the user confirmed it")] = False
    confidence: Annotated[
        float | None, Field(ge=0, le=1, allow_inf_nan=False), Description("0 to 1")
    ] = None
    id: Annotated[Name, Description("the id to give it; a new one by default")] = ""

    def in_scope(self, scope: Scope) -> StatedRule:
        """Return the rule that it states.

        Raises:
            ValueError: It contradicts itself, says nothing, or is too long.
        """
        reading = _reading(self)
        if _bytes(reading.value) > _LONGEST_VALUE:
            raise ValueError("it is too long in its normal form; say it in fewer words")
        if _bytes(scope.user, scope.kind, scope.id, reading.slot, reading.value) > _LONGEST_ENTRY:
            raise ValueError(
                "`userId`, `scopeId`, `slot` and `value` are too long together; give at most "
                f"{_LONGEST_ENTRY} bytes of them in their normal form"
            )
        if self.temporal_marker == "future" and self.since is None:
            raise ValueError("a rule of the future lacks `since`; give it")
        if self.since is not None and ends_early(self.since, self.expires_at):
            raise ValueError("it expires before it begins; give a later `expiresAt`")
        return StatedRule(
            scope=scope,
            reading=reading,
            text=self.text or reading.text,
            marker=self.temporal_marker,
            since=self.since,
            expires_at=self.expires_at,
            strict=self.strict,
            confirmed=self.confirmed,
            confidence=self.confidence,
            rule_id=self.id or None,
        )


class RuleInput(_RuleFields):
    """A rule as a caller states it: by `text`, or by `slot` and `value`.

    Example:
        >>> rule = RuleInput(user_id="ann", text="Never use emojis").stated
        >>> rule.scope.kind, rule.marker, rule.reading.polarity
        ('global', 'current', 'negative')
    """

    user_id: _User
    scope: Annotated[ScopeKind, Description("where it holds")] = "global"

    @cached_property
    def stated(self) -> StatedRule:
        """The rule that it states."""
        return self.in_scope(scope_of(self.user_id, self.scope, self.scope_id))

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        _ = self.stated
        return self


class FoundRule(_RuleFields):
    """A rule that was found; it holds in the scope of the input unless it names its own."""

    user_id: Annotated[Name | None, Description("id of the user of the input")] = None
    scope: Annotated[ScopeKind | None, Description("where it holds")] = None

    def within(self, scope: Scope) -> StatedRule:
        """Return the rule that it states within an input of this scope.

        Raises:
            ValueError: It is of another user, or cannot be stated.
        """
        if self.user_id is not None and self.user_id != scope.user:
            raise ValueError("a rule is of another user than the input; leave its `userId` out")
        kind = self.scope or scope.kind
        identifier = self.scope_id or ("" if self.scope else scope.id)
        return self.in_scope(scope_of(scope.user, kind, identifier))


def _bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _reading(rule: _RuleFields) -> Reading:
    """Read what a rule says: from `slot` and `value` if they are there, else from `text`."""
    if rule.polarity == "positive" and rule.temporal_marker == "negated":
        raise ValueError("it is positive and negated at once; leave `polarity` or the marker out")
    negative = rule.temporal_marker == "negated" or rule.polarity == "negative"
    if {"slot", "value"} & rule.model_fields_set:
        return _parts(rule, "negative" if negative else rule.polarity)
    if not rule.text:
        raise ValueError("it says nothing; give `text`, or `slot` and `value`")
    for name in ("object", "operator", "condition"):
        if name in rule.model_fields_set:
            raise ValueError(
                f"it has `{name}` without `slot` and `value`; give them, or only `text`"
            )
    reading = read_text(rule.text)
    if rule.polarity == "positive" and reading.polarity == "negative":
        raise ValueError("it is positive and its `text` says no; leave `polarity` out")
    return replace(reading, polarity="negative") if negative else reading


def _parts(rule: _RuleFields, polarity: str) -> Reading:
    for name, value in (("slot", rule.slot), ("value", rule.value)):
        if not value:
            raise ValueError(f"it lacks `{name}`; give both `slot` and `value`, or only `text`")
    try:
        return read_parts(
            slot=rule.slot,
            value=rule.value,
            object=rule.object,
            operator=rule.operator,
            polarity=polarity,
            condition=rule.condition,
            text=rule.text,
        )
    except ValueError:
        raise ValueError(f"its `operator` is not one of {', '.join(OPERATORS)}") from None


class FoundExtraction(Options):
    """Where what was found comes from."""

    method: Annotated[Method | None, Description("how it was found")] = None
    model: Annotated[Name, Description("the model that found it")] = ""
    raw_snippet: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=SNIPPET_CHARACTERS),
        Description("the text it was found in"),
    ] = ""
    source_span: Annotated[
        list[Annotated[int, Field(ge=0)]] | None,
        Field(min_length=2, max_length=2),
        Description("start and end in that text, in characters"),
    ] = None
    session_id: Annotated[Name, Description("the session it comes from")] = ""
    artifact_id: Annotated[Name, Description("the artifact it comes from")] = ""

    @model_validator(mode="after")
    def _ends_behind_its_start(self) -> Self:
        if self.source_span is not None and self.source_span[1] < self.source_span[0]:
            raise ValueError("`sourceSpan` ends before it starts; give [start, end]")
        return self

    def source(self, method: Method) -> Source:
        """Return where it comes from, by a method unless it names its own."""
        return Source(
            method=self.method or method,
            model=self.model or None,
            raw_snippet=self.raw_snippet or None,
            source_span=self.source_span,
            session_id=self.session_id or None,
            artifact_id=self.artifact_id or None,
        )


class ExtractionInput(FoundExtraction):
    """Where a rule comes from."""

    method: Annotated[Method, Description("how it was found")]

    @cached_property
    def stated(self) -> Source:
        """Where it comes from, with a new id."""
        return self.source(self.method)


def _normal(name: str) -> str:
    if len(normal_name(name)) > LONGEST_NAME:
        raise ValueError("it is too long in its normal form; shorten it")
    return name


ConceptName = Annotated[Name, Field(min_length=1), AfterValidator(_normal)]


class EntityInput(Options):
    """A concept that was found."""

    name: ConceptName


class RelationInput(Options):
    """A relation between two concepts that was found."""

    from_: ConceptName
    type: ConceptName
    to: ConceptName


class SaidInput(Options):
    """A text to remember, or what was found in it."""

    user_id: _User
    scope: Annotated[ScopeKind, Description("where its rules hold")] = "global"
    scope_id: Annotated[Name, Description("id of the project or session")] = ""
    session_id: Annotated[Name, Description("the session it comes from")] = ""
    artifact_id: Annotated[Name, Description("the artifact it comes from")] = ""
    text: Annotated[_Said, Description("what the user said")] = ""
    user_message: Annotated[_Said, Description("what the user said to an assistant")] = ""
    assistant_message: Annotated[_Said, Description("what the assistant said")] = ""
    artifact_delta: Annotated[_Said, Description("what changed in an artifact")] = ""
    entities: Annotated[
        list[EntityInput] | None, Field(max_length=_MOST_FINDINGS), Description("concepts found")
    ] = None
    relations: Annotated[
        list[RelationInput] | None, Field(max_length=_MOST_FINDINGS), Description("relations found")
    ] = None
    rules: Annotated[
        list[FoundRule] | None, Field(max_length=_MOST_FINDINGS), Description("rules found")
    ] = None
    extraction: Annotated[FoundExtraction, Description("where it comes from")] = FoundExtraction()

    @cached_property
    def where(self) -> Scope:
        """Where its rules hold."""
        return scope_of(self.user_id, self.scope, self.scope_id, self.session_id)

    @property
    def texts(self) -> dict[str, str]:
        """What was said, by name."""
        return {
            "text": self.text,
            "userMessage": self.user_message,
            "assistantMessage": self.assistant_message,
            "artifactDelta": self.artifact_delta,
        }

    @property
    def is_found(self) -> bool:
        """Whether what was found comes with it."""
        return any(each is not None for each in (self.entities, self.relations, self.rules))

    @cached_property
    def stated(self) -> list[StatedRule]:
        """The rules that were found."""
        return [rule.within(self.where) for rule in self.rules or ()]

    @cached_property
    def source(self) -> Source:
        """Where it comes from, with a new id."""
        source = self.extraction.source("rule")
        snippet = source.raw_snippet
        if self.is_found or source.source_span is not None:
            # Where it was found, only its finder knows.
            said = "\n".join(filter(None, self.texts.values()))[:SNIPPET_CHARACTERS]
            snippet = snippet or said or None
        return replace(
            source,
            raw_snippet=snippet,
            session_id=self.session_id or source.session_id,
            artifact_id=self.artifact_id or source.artifact_id,
        )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        _ = self.where, self.stated
        if not self.is_found and not any(self.texts.values()):
            raise ValueError(
                "nothing to remember; give a text, or `entities`, `relations` or `rules`"
            )
        return self


class RememberInput(SaidInput):
    """A text to remember, or what was found in it.

    Example:
        >>> RememberInput(user_id="ann", text="Be formal.").where.kind
        'global'
    """

    @model_validator(mode="after")
    def _names_its_method(self) -> Self:
        method = self.extraction.method
        if self.is_found and method is None:
            raise ValueError("what was found lacks the `method` of its `extraction`; give it")
        if not self.is_found and method not in {None, "rule"}:
            raise ValueError(
                "it has another `method` than `rule` and nothing found by it; give `entities`, "
                "`relations` or `rules`, or leave the method out"
            )
        return self


class TextInput(SaidInput):
    """A text in which an extractor of the caller is to find something."""

    @model_validator(mode="after")
    def _holds_nothing_found(self) -> Self:
        if self.is_found:
            raise ValueError("it has an extractor and what was found already; give one of them")
        return self


class ContextInput(Options):
    """What a context is asked for.

    Example:
        >>> ContextInput(user_id="ann", prompt="Go on").prompt
        'Go on'
    """

    user_id: _User
    session_id: Annotated[Name, Description("the session that the user is in")] = ""
    project_id: Annotated[Name, Description("the project that the user is in")] = ""
    prompt: Annotated[_Prompt, Description("what the user has just said")] = ""
    artifact_text: Annotated[_Prompt, Description("what is being written")] = ""
    chunk_ids: Annotated[
        list[str],
        Field(max_length=_MOST_IDS),
        Description("extractions and artifacts that a vector store proposes, the best first"),
    ] = []
    entity_ids: Annotated[
        list[str],
        Field(max_length=_MOST_IDS),
        Description("concepts that the caller knows to matter, the best first"),
    ] = []


class JudgementInput(Options):
    """What a model suspects about two rules."""

    other_id: Annotated[_Required, Description("the other rule")]
    score: Annotated[
        float, Field(ge=0, le=1, allow_inf_nan=False), Description("how sure it is, 0 to 1")
    ]
    model: Annotated[_Required, Description("which model it is")]
    reason: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=500),
        Description("why, in words"),
    ] = ""


class LimitOptions(Options):
    """How many rows are wanted."""

    limit: Annotated[int, Field(ge=1, le=_MOST_ROWS), Description("rows at most")] = _MOST_ROWS


class PageOptions(LimitOptions):
    """Which rows are wanted."""

    cursor: Annotated[
        Id | None, Description("only rows behind that of this rule, such as the last row you have")
    ] = None


class Question(LimitOptions):
    """Which rule a model is asked about."""

    rule_id: _Required


class SearchInput(Options):
    """What is searched for, and whose."""

    user_id: _User
    query: _Said
    most: Annotated[int, Field(ge=1, le=50), Description("things to find at most")]


class MomentOptions(Options):
    """When and how rules are selected."""

    now: Annotated[
        datetime | None,
        Description("when rules must hold; the time of the transaction by default"),
    ] = None
    strategy: Annotated[
        Strategy | None,
        Description("which of two unconfirmed rules wins; that of the settings by default"),
    ] = None


class ReadOptions(MomentOptions):
    """When and how rules are read."""

    known: Annotated[
        datetime | None, Description("only what was recorded by then; everything by default")
    ] = None


class CheckOptions(PageOptions):
    """How a rule is compared."""

    now: Annotated[
        datetime | None, Description("when it begins; the time of the transaction by default")
    ] = None


class HistoryOptions(TimePage, LimitOptions):
    """Which rows of a list in the order of time are wanted."""

    @property
    def page(self) -> dict[str, Any]:
        """The parameters of a statement that lists the earliest first."""
        return {**self.after, "limit": self.limit}


class ContradictionsOptions(HistoryOptions):
    """Which contradictions are wanted."""

    known: Annotated[
        datetime | None, Description("only those recorded by then; all by default")
    ] = None


_Project = Annotated[Name, Description("the project that a session's reader is in")]


class ActiveOptions(ReadOptions, PageOptions):
    """Which rules are wanted."""

    project_id: _Project = ""


class ContextOptions(ReadOptions, LimitOptions):
    """How a context is read."""

    deadline_ms: Annotated[
        int | None,
        Field(ge=1, le=3_600_000),
        Description("milliseconds after which reading ends; the call's own time by default"),
    ] = None

    def deadline(self, of_call: Deadline) -> Deadline:
        """Return when to stop reading, some time before the call itself must have answered."""
        seconds = of_call.remaining() * _SHARE_OF_CALL
        return Deadline.after(
            seconds if self.deadline_ms is None else min(seconds, self.deadline_ms / 1000)
        )


class ExplainOptions(ReadOptions):
    """To whom a rule is explained."""

    scope: Annotated[
        ScopeKind | None, Description("where its reader is; in its own scope by default")
    ] = None
    scope_id: Annotated[Name, Description("id of the project or session of the reader")] = ""
    project_id: _Project = ""
