"""What `rules.remember` is given: what an extractor found, or a text to find it in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from sidecypher_procedures.rules.concepts import Concept, Fact, normal_name
from sidecypher_procedures.rules.errors import InvalidInput
from sidecypher_procedures.rules.extractor import Statement, extract
from sidecypher_procedures.rules.fields import LONGEST_NAME, Fields
from sidecypher_procedures.rules.inputs import (
    SNIPPET_CHARACTERS,
    ExtractionInput,
    RuleInput,
)
from sidecypher_procedures.rules.model import Scope

INPUT_KEYS: Final = (
    *("user", "sessionId", "artifactId"),
    *("text", "userMessage", "assistantMessage", "artifactDelta"),
    *("entities", "relations", "rules", "extraction"),
)
LONGEST_TEXT: Final = 100_000
MOST_FINDINGS: Final = 1000
_OWN_WORDS: Final = ("text", "userMessage")
_OTHER_WORDS: Final = ("assistantMessage", "artifactDelta")
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
    """

    user: str
    extraction: ExtractionInput
    concepts: list[Concept]
    facts: list[Fact]
    rules: list[RuleInput]

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `input`; without findings in it, find them in its texts.

        Only what the user said gives rules; every text gives concepts and facts.

        Raises:
            InvalidInput: It has a key or value that cannot be used, or nothing to remember.
            InvalidRule: One of its rules cannot be used.
            InvalidExtraction: Its extraction cannot be used.
        """
        given = _Given.parse(values)
        concepts, facts, rules = given.found or _found(given.user, given.texts)
        return cls(given.user, given.extraction, concepts, facts, rules)

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

    user: str
    texts: dict[str, str]
    extraction: ExtractionInput
    found: _Found | None

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, is_extracted: bool = False) -> Self:
        fields = Fields(values, "input", INPUT_KEYS, InvalidInput)
        user = fields.required_text("user")
        given = [name for name in ("entities", "relations", "rules") if name in fields]
        if given and is_extracted:
            raise fields.refuse(
                f"has `{given[0]}` and an extractor to find them", "Give one of them."
            )
        texts = {
            name: fields.text(name, longest=LONGEST_TEXT) for name in (*_OWN_WORDS, *_OTHER_WORDS)
        }
        if not given and not any(texts.values()):
            raise fields.refuse(
                "has nothing to remember", "Give a text, or `entities`, `relations` or `rules`."
            )
        default = {} if given else {"method": "llm" if is_extracted else "rule"}
        extraction = _extraction(fields, default, "\n".join(filter(None, texts.values())))
        if default == {"method": "rule"} and extraction.method != "rule":
            raise fields.refuse(
                "has another method than `rule`, and nothing found by it",
                "Give `entities`, `relations` or `rules`, or leave the method out.",
            )
        return cls(user, texts, extraction, _read(fields, user) if given else None)


def _extraction(fields: Fields, default: Mapping[str, str], text: str) -> ExtractionInput:
    places = {name: fields.text(name) for name in ("sessionId", "artifactId") if name in fields}
    extraction = ExtractionInput.parse({**default, **fields.map("extraction"), **places})
    snippet = extraction.raw_snippet or text[:SNIPPET_CHARACTERS] or None
    return replace(extraction, raw_snippet=snippet)


def _read(fields: Fields, user: str) -> _Found:
    concepts = [_concept(user, each) for each in _few(fields, "entities")]
    facts = [_fact(user, each) for each in _few(fields, "relations")]
    return concepts, facts, [_rule(user, each) for each in _few(fields, "rules")]


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


def _rule(user: str, values: Mapping[str, Any]) -> RuleInput:
    rule = RuleInput.parse({"user": user, **values})
    if rule.scope.user != user:
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


def _found(user: str, texts: Mapping[str, str]) -> _Found:
    """Find concepts, facts and rules in texts, without a model."""
    concepts, facts, rules = [], [], []
    for name, text in texts.items():
        found = extract(text)
        concepts += [Concept(user, each.name) for each in found.entities]
        facts += [
            Fact(Concept(user, each.source), each.type, Concept(user, each.target))
            for each in found.relations
        ]
        if name in _OWN_WORDS:
            # A rule for the future needs an instant, and no text gives one that can be relied on.
            rules += [
                _stated(user, each) for each in found.rules if each.temporal_marker != "future"
            ]
    return concepts, facts, rules


def _stated(user: str, found: Statement) -> RuleInput:
    return RuleInput(
        scope=Scope(user, "global"),
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
