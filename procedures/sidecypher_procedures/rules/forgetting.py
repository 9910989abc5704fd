"""`rules.forget`: delete a rule, an extraction, or all that a session or a user has stated.

What another extraction states too stays, with that one as its source.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules.errors import UnknownExtraction
from sidecypher_procedures.rules.model import Scope, lock_all
from sidecypher_procedures.rules.options import ForgetInput
from sidecypher_procedures.rules.rows import Forgotten
from sidecypher_procedures.rules.store import get_rule

_SCOPES_OF_USER: Final = """
    MATCH (s:RuleScope {user: $user})
    WHERE s.scope IS NOT NULL AND s.scopeId IS NOT NULL
    RETURN s.user AS user, s.scope AS scope, s.scopeId AS scopeId
"""
_RULES_OF_USER: Final = """
    MATCH (r:StyleRule {user: $user})
    WHERE r.scope IS NOT NULL AND r.scopeId IS NOT NULL AND r.ruleId IS NOT NULL
    RETURN r.ruleId AS id
"""
# An extraction that an older version wrote has no `user`: it belongs to the one of what it states,
# else to the one of its session or artifact.
_EXTRACTIONS_OF_USER: Final = """
    CALL () {
        MATCH (e:Extraction {user: $user})
        RETURN e
        UNION
        MATCH (r:StyleRule {user: $user}) WHERE r.scope IS NOT NULL AND r.scopeId IS NOT NULL
        MATCH (e:Extraction)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED]->(r)
        RETURN e
        UNION
        MATCH (c:Concept {user: $user}) WHERE c.name IS NOT NULL
        MATCH (e:Extraction)-[:CREATED|ASSERTED]->(c)
        RETURN e
        UNION
        MATCH (:User {id: $user})-[:STARTED|CREATED]->(place:Session|Artifact)
        MATCH (e:Extraction)-[:EXTRACTED_FROM|EXTRACTED_FROM_ARTIFACT]->(place)
        WHERE e.user IS NULL AND NOT EXISTS { (e)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED]->() }
        RETURN e
    }
    RETURN e.extractionId AS id
"""
_RULES_OF_SESSION: Final = """
    MATCH (r:StyleRule {user: $user, scope: 'session', scopeId: $session})
    WHERE r.ruleId IS NOT NULL
    RETURN r.ruleId AS id
"""
_EXTRACTIONS_OF_SESSION: Final = """
    MATCH (s:Session {id: $session})<-[:EXTRACTED_FROM]-(e:Extraction)
    WHERE e.user = $user OR e.user IS NULL AND (
        EXISTS { (e)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED]->({user: $user}) }
        OR EXISTS { (:User {id: $user})-[:STARTED]->(s) }
            AND NOT EXISTS { (e)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED]->() }
    )
    RETURN e.extractionId AS id
"""
_EXTRACTION: Final = "MATCH (e:Extraction {extractionId: $extraction}) RETURN e.extractionId AS id"
_EXTRACTIONS_OF_RULE: Final = """
    MATCH (r:StyleRule {ruleId: $rule})
    MATCH (e:Extraction)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED]->(r)
    RETURN DISTINCT e.extractionId AS id, EXISTS {
        (e)-[:CREATED|ASSERTED|CONFIRMED|RETRACTED|ENDED]->(other) WHERE other <> r
    } AS shared
    ORDER BY id
"""
_TOUCHED: Final = """
    CALL () {
        UNWIND $extractions AS id
        MATCH (e:Extraction {extractionId: id})-->(x)
        RETURN x
        UNION
        UNWIND $rules AS id
        MATCH (x:StyleRule {ruleId: id})
        RETURN x
    }
    RETURN
        collect(CASE WHEN x:StyleRule THEN x {.ruleId, .user, .scope, .scopeId} END) AS rules,
        collect(CASE WHEN x:Concept THEN x.key END) AS concepts,
        collect(CASE WHEN x:Fact THEN x.factId END) AS facts,
        collect(CASE WHEN x:Session THEN x.id END) AS sessions,
        collect(CASE WHEN x:Artifact THEN x.id END) AS artifacts
"""
# A writer that is about to state one of them waits.
_LOCK_CONCEPTS: Final = """
    UNWIND $ids AS id
    MATCH (c:Concept {key: id})
    SET c.extractionId = c.extractionId
"""
_DELETE_EXTRACTIONS: Final = """
    UNWIND $ids AS id
    MATCH (e:Extraction {extractionId: id})
    OPTIONAL MATCH (e)-[:ASSERTED|CREATED]->(:StyleRule)<-[p:PREFERS {extractionId: id}]-(:User)
    DELETE p
    WITH DISTINCT e, id
    DETACH DELETE e
    RETURN 'Extraction' AS label, id, true AS deleted, null AS reason
"""
_DELETE_RULES: Final = """
    UNWIND $ids AS id
    MATCH (r:StyleRule {ruleId: id})
    OPTIONAL MATCH (r)-[:CONTRADICTS]-(rival:StyleRule)
    WITH r, id, collect(DISTINCT rival.ruleId) AS rivals
    DETACH DELETE r
    WITH id, rivals
    UNWIND [null] + rivals AS rival
    RETURN 'StyleRule' AS label, coalesce(rival, id) AS id, rival IS NULL AS deleted,
        CASE WHEN rival IS NOT NULL THEN 'it contradicted `' + id + '`' END AS reason
"""
_UNSTATED_RULES: Final = """
    UNWIND $ids AS id
    MATCH (r:StyleRule {ruleId: id})
    WHERE NOT EXISTS { (:User)-[:PREFERS]->(r) }
    RETURN id
"""
_KEEP_RULES: Final = """
    UNWIND $ids AS id
    MATCH (r:StyleRule {ruleId: id})
    MATCH (e:Extraction)-[:ASSERTED|CREATED]->(r)
    WITH r, id, e ORDER BY e.createdAt, e.extractionId
    WITH r, id, collect(DISTINCT e) AS sources
    WITH r, id, sources[0] AS first
    MERGE (first)-[:CREATED]->(r)
    WITH r, id, first
    CALL (r) {
        MATCH (:User)-[p:PREFERS]->(r)
        OPTIONAL MATCH (:Extraction)-[end:RETRACTED]->(r) WHERE end.recordedAt >= p.recordedAt
        WITH p, min(end.recordedAt) AS retractedAt
        SET p.retractedAt = retractedAt
        WITH collect(p) AS stated, max(retractedAt) AS retracted
        WITH [each IN stated WHERE each.retractedAt IS NULL] AS left, retracted
        RETURN retracted, any(each IN left WHERE each.strict) AS strict,
            any(each IN left WHERE each.confirmed) AS confirmed
    }
    SET r.strict = strict, r.checkedRev = $revs[id], r.confirmed = confirmed OR EXISTS {
        (:Extraction)-[said:CONFIRMED]->(r) WHERE retracted IS NULL OR said.recordedAt > retracted
    }
    WITH r, id, first
    CALL (r, first) {
        MATCH (r)-[c:CONTRADICTS]-(:StyleRule)
        WHERE NOT EXISTS { MATCH (:Extraction {extractionId: c.extractionId}) }
        SET c.extractionId = first.extractionId
    }
    RETURN 'StyleRule' AS label, id, false AS deleted, 'another extraction states it' AS reason
"""
# The end of a statement that has found concepts or facts `x` by `id`. The earliest extraction of
# those that are left becomes the source; without any the node is deleted.
_KEEP_OR_DELETE: Final = """
    OPTIONAL MATCH (e:Extraction)-[:ASSERTED|CREATED]->(x)
    WITH x, id, e ORDER BY e.createdAt, e.extractionId
    WITH x, id, CASE WHEN x:Concept THEN 'Concept' ELSE 'Fact' END AS label,
        collect(e)[0] AS first
    FOREACH (_ IN CASE WHEN first IS NOT NULL THEN [1] END |
        SET x.extractionId = first.extractionId
    )
    FOREACH (_ IN CASE WHEN first IS NOT NULL AND label = 'Concept' THEN [1] END |
        MERGE (first)-[:CREATED]->(x)
    )
    FOREACH (_ IN CASE WHEN first IS NULL THEN [1] END | DETACH DELETE x)
    RETURN label, id, first IS NULL AS deleted,
        CASE WHEN first IS NOT NULL THEN 'another extraction states it' END AS reason
"""
_FACTS: Final = f"UNWIND $ids AS id MATCH (x:Fact {{factId: id}}) {_KEEP_OR_DELETE}"
_RELATIONS: Final = """
    UNWIND $ids AS id
    MATCH (:Concept)-[relation:RELATED_TO {factId: id}]->(:Concept)
    WHERE NOT EXISTS { MATCH (:Fact {factId: id}) }
    DELETE relation
"""
_CONCEPTS: Final = f"UNWIND $ids AS id MATCH (x:Concept {{key: id}}) {_KEEP_OR_DELETE}"
_MENTIONS: Final = """
    UNWIND $ids AS id
    MATCH (a:Artifact {id: id})-[mention:MENTIONS]->(c:Concept)
    WHERE c.key IN $concepts AND NOT EXISTS {
        (a)<-[:EXTRACTED_FROM_ARTIFACT]-(:Extraction)-[:ASSERTED|CREATED]->(c)
    }
    DELETE mention
"""
# A session or an artifact that has more than its id, or serves for more, is not the memory's alone.
_ARTIFACTS: Final = """
    UNWIND $ids AS id
    MATCH (a:Artifact {id: id})
    WHERE keys(a) = ['id'] AND NOT EXISTS {
        (a)-[used]-() WHERE NOT type(used) IN ['CREATED', 'CONTAINS']
    }
    DETACH DELETE a
    RETURN 'Artifact' AS label, id, true AS deleted, null AS reason
"""
_SESSIONS: Final = """
    UNWIND $ids AS id
    MATCH (s:Session {id: id})
    WHERE keys(s) = ['id'] AND NOT EXISTS { (s)-[used]-() WHERE type(used) <> 'STARTED' }
    DETACH DELETE s
    RETURN 'Session' AS label, id, true AS deleted, null AS reason
"""
_SCOPES: Final = "UNWIND $ids AS id MATCH (s:RuleScope {key: id}) DELETE s"
_USER: Final = """
    UNWIND $ids AS id
    MATCH (u:User {id: id})
    WHERE keys(u) = ['id'] AND NOT EXISTS { (u)--() }
    DELETE u
    RETURN 'User' AS label, id, true AS deleted, null AS reason
"""


def forget(ctx: Context, what: ForgetInput) -> list[Forgotten]:
    """Delete what the input names; return what was deleted, and what stays and has changed.

    Raises:
        UnknownRule: No rule has this id.
        UnknownExtraction: No extraction has this id.
    """
    scopes = _own_scopes(ctx, what)
    if what.is_user:
        # Before what they have is looked up, so that nothing is stated meanwhile.
        lock_all(ctx, scopes)
    chosen = _chosen(ctx, what)
    touched = ctx.run(_TOUCHED, rules=chosen.rules, extractions=chosen.extractions).single()
    held = lock_all(ctx, [*scopes, *map(_scope, touched["rules"])])
    revs = {each["ruleId"]: held[_scope(each)].rev for each in touched["rules"]}
    ctx.run(_LOCK_CONCEPTS, ids=sorted(touched["concepts"]))

    def run(statement: LiteralString, ids: Iterable[str], **more: Any) -> Iterator[Forgotten]:
        return (Forgotten(**dict(row)) for row in ctx.run(statement, ids=sorted(ids), **more))

    rows = [*run(_DELETE_EXTRACTIONS, chosen.extractions)]
    rows += (
        Forgotten(label="Extraction", id=each, deleted=False, reason="it states other things too")
        for each in chosen.shared
    )
    unstated = [row["id"] for row in ctx.run(_UNSTATED_RULES, ids=sorted(revs))]
    gone = {*chosen.rules, *unstated}
    rows += (row for row in run(_DELETE_RULES, gone) if row.deleted or row.id not in gone)
    rows += run(_KEEP_RULES, revs.keys() - gone, revs=revs)
    rows += run(_FACTS, touched["facts"])
    ctx.run(_RELATIONS, ids=touched["facts"])
    rows += run(_CONCEPTS, touched["concepts"])
    ctx.run(_MENTIONS, ids=touched["artifacts"], concepts=touched["concepts"])
    rows += run(_ARTIFACTS, touched["artifacts"])
    rows += run(_SESSIONS, touched["sessions"])
    ctx.run(_SCOPES, ids=[each.key for each in scopes])
    if what.is_user:
        rows += run(_USER, [what.user_id])
    return rows


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is deleted for sure.

    Attributes:
        shared: Extractions that stay although a rule of theirs goes.
    """

    rules: list[str] = field(default_factory=list)
    extractions: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)


def _chosen(ctx: Context, what: ForgetInput) -> _Chosen:
    def ids(statement: LiteralString) -> list[str]:
        found = ctx.run(
            statement, user=what.user_id, session=what.session_id, extraction=what.extraction_id
        )
        return [each["id"] for each in found]

    if what.rule_id:
        rule = get_rule(ctx, what.rule_id)
        about = list(ctx.run(_EXTRACTIONS_OF_RULE, rule=rule.rule_id))
        return _Chosen(
            rules=[rule.rule_id],
            extractions=[each["id"] for each in about if not each["shared"]],
            shared=[each["id"] for each in about if each["shared"]],
        )
    if what.extraction_id:
        extractions = ids(_EXTRACTION)
        if not extractions:
            raise UnknownExtraction(f"There is no extraction `{shown_id(what.extraction_id)}`")
        return _Chosen(extractions=extractions)
    if what.session_id:
        return _Chosen(ids(_RULES_OF_SESSION), ids(_EXTRACTIONS_OF_SESSION))
    return _Chosen(ids(_RULES_OF_USER), ids(_EXTRACTIONS_OF_USER))


def _own_scopes(ctx: Context, what: ForgetInput) -> list[Scope]:
    """Return the scopes that nothing is left of."""
    if what.session_id:
        return [Scope(what.user_id, "session", what.session_id)]
    if what.is_user:
        return [_scope(dict(each)) for each in ctx.run(_SCOPES_OF_USER, user=what.user_id)]
    return []


def _scope(rule: dict[str, Any]) -> Scope:
    return Scope(rule["user"], rule["scope"], rule["scopeId"])
