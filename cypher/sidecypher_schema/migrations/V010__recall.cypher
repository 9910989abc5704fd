// What `rules.forget` and `rules.search` look for.

// All that was extracted from the texts of a user, also what states nothing.
CREATE INDEX extraction_user IF NOT EXISTS FOR (n:Extraction) ON (n.user);
CREATE FULLTEXT INDEX style_rule_text IF NOT EXISTS FOR (n:StyleRule) ON EACH [n.text];

// Relationships:
// (:Extraction)-[:ENDED]->(:Fact)
