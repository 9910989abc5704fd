// The code of repositories: entities, the chunks that search returns, and communities.

CREATE CONSTRAINT repo_id IF NOT EXISTS FOR (n:Repo) REQUIRE n.repo_id IS UNIQUE;
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (n:Chunk) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (n:Community) REQUIRE (n.repo_id, n.community_id) IS UNIQUE;

CREATE INDEX entity_name IF NOT EXISTS FOR (n:Entity) ON (n.repo_id, n.name_lower);
CREATE INDEX entity_qualified_name IF NOT EXISTS FOR (n:Entity) ON (n.repo_id, n.qualified_name);
CREATE INDEX entity_file IF NOT EXISTS FOR (n:Entity) ON (n.repo_id, n.file_path, n.start_line);
CREATE INDEX chunk_file IF NOT EXISTS FOR (n:Chunk) ON (n.repo_id, n.file_path);
CREATE TEXT INDEX entity_part_of_name IF NOT EXISTS FOR (n:Entity) ON (n.name_lower);

// What is searched by words: identifiers are taken apart in `words`.
CREATE FULLTEXT INDEX entity_words IF NOT EXISTS FOR (n:Entity) ON EACH [n.repo_id, n.words, n.docstring]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};
CREATE FULLTEXT INDEX chunk_words IF NOT EXISTS FOR (n:Chunk) ON EACH [n.repo_id, n.words]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};

// Relationships:
// (:Entity)-[:CALLS]->(:Entity)
// (:Entity)-[:IMPORTS]->(:Entity)
// (:Entity)-[:INHERITS]->(:Entity)
// (:Entity)-[:CONTAINS]->(:Entity)
// (:Entity)-[:REFERENCES]->(:Entity)
// (:Entity)-[:DEFINED_IN]->(:Chunk)
// (:Entity)-[:IN_COMMUNITY]->(:Community)
