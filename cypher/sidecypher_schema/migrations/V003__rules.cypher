// Concepts and rules of a user, and the Extraction that each of them hangs on.

CREATE CONSTRAINT session_id IF NOT EXISTS FOR (n:Session) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT artifact_id IF NOT EXISTS FOR (n:Artifact) REQUIRE n.id IS UNIQUE;
// The key is the JSON text of user, scope and scopeId; who writes rules of a scope locks its node.
CREATE CONSTRAINT rule_scope_key IF NOT EXISTS FOR (n:RuleScope) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT style_rule_id IF NOT EXISTS FOR (n:StyleRule) REQUIRE n.ruleId IS UNIQUE;
// The key is the JSON text of user and canonical name: users share no concepts.
CREATE CONSTRAINT concept_key IF NOT EXISTS FOR (n:Concept) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT extraction_id IF NOT EXISTS
FOR (n:Extraction) REQUIRE n.extractionId IS UNIQUE;
CREATE CONSTRAINT fact_id IF NOT EXISTS FOR (n:Fact) REQUIRE n.factId IS UNIQUE;

CREATE INDEX style_rule_scope IF NOT EXISTS FOR (n:StyleRule) ON (n.user, n.scope, n.scopeId);
CREATE INDEX style_rule_value IF NOT EXISTS
FOR (n:StyleRule) ON (n.user, n.scope, n.scopeId, n.slot, n.value);
CREATE INDEX rule_scope_scope IF NOT EXISTS FOR (n:RuleScope) ON (n.user, n.scope, n.scopeId);
CREATE INDEX concept_user_name IF NOT EXISTS FOR (n:Concept) ON (n.user, n.name);
CREATE INDEX contradicts_key IF NOT EXISTS FOR ()-[r:CONTRADICTS]-() ON (r.key);
CREATE INDEX related_to_fact IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.factId);
// `rules.context` reads the first facts of one end in the order of their ids, and no others:
// MATCH (f:Fact) WHERE f.fromKey = $key AND f.factId > '' ... ORDER BY f.fromKey, f.factId LIMIT $most
CREATE INDEX fact_from IF NOT EXISTS FOR (n:Fact) ON (n.fromKey, n.factId);
CREATE INDEX fact_to IF NOT EXISTS FOR (n:Fact) ON (n.toKey, n.factId);
// The client's search uses both: CALL db.index.fulltext.queryNodes('extraction_text', $words)
CREATE FULLTEXT INDEX extraction_text IF NOT EXISTS FOR (n:Extraction) ON EACH [n.rawSnippet];
CREATE FULLTEXT INDEX concept_text IF NOT EXISTS FOR (n:Concept) ON EACH [n.name];

// Relationships:
// (:User)-[:STARTED]->(:Session)
// (:User)-[:CREATED]->(:Artifact)
// (:User)-[:PREFERS]->(:StyleRule)
// (:Session)-[:CONTAINS]->(:Artifact)
// (:Artifact)-[:MENTIONS]->(:Concept)
// (:Concept)-[:RELATED_TO]->(:Concept)
// (:StyleRule)-[:CONTRADICTS]->(:StyleRule)
// (:Extraction)-[:EXTRACTED_FROM]->(:Session)
// (:Extraction)-[:EXTRACTED_FROM_ARTIFACT]->(:Artifact)
// (:Extraction)-[:CREATED]->(:StyleRule|Concept)
// (:Extraction)-[:ASSERTED]->(:StyleRule|Concept|Fact)
// (:Extraction)-[:CONFIRMED]->(:StyleRule)
// (:Extraction)-[:RETRACTED]->(:StyleRule)
