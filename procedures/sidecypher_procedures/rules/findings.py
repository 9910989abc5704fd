"""What `rules.remember` is given: what an extractor found, or a text to find it in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from sidecypher_procedures.fields import LONGEST_NAME, Fields
from sidecypher_procedures.rules.concepts import Concept, Fact, normal_name
from sidecypher_procedures.rules.errors import InvalidInput
from sidecypher_procedures.rules.inputs import (
    SNIPPET_CHARACTERS,
    ExtractionInput,
    RuleInput,
    read_scope,
)
from sidecypher_procedures.rules.model import Scope
from sidecypher_procedures.rules.texts import OTHER_WORDS, OWN_WORDS, Heard, LeftOut, listen

INPUT_KEYS: Final = (
    *("user", "scope", "scopeId", "sessionId", "artifactId"),
    *("text", "userMessage", "assistantMessage", "artifactDelta"),
    *("entities", "relations", "rules", "extraction"),
)
LONGEST_TEXT: Final = 100_000
MOST_FINDINGS: Final = 1000
_Found = tuple[list[Concept], list[Fact], list[RuleInput]]


@dataclass(frozen=True, slots=True)
class Findings:
    """What is to be remembered, all of one user and from one extraction.

    Attributes:
        user: The user's id.
        extraction: Where it comes from.
        concepts: What it is about.
        facts: How these are related.
        rules: What the user wants.
        left_out: What a text says and is not to be written.
    """

    user: str
    extraction: ExtractionInput
    concepts: list[Concept]
    facts: list[Fact]
    rules: list[RuleInput]
    left_out: list[LeftOut] = field(default_factory=list)

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `input`; without findings in it, find them in its texts.

        Raises:
            InvalidInput: It has a key or value that cannot be used, or nothing to remember.
            InvalidRule: One of its rules cannot be used.
            InvalidExtraction: Its extraction cannot be used.
        """
        given = _Given.parse(values)
        if given.found is not None:
            return cls(given.scope.user, given.extraction, *given.found)
        heard = listen(given.scope, given.texts)
        extraction = given.extraction
        if extraction.raw_snippet is None:
            extraction = _quoting(extraction, heard)
        return cls(
            given.scope.user, extraction, heard.concepts, heard.facts, heard.rules, heard.left_out
        )

    @property
    def all_concepts(self) -> list[Concept]:
        """The concepts, with those that only facts name."""
        ends = [end for fact in self.facts for end in (fact.source, fact.target)]
        return [*self.concepts, *ends]


def check_input(values: Mapping[str, Any], *, is_extracted: bool) -> None:
    """Check the MAP `input` of `rules.remember`; in its texts nothing is looked for.

    Args:
        values: The MAP.
        is_extracted: Whether another extractor is to find what is in its texts.

    Raises:
        InvalidInput: It has a key or value that cannot be used, or nothing to remember.
        InvalidRule: One of its rules cannot be used.
        InvalidExtraction: Its extraction cannot be used.
    """
    _Given.parse(values, is_extracted=is_extracted)


@dataclass(frozen=True, slots=True)
class _Given:
    """The MAP `input`, checked: what was found comes with it, or is in its texts."""

    scope: Scope
    texts: dict[str, str]
    extraction: ExtractionInput
    found: _Found | None

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, is_extracted: bool = False) -> Self:
        fields = Fields(values, "input", INPUT_KEYS, InvalidInput)
        scope = read_scope(fields, fields.text("sessionId"))
        given = [name for name in ("entities", "relations", "rules") if name in fields]
        if given and is_extracted:
            raise fields.refuse(
                f"has `{given[0]}` and an extractor to find them", "Give one of them."
            )
        texts = {
            name: fields.text(name, longest=LONGEST_TEXT) for name in (*OWN_WORDS, *OTHER_WORDS)
        }
        if not given and not any(texts.values()):
            raise fields.refuse(
                "has nothing to remember", "Give a text, or `entities`, `relations` or `rules`."
            )
        default = {} if given else {"method": "llm" if is_extracted else "rule"}
        extraction = _extraction(fields, default)
        if default == {"method": "rule"} and extraction.method != "rule":
            raise fields.refuse(
                "has another method than `rule`, and nothing found by it",
                "Give `entities`, `relations` or `rules`, or leave the method out.",
            )
        if given or extraction.source_span is not None:
            # Where it was found, only its finder knows.
            said = "\n".join(filter(None, texts.values()))[:SNIPPET_CHARACTERS]
            extraction = replace(extraction, raw_snippet=extraction.raw_snippet or said or None)
        return cls(scope, texts, extraction, _read(fields, scope) if given else None)


def _extraction(fields: Fields, default: Mapping[str, str]) -> ExtractionInput:
    places = {name: fields.text(name) for name in ("sessionId", "artifactId") if name in fields}
    return ExtractionInput.parse({**default, **fields.map("extraction"), **places})


def _quoting(extraction: ExtractionInput, heard: Heard) -> ExtractionInput:
    """Return an extraction with the part of the texts that it rests on."""
    span = None if heard.span is None else list(heard.span)
    return replace(extraction, raw_snippet=heard.snippet or None, source_span=span)


def _read(fields: Fields, scope: Scope) -> _Found:
    concepts = [_concept(scope.user, each) for each in _few(fields, "entities")]
    facts = [_fact(scope.user, each) for each in _few(fields, "relations")]
    return concepts, facts, [_rule(scope, each) for each in _few(fields, "rules")]


def _few(fields: Fields, name: str) -> list[dict[str, Any]]:
    found = fields.maps(name)
    if len(found) > MOST_FINDINGS:
        raise fields.refuse(f"has {len(found)} `{name}`", f"Give at most {MOST_FINDINGS}.")
    return found


def _concept(user: str, values: Mapping[str, Any]) -> Concept:
    return Concept(user, _name(Fields(values, "entity", ("name",), InvalidInput), "name"))


def _fact(user: str, values: Mapping[str, Any]) -> Fact:
    fields = Fields(values, "relation", ("from", "type", "to"), InvalidInput)
    kind = "_".join(_name(fields, "type").upper().replace("-", " ").replace("_", " ").split())
    return Fact(Concept(user, _name(fields, "from")), kind, Concept(user, _name(fields, "to")))


def _rule(scope: Scope, values: Mapping[str, Any]) -> RuleInput:
    """Check a rule that was found; it holds in the scope of the input unless it names its own."""
    where = {"scope": scope.kind, "scopeId": values.get("scopeId") or scope.id}
    default = where if values.get("scope") is None else {}
    rule = RuleInput.parse({"user": scope.user, **values, **default})
    if rule.scope.user != scope.user:
        raise InvalidInput(
            "A rule is of another user than the input", hint="Leave `user` of the rule out."
        )
    return rule


def _name(fields: Fields, key: str) -> str:
    name = fields.text(key)
    if not name:
        raise fields.refuse(f"lacks `{key}`", f"Give `{key}`, a STRING.")
    if len(normal_name(name)) > LONGEST_NAME:
        raise fields.refuse(f"has a `{key}` that is too long in its normal form", "Shorten it.")
    return name
