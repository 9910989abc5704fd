// Relationships:
// (:Commit)-[:BELONGS_TO]->(:Repository)
