"""Statements that read rules, and that write extractions, concepts and facts."""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sidecypher import Context, Deadline
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.detector.comparison import IDENTITY, Reading
from sidecypher_procedures.rules.detector.vocabulary import vocabulary
from sidecypher_procedures.rules.errors import UnknownRule
from sidecypher_procedures.rules.model import (
    Assertion,
    Confirmation,
    Contradiction,
    Contradictions,
    Rule,
    Scope,
    Source,
    json_key,
)
from sidecypher_procedures.rules.rows import Contradicting, Happened

_RULE: Final = """
    {
        ruleId: r.ruleId, user: r.user, scope: r.scope, scopeId: r.scopeId, text: r.text,
        slot: r.slot, object: r.object, operator: r.operator, value: r.value,
        polarity: r.polarity, condition: r.condition, topics: r.topics,
        assertions: [(:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NOT NULL | properties(p)],
        confirmations: [(e:Extraction)-[c:CONFIRMED]->(r) | {
            at: c.at, recordedAt: c.recordedAt, extractionId: e.extractionId
        }],
        contradictions: [(r)-[c:CONTRADICTS]-(:StyleRule) | c {
            .*, ruleId: startNode(c).ruleId, otherId: endNode(c).ruleId
        }]
    } AS rule
"""
_OF_SCOPES: Final = f"""
    UNWIND $scopes AS seen
    MATCH (r:StyleRule {{user: seen.user, scope: seen.scope, scopeId: seen.scopeId}})
    RETURN {_RULE}
"""
# The index on (user, scope, scopeId, slot, value) is used only with a predicate on each of them.
_ALIKE: Final = f"""
    UNWIND $scopes AS seen
    UNWIND $slots AS slot
    MATCH (r:StyleRule {{
        user: seen.user, scope: seen.scope, scopeId: seen.scopeId, slot: slot
    }})
    WHERE r.value IS NOT NULL AND (
        slot <> '' OR r.value = $value OR any(topic IN r.topics WHERE topic IN $topics)
    )
    RETURN {_RULE}
"""
_BY_ID: Final = f"MATCH (r:StyleRule {{ruleId: $ruleId}}) RETURN {_RULE}"


RULES_IN_ANY_CASE: Final = 1_000
"""The most rules that are read after a deadline."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Some rules and their recorded contradictions.

    Attributes:
        recorded: Every contradiction of one of the rules; twice if both rules are in the set.
        cut: Whether a deadline kept rules out.
    """

    rules: tuple[Rule, ...]
    recorded: tuple[Contradiction, ...]
    cut: bool = False

    def contradictions(self, known: datetime | None) -> Contradictions:
        """Return those that were recorded by `known`, indexed by pair."""
        return Contradictions(self.recorded, known)


def rules_of(ctx: Context, scopes: Sequence[Scope], deadline: Deadline | None = None) -> RuleSet:
    """Read every rule of some scopes.

    After the deadline no more are read than `RULES_IN_ANY_CASE`.
    """
    found = ctx.run(_OF_SCOPES, scopes=_maps(scopes))
    records: list[dict[str, Any]] = []
    for record in found:
        if len(records) >= RULES_IN_ANY_CASE and deadline is not None and deadline.expired():
            found.close()
            return replace(_rule_set(records), cut=True)
        records.append(record)
    return _rule_set(records)


def rules_like(ctx: Context, scopes: Sequence[Scope], reading: Reading) -> RuleSet:
    """Read the rules of some scopes that a rule may contradict or equal.

    These are the rules whose slot is one of its topics, and those without a slot that share one.
    """
    slots = ["", *(topic for topic in reading.topics if topic in vocabulary().slots)]
    if reading.slot not in slots:
        slots.append(reading.slot)
    found = ctx.run(
        _ALIKE, scopes=_maps(scopes), slots=slots, value=reading.value, topics=reading.topics
    )
    return _rule_set(found)


def rules_around(ctx: Context, scopes: Sequence[Scope], reading: Reading) -> RuleSet:
    """Read the rules of some scopes that can affect the status of a rule.

    These are the rules of `rules_like`, or all rules if a contradiction leads beyond those.
    """
    rule_set = rules_like(ctx, scopes, reading)
    here = {rule.rule_id for rule in rule_set.rules}
    ends = {end for each in rule_set.recorded for end in (each.rule_id, each.other_id)}
    return rule_set if ends <= here else rules_of(ctx, scopes)


def get_rule(ctx: Context, rule_id: str) -> Rule:
    """Read one rule by its id.

    Raises:
        UnknownRule: No rule has this id.
    """
    found = find_rule(ctx, rule_id)
    if found is None:
        raise UnknownRule(f"There is no rule `{shown_id(rule_id)}`")
    return found


def find_rule(ctx: Context, rule_id: str) -> Rule | None:
    """Read one rule by its id; return None if it does not exist."""
    return next(iter(_rule_set(ctx.run(_BY_ID, ruleId=rule_id)).rules), None)


def stored_reading(rule: dict[str, Any]) -> Reading:
    """Return the reading from the properties of a checked rule."""
    # A rule that an older version wrote is compared within its slot until it is stated again.
    within_slot = (rule["slot"],) if rule["slot"] else ()
    return Reading(
        text=rule["text"],
        about=tuple(rule.get("topics") or within_slot),
        **{name: rule[name] for name in IDENTITY},
    )


def transaction_time(ctx: Context) -> datetime:
    """Return the time of the caller's transaction, the default `now` of everything."""
    now: datetime = ctx.run("RETURN datetime.transaction() AS now").single()["now"]
    return now


def _maps(scopes: Sequence[Scope]) -> list[dict[str, str]]:
    return [{"user": each.user, "scope": each.kind, "scopeId": each.id} for each in scopes]


def _rule_set(records: Iterable[dict[str, Any]]) -> RuleSet:
    found = [record["rule"] for record in records]
    # A node without assertions, such as one whose PREFERS was just deleted, is not a rule.
    return RuleSet(
        rules=tuple(_rule(each) for each in found if each["assertions"]),
        recorded=tuple(_contradiction(edge) for each in found for edge in each["contradictions"]),
    )


def _rule(stored: dict[str, Any]) -> Rule:
    return Rule(
        rule_id=stored["ruleId"],
        scope=Scope(stored["user"], stored["scope"], stored["scopeId"]),
        reading=stored_reading(stored),
        text=stored["text"],
        assertions=tuple(map(_assertion, stored["assertions"])),
        confirmations=tuple(
            Confirmation(each["at"], each["recordedAt"], each["extractionId"])
            for each in stored["confirmations"]
        ),
    )


def _assertion(stored: dict[str, Any]) -> Assertion:
    return Assertion(
        since=stored["since"],
        expires_at=stored.get("expiresAt"),
        marker=stored["temporalMarker"],
        confidence=stored.get("confidence"),
        confirmed=stored.get("confirmed", False),
        strict=stored.get("strict", False),
        recorded_at=stored["recordedAt"],
        retracted_at=stored.get("retractedAt"),
        extraction_id=stored["extractionId"],
    )


def _contradiction(stored: dict[str, Any]) -> Contradiction:
    return Contradiction(
        rule_id=stored["ruleId"],
        other_id=stored["otherId"],
        reason=stored["reason"],
        created_at=stored["createdAt"],
        extraction_id=stored["extractionId"],
        detector=stored["detector"],
        detector_version=stored["detectorVersion"],
        verdict=stored["verdict"],
        layer=stored["layer"],
        strategy=stored["strategy"],
    )


# Times are compared in one zone, since Neo4j orders equal instants of different zones differently.
_CONTRADICTIONS: Final = """
    MATCH (r:StyleRule {user: $user, scope: $scope, scopeId: $scopeId})
    MATCH (r)-[c:CONTRADICTS]->(o:StyleRule)
    WHERE $known IS NULL OR c.createdAt <= $known
    WITH r, c, o, coalesce(c.key, elementId(c)) AS place,
        datetime({datetime: c.createdAt, timezone: 'Z'}) AS at
    WHERE at > datetime($after) OR at = datetime($after) AND place > $afterId
    RETURN r.ruleId AS rule_id, o.ruleId AS other_id, c.reason AS reason, c.detector AS detector,
        c.detectorVersion AS detector_version, c.createdAt AS created_at,
        c.extractionId AS extraction_id, toString(at) + ' ' + place AS cursor
    ORDER BY at, place LIMIT $limit
"""
_HISTORY: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId})
    CALL (r) {
        MATCH (:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NOT NULL
        RETURN p AS event, p.recordedAt AS created_at, 'asserted' AS kind,
            p.extractionId AS extraction_id,
            p {.since, .expiresAt, .temporalMarker, .confidence, .confirmed, .strict} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:CONFIRMED]->(r)
        RETURN c AS event, c.recordedAt AS created_at, 'confirmed' AS kind,
            e.extractionId AS extraction_id, c {.at} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:RETRACTED]->(r)
        RETURN c AS event, c.recordedAt AS created_at, 'retracted' AS kind,
            e.extractionId AS extraction_id, c {.at} AS facts
        UNION ALL
        MATCH (r)-[c:CONTRADICTS]-(o:StyleRule)
        RETURN c AS event, c.createdAt AS created_at, 'contradicted' AS kind,
            c.extractionId AS extraction_id,
            c {.reason, .verdict, .detector, .detectorVersion, .layer, .strategy,
               otherId: o.ruleId} AS facts
    }
    WITH created_at, kind, extraction_id, facts,
        datetime({datetime: created_at, timezone: 'Z'}) AS at,
        kind + ' ' + coalesce(extraction_id, '') + ' ' + elementId(event) AS place
    WHERE at > datetime($after) OR at = datetime($after) AND place > $afterId
    RETURN created_at, kind, extraction_id, facts, toString(at) + ' ' + place AS cursor
    ORDER BY at, place LIMIT $limit
"""


def recorded_in(
    ctx: Context, scope: Scope, known: datetime | None, page: Mapping[str, Any]
) -> Iterator[Contradicting]:
    """Yield the contradictions of a scope that were recorded by `known`, the earliest first."""
    where = {"user": scope.user, "scope": scope.kind, "scopeId": scope.id}
    for record in ctx.run(_CONTRADICTIONS, **where, known=known, **page):
        yield Contradicting(**dict(record))


def history_of(ctx: Context, rule_id: str, page: Mapping[str, Any]) -> Iterator[Happened]:
    """Yield the events of a rule, the earliest first."""
    for record in ctx.run(_HISTORY, ruleId=rule_id, **page):
        yield Happened(**dict(record))


_EXTRACTION: Final = """
    MERGE (u:User {id: $user})
    CREATE (:Extraction {
        extractionId: $extractionId, user: $user, createdAt: datetime.realtime(), method: $method,
        model: $model, rawSnippet: $rawSnippet, sourceSpan: $sourceSpan
    })
"""
# A session belongs to the user who started it, even if other users speak in it.
_SESSION: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    MERGE (s:Session {id: $sessionId})
    CREATE (e)-[:EXTRACTED_FROM]->(s)
    WITH s WHERE NOT EXISTS { (:User)-[:STARTED]->(s) }
    MATCH (u:User {id: $user})
    CREATE (u)-[:STARTED]->(s)
"""
_ARTIFACT: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    MERGE (a:Artifact {id: $artifactId})
    CREATE (e)-[:EXTRACTED_FROM_ARTIFACT]->(a)
    WITH a WHERE NOT EXISTS { (:User)-[:CREATED]->(a) }
    MATCH (u:User {id: $user})
    CREATE (u)-[:CREATED]->(a)
"""
_CONTAINS: Final = """
    MATCH (s:Session {id: $sessionId}), (a:Artifact {id: $artifactId})
    MERGE (s)-[:CONTAINS]->(a)
"""


def write_extraction(ctx: Context, user: str, extraction: Source) -> None:
    """Write an extraction with its session and artifact, and its user if new."""
    ctx.run(
        _EXTRACTION,
        user=user,
        extractionId=extraction.extraction_id,
        method=extraction.method,
        model=extraction.model,
        rawSnippet=extraction.raw_snippet,
        sourceSpan=extraction.source_span,
    )
    places = {"sessionId": extraction.session_id, "artifactId": extraction.artifact_id}
    common = {"user": user, "extractionId": extraction.extraction_id}
    if extraction.session_id is not None:
        ctx.run(_SESSION, **common, sessionId=extraction.session_id)
    if extraction.artifact_id is not None:
        ctx.run(_ARTIFACT, **common, artifactId=extraction.artifact_id)
    if None not in places.values():
        ctx.run(_CONTAINS, **places)


# Every writer passes concepts in the order of their keys, so that no two writers deadlock.
_CONCEPTS: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    UNWIND $concepts AS each
    MERGE (c:Concept {key: each.key})
    ON CREATE SET c.user = $user, c.name = each.name, c.extractionId = $extractionId
    CREATE (e)-[:ASSERTED]->(c)
    FOREACH (_ IN CASE c.extractionId WHEN $extractionId THEN [1] ELSE [] END |
        CREATE (e)-[:CREATED]->(c))
"""
_MENTIONS: Final = """
    MATCH (a:Artifact {id: $artifactId})
    UNWIND $keys AS key
    MATCH (c:Concept {key: key})
    MERGE (a)-[:MENTIONS]->(c)
"""
_FACTS: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    UNWIND $facts AS each
    MATCH (from:Concept {key: each.fromKey}), (to:Concept {key: each.toKey})
    MERGE (f:Fact {factId: each.factId})
    ON CREATE SET f.user = $user, f.type = each.type, f.fromKey = each.fromKey,
        f.toKey = each.toKey, f.extractionId = $extractionId
    CREATE (e)-[:ASSERTED]->(f)
    FOREACH (_ IN CASE f.extractionId WHEN $extractionId THEN [1] ELSE [] END |
        CREATE (from)-[:RELATED_TO {factId: each.factId, type: each.type}]->(to))
"""


@dataclass(frozen=True, slots=True)
class Concept:
    """A subject of a user's texts. Each user has separate concepts.

    Example:
        >>> Concept("ann", "Project  Apollo").key
        '["ann","project apollo"]'
    """

    user: str
    name: str

    @property
    def key(self) -> str:
        """Unique key of the concept, equal for all spellings of its name."""
        return json_key(self.user, normal_name(self.name))


def fact_type(text: str) -> str:
    """Return the type of a fact in its normal form.

    Example:
        >>> fact_type("depends on")
        'DEPENDS_ON'
    """
    return "_".join(text.upper().replace("-", " ").replace("_", " ").split())


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation between two concepts of one user, of a type such as ``DEPENDS_ON``."""

    source: Concept
    type: str
    target: Concept

    @property
    def fact_id(self) -> str:
        """Its id, equal for every assertion of the fact."""
        parts = json_key(self.source.key, self.type, self.target.key)
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def normal_name(name: str) -> str:
    """Return the normal form of a name: NFKC, case-folded, with single spaces.

    Unlike the normal form of a rule's text this function must never change: it is part of keys.

    Example:
        >>> normal_name(" Node.JS\u00a0server ")
        'node.js server'
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def write_concepts(
    ctx: Context,
    user: str,
    concepts: Iterable[Concept],
    extraction_id: str,
    artifact_id: str | None,
) -> list[str]:
    """Write concepts with relationships from an extraction and an artifact; return their keys.

    The extraction must exist. Duplicate concepts are allowed.
    """
    found = {each.key: each.name for each in reversed(list(concepts))}
    keys = sorted(found)
    if keys:
        ctx.run(
            _CONCEPTS,
            user=user,
            extractionId=extraction_id,
            concepts=[{"key": key, "name": found[key]} for key in keys],
        )
        if artifact_id is not None:
            ctx.run(_MENTIONS, artifactId=artifact_id, keys=keys)
    return keys


def write_facts(ctx: Context, user: str, facts: Iterable[Fact], extraction_id: str) -> list[str]:
    """Write facts between existing concepts, asserted by an extraction; return their ids."""
    found = {each.fact_id: each for each in facts}
    ids = sorted(found)
    if ids:
        ctx.run(
            _FACTS,
            user=user,
            extractionId=extraction_id,
            facts=[
                {
                    "factId": each,
                    "type": found[each].type,
                    "fromKey": found[each].source.key,
                    "toKey": found[each].target.key,
                }
                for each in ids
            ],
        )
    return ids


# What has ended already does not end again.
_END_FACTS: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    CALL () {
        UNWIND $ended AS factId
        MATCH (f:Fact {factId: factId})
        RETURN f
        UNION
        UNWIND $replacing AS each
        MATCH (f:Fact) WHERE f.fromKey = each.fromKey AND f.factId > ''
        WITH f, each WHERE f.type = each.type AND NOT f.factId IN each.kept
        RETURN f
    }
    WITH e, f
    CALL (f) {
        MATCH (other:Extraction)-[said:ASSERTED|CREATED|ENDED]->(f)
        RETURN type(said) = 'ENDED' AS over ORDER BY other.createdAt DESC, over DESC LIMIT 1
    }
    WITH e, f WHERE NOT over
    CREATE (e)-[:ENDED]->(f)
    RETURN f.factId AS factId
    ORDER BY factId
"""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A fact that ends the others of its type and source.

    Attributes:
        kept: The facts that it does not end: itself, and those that a text states after it.
    """

    fact: Fact
    kept: list[str]


def end_facts(
    ctx: Context, ended: Iterable[Fact], replacing: Iterable[Replacement], extraction_id: str
) -> list[str]:
    """Record that facts hold no longer by an extraction; return the ids of those that held."""
    parameters = {
        "ended": sorted({each.fact_id for each in ended}),
        "replacing": [
            {"fromKey": each.fact.source.key, "type": each.fact.type, "kept": each.kept}
            for each in replacing
        ],
    }
    if not any(parameters.values()):
        return []
    found = ctx.run(_END_FACTS, extractionId=extraction_id, **parameters)
    return [each["factId"] for each in found]
