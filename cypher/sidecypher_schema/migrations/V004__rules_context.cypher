// What `rules.context` reads facts by: both ends, each with the facts in the order of their ids, so
// that the first few of very many are read and no others.

// MATCH (f:Fact) WHERE f.fromKey = $key AND f.factId > '' ... ORDER BY f.fromKey, f.factId LIMIT $most
CREATE INDEX fact_from IF NOT EXISTS FOR (n:Fact) ON (n.fromKey, n.factId);
// MATCH (f:Fact) WHERE f.toKey = $key AND f.factId > '' ... ORDER BY f.toKey, f.factId LIMIT $most
CREATE INDEX fact_to IF NOT EXISTS FOR (n:Fact) ON (n.toKey, n.factId);

// The client's search, with `concept_text`:
// CALL db.index.fulltext.queryNodes('extraction_text', $words)
CREATE FULLTEXT INDEX extraction_text IF NOT EXISTS FOR (n:Extraction) ON EACH [n.rawSnippet];
