"""MAP arguments of the `rules` procedures: rules, extractions, texts and options."""

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
# Most bytes of a value, and of an entry in the index on (user, scope, scopeId, slot, value). Neo4j
# limits entries of an index to 8 KiB.
_LONGEST_VALUE: Final = 4000
_LONGEST_ENTRY: Final = 7500
LONGEST_QUERY: Final = 10_000
_MOST_ROWS: Final = 10_000
_SHARE_OF_CALL: Final = 0.8

_User = Annotated[Name, Field(min_length=1), Description("id of the user")]
_Required = Annotated[Name, Field(min_length=1)]
_RuleText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_TEXT)]
_LongText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_SAID)]
_Prompt = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_PROMPT)]


def scope_of(user: str, kind: ScopeKind, identifier: str, session: str = "") -> Scope:
    """Return a scope; a session scope without an id uses `session`.

    Raises:
        ValueError: The kind is unknown, or the scope lacks an id or must not have one.
    """
    if kind not in SCOPE_KINDS:
        raise ValueError(f"the kinds of scopes are {', '.join(SCOPE_KINDS)}")
    identifier = identifier or (session if kind == "session" else "")
    if kind == "global" and identifier:
        raise ValueError("a global scope has no `scopeId`; leave one of the two out")
    if kind != "global" and not identifier:
        raise ValueError(f"a scope for a {kind} lacks `scopeId`; give it")
    return Scope(user, kind, identifier)


def text_argument(name: str, value: str, most: int = LONGEST_NAME) -> str:
    """Return an argument without the space around it.

    Raises:
        InvalidArgument: It has no characters, or more than `most`.
    """
    value = value.strip()
    if not 0 < len(value) <= most:
        raise InvalidArgument(
            f"The `{name}` has no characters, or too many", hint=f"Give 1 to {most}."
        )
    return value


def scope_argument(user: str, kind: ScopeKind, identifier: str) -> Scope:
    """Return the scope of the arguments userId, scope and scopeId.

    Raises:
        InvalidArgument: There is no user, or the scope lacks an id or must not have one.
    """
    user = text_argument("userId", user)
    identifier = text_argument("scopeId", identifier) if identifier.strip() else ""
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
    scope_id: Annotated[Name, Description("id of the agent, project or session")] = ""
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
        """Return the stated rule in a scope.

        Raises:
            ValueError: The fields contradict each other, are empty, or are too long.
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
    """A rule as a caller states it, with `text` or with `slot` and `value`.

    Example:
        >>> rule = RuleInput(user_id="ann", text="Never use emojis").stated
        >>> rule.scope.kind, rule.marker, rule.reading.polarity
        ('global', 'current', 'negative')
    """

    user_id: _User
    scope: Annotated[ScopeKind, Description("where it holds")] = "global"

    @cached_property
    def stated(self) -> StatedRule:
        """The stated rule."""
        return self.in_scope(scope_of(self.user_id, self.scope, self.scope_id))

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        _ = self.stated
        return self


class FoundRule(_RuleFields):
    """A rule found by an extractor, in the scope of the input unless it has its own scope."""

    user_id: Annotated[Name | None, Description("id of the user of the input")] = None
    scope: Annotated[ScopeKind | None, Description("where it holds")] = None

    def within(self, scope: Scope) -> StatedRule:
        """Return the stated rule within an input of this scope.

        Raises:
            ValueError: It has another user, or is invalid.
        """
        if self.user_id is not None and self.user_id != scope.user:
            raise ValueError("a rule is of another user than the input; leave its `userId` out")
        kind = self.scope or scope.kind
        identifier = self.scope_id or ("" if self.scope else scope.id)
        return self.in_scope(scope_of(scope.user, kind, identifier))


def _bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _reading(rule: _RuleFields) -> Reading:
    """Return the reading of a rule: from `slot` and `value` if given, else from `text`."""
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
    """The source of findings."""

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
        """Return the source, with `method` as the default."""
        return Source(
            method=self.method or method,
            model=self.model or None,
            raw_snippet=self.raw_snippet or None,
            source_span=self.source_span,
            session_id=self.session_id or None,
            artifact_id=self.artifact_id or None,
        )


class ExtractionInput(FoundExtraction):
    """The source of a rule."""

    method: Annotated[Method, Description("how it was found")]

    @cached_property
    def stated(self) -> Source:
        """The source, with a new id."""
        return self.source(self.method)


def _normal(name: str) -> str:
    if len(normal_name(name)) > LONGEST_NAME:
        raise ValueError("it is too long in its normal form; shorten it")
    return name


ConceptName = Annotated[Name, Field(min_length=1), AfterValidator(_normal)]


class EntityInput(Options):
    """A concept found by an extractor."""

    name: ConceptName


class RelationInput(Options):
    """A relation between two concepts, found by an extractor."""

    from_: ConceptName
    type: ConceptName
    to: ConceptName
    replaces: Annotated[
        bool, Description("whether it ends the others of its `from` and `type`")
    ] = False
    ended: Annotated[bool, Description("whether it holds no longer")] = False

    @model_validator(mode="after")
    def _holds_or_has_ended(self) -> Self:
        if self.replaces and self.ended:
            raise ValueError("it has ended and replaces others; leave one of the two out")
        return self


class SaidInput(Options):
    """A text to remember, or the findings of it."""

    user_id: _User
    scope: Annotated[ScopeKind, Description("where its rules hold")] = "global"
    scope_id: Annotated[Name, Description("id of the agent, project or session")] = ""
    session_id: Annotated[Name, Description("the session it comes from")] = ""
    artifact_id: Annotated[Name, Description("the artifact it comes from")] = ""
    text: Annotated[_LongText, Description("what the user said")] = ""
    user_message: Annotated[_LongText, Description("what the user said to an assistant")] = ""
    assistant_message: Annotated[_LongText, Description("what the assistant said")] = ""
    artifact_delta: Annotated[_LongText, Description("what changed in an artifact")] = ""
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
        """The scope of its rules."""
        return scope_of(self.user_id, self.scope, self.scope_id, self.session_id)

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name."""
        return {
            "text": self.text,
            "userMessage": self.user_message,
            "assistantMessage": self.assistant_message,
            "artifactDelta": self.artifact_delta,
        }

    @property
    def is_found(self) -> bool:
        """Whether the input has findings."""
        return any(each is not None for each in (self.entities, self.relations, self.rules))

    @cached_property
    def stated(self) -> list[StatedRule]:
        """The rules among the findings."""
        return [rule.within(self.where) for rule in self.rules or ()]

    @cached_property
    def source(self) -> Source:
        """The source, with a new id."""
        source = self.extraction.source("rule")
        snippet = source.raw_snippet
        if self.is_found or source.source_span is not None:
            # The position of the findings is not known here, so the snippet is the whole text.
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
    """A text to remember, or the findings of it.

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
    """A text for an extractor of the caller."""

    @model_validator(mode="after")
    def _holds_nothing_found(self) -> Self:
        if self.is_found:
            raise ValueError("it has an extractor and what was found already; give one of them")
        return self


class ContextInput(Options):
    """The task that a context is requested for.

    Example:
        >>> ContextInput(user_id="ann", prompt="Go on").prompt
        'Go on'
    """

    user_id: _User
    session_id: Annotated[Name, Description("the session that the user is in")] = ""
    project_id: Annotated[Name, Description("the project that the user is in")] = ""
    agent_id: Annotated[Name, Description("the agent that asks")] = ""
    team_id: Annotated[Name, Description("the team whose rules hold too")] = ""
    prompt: Annotated[_Prompt, Description("what the user has just said")] = ""
    artifact_text: Annotated[_Prompt, Description("what is being written")] = ""
    chunk_ids: Annotated[
        list[str],
        Field(max_length=_MOST_IDS),
        Description("extractions and artifacts that a vector store proposes, the best first"),
    ] = []
    chunk_texts: Annotated[
        list[str],
        Field(max_length=_MOST_IDS),
        Description("texts of chunks, in which concepts are found by name, the best first"),
    ] = []
    entity_ids: Annotated[
        list[str],
        Field(max_length=_MOST_IDS),
        Description("concepts that the caller knows to matter, the best first"),
    ] = []


class ForgetInput(Options):
    """What to forget: a rule, an extraction, a session of a user, or all of a user.

    Example:
        >>> ForgetInput(user_id="ann").is_user
        True
    """

    rule_id: Annotated[Name, Description("the rule")] = ""
    extraction_id: Annotated[Name, Description("the extraction")] = ""
    user_id: Annotated[Name, Description("the user")] = ""
    session_id: Annotated[Name, Description("only what this session of the user has")] = ""

    @property
    def is_user(self) -> bool:
        """Whether it is all of a user."""
        return bool(self.user_id) and not self.session_id

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        if [bool(self.rule_id), bool(self.extraction_id), bool(self.user_id)].count(True) != 1:
            raise ValueError("give one of `ruleId`, `extractionId` and `userId`")
        if self.session_id and not self.user_id:
            raise ValueError("a session lacks its `userId`; give it")
        return self


class JudgementInput(Options):
    """The judgement of a model on two rules."""

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
    """The most rows to return."""

    limit: Annotated[int, Field(ge=1, le=_MOST_ROWS), Description("rows at most")] = _MOST_ROWS


class PageOptions(LimitOptions):
    """Page of a list of rules."""

    cursor: Annotated[
        Id | None, Description("only rows behind that of this rule, such as the last row you have")
    ] = None


class SearchOptions(Options):
    """The most rows of a search."""

    limit: Annotated[int, Field(ge=1, le=100), Description("rows at most")] = 10


class FactsOptions(LimitOptions):
    """Which facts to list, and their page."""

    concept: Annotated[Name, Description("the name of a concept at one end; all by default")] = ""
    type: Annotated[Name, Description("such as `USES`; all by default")] = ""
    ended: Annotated[bool, Description("whether to list those that hold no longer too")] = False
    known: Annotated[
        datetime | None, Description("only what was recorded by then; everything by default")
    ] = None
    cursor: Annotated[
        Id | None, Description("only rows behind the one that has this as its `factId`")
    ] = None


class Question(LimitOptions):
    """The rule to ask a model about."""

    rule_id: _Required


class SearchInput(Options):
    """The query of a search in a user's memory."""

    user_id: _User
    query: Annotated[str, StringConstraints(max_length=LONGEST_QUERY)]
    most: Annotated[int, Field(ge=1, le=50), Description("things to find at most")]


class MomentOptions(Options):
    """Time and strategy of a selection of rules."""

    now: Annotated[
        datetime | None,
        Description("when rules must hold; the time of the transaction by default"),
    ] = None
    strategy: Annotated[
        Strategy | None,
        Description("which of two unconfirmed rules wins; that of the settings by default"),
    ] = None


class ReadOptions(MomentOptions):
    """Time and strategy of reading rules."""

    known: Annotated[
        datetime | None, Description("only what was recorded by then; everything by default")
    ] = None


class CheckOptions(PageOptions):
    """Options of comparing a rule."""

    now: Annotated[
        datetime | None, Description("when it begins; the time of the transaction by default")
    ] = None


class HistoryOptions(TimePage, LimitOptions):
    """Page of a list in order of time."""

    @property
    def page(self) -> dict[str, Any]:
        """Parameters of a statement that lists the earliest rows first."""
        return {**self.after, "limit": self.limit}


class ContradictionsOptions(HistoryOptions):
    """Page of a list of contradictions."""

    known: Annotated[
        datetime | None, Description("only those recorded by then; all by default")
    ] = None


class PlaceOptions(Options):
    """Broader scopes that a reader is in."""

    project_id: Annotated[Name, Description("the project that a session's reader is in")] = ""
    agent_id: Annotated[Name, Description("the agent that reads, in a session or a project")] = ""
    team_id: Annotated[Name, Description("the team whose rules hold too")] = ""


class ActiveOptions(PlaceOptions, ReadOptions, PageOptions):
    """Time, strategy, place and page of a list of rules."""


class ContextOptions(ReadOptions, LimitOptions):
    """Options of reading a context."""

    deadline_ms: Annotated[
        int | None,
        Field(ge=1, le=3_600_000),
        Description("milliseconds after which reading ends; the call's own time by default"),
    ] = None

    def deadline(self, of_call: Deadline) -> Deadline:
        """Return the deadline of reading, some time before the deadline of the call."""
        seconds = of_call.remaining() * _SHARE_OF_CALL
        return Deadline.after(
            seconds if self.deadline_ms is None else min(seconds, self.deadline_ms / 1000)
        )


class ExplainOptions(PlaceOptions, ReadOptions):
    """Time and place of an explanation's reader."""

    user_id: Annotated[Name, Description("who reads; the user of the rule by default")] = ""
    scope: Annotated[
        ScopeKind | None, Description("where its reader is; in its own scope by default")
    ] = None
    scope_id: Annotated[Name, Description("id of the agent, project or session of the reader")] = ""

    @model_validator(mode="after")
    def _has_a_scope(self) -> Self:
        place = (self.user_id, self.scope_id, self.project_id, self.agent_id, self.team_id)
        if self.scope is None and any(place):
            raise ValueError("its reader lacks `scope`; give it")
        return self
