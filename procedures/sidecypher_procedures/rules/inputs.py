"""What callers give: a rule, an extraction, options; checked once, here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, Self
from uuid import uuid4

from sidecypher import Deadline
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.rules.detector import Reading, read_parts, read_text
from sidecypher_procedures.rules.detector.quantities import OPERATORS
from sidecypher_procedures.rules.errors import InvalidExtraction, InvalidOption, InvalidRule
from sidecypher_procedures.rules.model import Assertion, Marker, Method, Scope, ScopeKind, Strategy

SNIPPET_CHARACTERS: Final = 1000
"""What an extraction keeps of its text at most."""

RULE_KEYS: Final = (
    *("user", "text", "slot", "value", "object", "operator", "polarity", "condition"),
    *("scope", "scopeId", "temporalMarker", "since", "expiresAt"),
    *("strict", "confirmed", "confidence", "ruleId"),
)
EXTRACTION_KEYS: Final = (
    *("method", "model", "rawSnippet", "sourceSpan", "sessionId", "artifactId"),
)
OPTION_KEYS: Final = (
    *("now", "known", "strategy", "limit", "deadlineMs", "scope", "scopeId", "projectId"),
)
_LONGEST_TEXT: Final = 1000
# Bytes of value, and of all that the index on (user, scope, scopeId, slot, value) has of a rule; no
# entry of an index of Neo4j is larger than 8 KiB.
_LONGEST_VALUE: Final = 4000
_LONGEST_ENTRY: Final = 7500
_MOST_ROWS: Final = 10_000
_SHARE_OF_CALL: Final = 0.8


@dataclass(frozen=True, slots=True)
class RuleInput:
    """A rule as a caller states it.

    Attributes:
        scope: Where it holds.
        reading: What it says, in canonical form.
        text: What it says, in the caller's words.
        marker: What it says about time.
        since: When it begins; None is the time of the transaction.
        expires_at: When it ends, or None.
        strict: Whether nothing unconfirmed may override it.
        confirmed: Whether the user confirmed it.
        confidence: 0 to 1, or None.
        rule_id: The id to give it, or None.

    Example:
        >>> rule = RuleInput.parse({"user": "ann", "text": "Never use emojis"})
        >>> rule.scope.kind, rule.marker, rule.reading.polarity
        ('global', 'current', 'negative')
    """

    scope: Scope
    reading: Reading
    text: str
    marker: Marker
    since: datetime | None
    expires_at: datetime | None
    strict: bool
    confirmed: bool
    confidence: float | None
    rule_id: str | None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `rule`.

        Raises:
            InvalidRule: It lacks something, or has a key or value that no rule can have.
        """
        fields = Fields(values, "rule", RULE_KEYS, InvalidRule)
        marker: Marker = fields.choice("temporalMarker", Marker, "current")
        reading = _read_rule(fields, marker)
        scope = read_scope(fields)
        if _bytes(reading.value) > _LONGEST_VALUE:
            raise fields.refuse("is too long in its normal form", "Say it in fewer words.")
        if _bytes(scope.user, scope.kind, scope.id, reading.slot, reading.value) > _LONGEST_ENTRY:
            raise fields.refuse(
                "has `user`, `scopeId`, `slot` and `value` that are too long together",
                f"Give at most {_LONGEST_ENTRY} bytes of them; their normal form counts.",
            )
        since, expires_at = fields.instant("since"), fields.instant("expiresAt")
        if marker == "future" and since is None:
            raise fields.refuse("lies in the future and lacks `since`", "Give `since`.")
        if since is not None:
            _check_end(since, expires_at)
        return cls(
            scope=scope,
            reading=reading,
            text=fields.text("text", longest=_LONGEST_TEXT) or reading.text,
            marker=marker,
            since=since,
            expires_at=expires_at,
            strict=fields.flag("strict"),
            confirmed=fields.flag("confirmed"),
            confidence=fields.fraction("confidence"),
            rule_id=fields.text("ruleId") or None,
        )

    def asserted(self, now: datetime, recorded_at: datetime, extraction_id: str) -> Assertion:
        """Return the assertion that this is.

        Args:
            now: The time of the transaction, from which on it holds unless `since` says otherwise.
            recorded_at: The time of its record.
            extraction_id: Where it comes from.

        Raises:
            InvalidRule: It has expired before it begins.
        """
        since = self.since or now
        _check_end(since, self.expires_at)
        return Assertion(
            since=since,
            expires_at=self.expires_at,
            marker=self.marker,
            confidence=self.confidence,
            confirmed=self.confirmed,
            strict=self.strict,
            recorded_at=recorded_at,
            retracted_at=None,
            extraction_id=extraction_id,
        )


def _bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _check_end(since: datetime, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= since:
        raise InvalidRule(
            "The rule expires before it begins", hint="Give `since`, or a later `expiresAt`."
        )


def parse_scope(user: str, kind: str, identifier: str) -> Scope:
    """Check user, scope and scopeId that are arguments of their own.

    Raises:
        InvalidRule: The scope is unknown, or lacks an id or has one too many.
    """
    values = {"user": user, "scope": kind, "scopeId": identifier}
    return read_scope(Fields(values, "scope", tuple(values), InvalidRule))


def read_scope(fields: Fields, session: str = "") -> Scope:
    """Return the scope that a MAP names by `user`, `scope` and `scopeId`.

    Args:
        fields: The MAP.
        session: The session that is meant by `session` without a `scopeId`.
    """
    kind: ScopeKind = fields.choice("scope", ScopeKind, "global")
    identifier = fields.text("scopeId") or (session if kind == "session" else "")
    if kind == "global" and identifier:
        raise fields.refuse("is global and has a `scopeId`", "Leave one of the two out.")
    if kind != "global" and not identifier:
        raise fields.refuse(f"is for a {kind} and lacks `scopeId`", "Give `scopeId`.")
    return Scope(fields.required_text("user"), kind, identifier)


def _read_rule(fields: Fields, marker: Marker) -> Reading:
    """Read what a rule says: from `slot` and `value` if they are there, else from `text`."""
    polarity: Literal["", "positive", "negative"] = fields.choice(
        "polarity", Literal["", "positive", "negative"], ""
    )
    if polarity == "positive" and marker == "negated":
        raise fields.refuse(
            "is positive and negated at once", "Leave `polarity` out, or the marker."
        )
    negative = marker == "negated" or polarity == "negative"
    text = fields.text("text", longest=_LONGEST_TEXT)
    if "slot" in fields or "value" in fields:
        return _read_parts(fields, "negative" if negative else polarity, text)
    if not text:
        raise fields.refuse("says nothing", "Give `text`, or `slot` and `value`.")
    lonely = [each for each in ("object", "operator", "condition") if each in fields]
    if lonely:
        raise fields.refuse(
            f"has `{lonely[0]}` without `slot` and `value`", "Give them, or `text` alone."
        )
    reading = read_text(text)
    if polarity == "positive" and reading.polarity == "negative":
        raise fields.refuse("is positive and says no", "Leave `polarity` out, or say it otherwise.")
    return replace(reading, polarity="negative") if negative else reading


def _read_parts(fields: Fields, polarity: str, text: str) -> Reading:
    try:
        return read_parts(
            slot=_part(fields, "slot"),
            value=_part(fields, "value"),
            object=fields.text("object"),
            operator=fields.text("operator"),
            polarity=polarity,
            condition=fields.text("condition"),
            text=text,
        )
    except ValueError:
        raise fields.refuse(
            "has an unknown `operator`", f"Give one of {', '.join(OPERATORS)}."
        ) from None


def _part(fields: Fields, name: str) -> str:
    text = fields.text(name)
    if not text:
        raise fields.refuse(f"lacks `{name}`", "Give both `slot` and `value`, or `text` alone.")
    return text


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """Where something comes from.

    Attributes:
        method: ``rule``, ``llm`` or ``hybrid``.
        model: The model that found it, or None.
        raw_snippet: The text it was found in, at most `SNIPPET_CHARACTERS`, or None.
        source_span: Start and end in that text, or None.
        session_id: The session it comes from, or None.
        artifact_id: The artifact it comes from, or None.
        extraction_id: Its own id, made here.
    """

    method: Method
    model: str | None = None
    raw_snippet: str | None = None
    source_span: list[int] | None = None
    session_id: str | None = None
    artifact_id: str | None = None
    extraction_id: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `extraction`.

        Raises:
            InvalidExtraction: It lacks `method`, or has a key or value that none can have.
        """
        fields = Fields(values, "extraction", EXTRACTION_KEYS, InvalidExtraction)
        fields.required_text("method")
        method: Method = fields.choice("method", Method, "rule")
        return cls(
            method=method,
            model=fields.text("model") or None,
            raw_snippet=fields.text("rawSnippet", longest=SNIPPET_CHARACTERS) or None,
            source_span=fields.span("sourceSpan"),
            session_id=fields.text("sessionId") or None,
            artifact_id=fields.text("artifactId") or None,
        )


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    Attributes:
        now: The instant at which rules must hold; None is the time of the transaction.
        known: Only what was recorded by then counts; None is everything.
        strategy: Which of two unconfirmed rules wins; None is the setting.
        limit: Rows at most.
        deadline_ms: Milliseconds after which reading a context ends; None is the call's deadline.
        scope: The scope in which the reader of one rule stands; None is the rule's own.
        scope_id: Its id, or ``""``.
        project_id: The project that a session's reader stands in, or ``""``.
    """

    now: datetime | None = None
    known: datetime | None = None
    strategy: Strategy | None = None
    limit: int = _MOST_ROWS
    deadline_ms: int | None = None
    scope: ScopeKind | None = None
    scope_id: str = ""
    project_id: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, Any], keys: tuple[str, ...] = OPTION_KEYS) -> Self:
        """Check the MAP `options`.

        Args:
            values: The MAP.
            keys: Those that this procedure knows.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", keys, InvalidOption)
        return cls(
            now=fields.instant("now"),
            known=fields.instant("known"),
            strategy=fields.choice("strategy", Strategy, None),
            limit=fields.count("limit", _MOST_ROWS, largest=_MOST_ROWS),
            deadline_ms=fields.count("deadlineMs", 1, largest=3_600_000)
            if "deadlineMs" in fields
            else None,
            scope=fields.choice("scope", ScopeKind, None),
            scope_id=fields.text("scopeId"),
            project_id=fields.text("projectId"),
        )

    def deadline(self, of_call: Deadline) -> Deadline:
        """Return when to stop reading, some time before the call itself must have answered."""
        seconds = of_call.remaining() * _SHARE_OF_CALL
        return Deadline.after(
            seconds if self.deadline_ms is None else min(seconds, self.deadline_ms / 1000)
        )
