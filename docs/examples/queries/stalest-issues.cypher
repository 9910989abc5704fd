MATCH (i:Issue)-[:BELONGS_TO]->(r:Repository) WHERE r.name IS NOT NULL
WITH collect({issue: i, repository: r}) AS found
CALL github.getIssue.batch([f IN found | [f.repository.owner, f.repository.name, f.issue.number]])
YIELD index, title, state, comments, updatedAt
WHERE state = 'open'
WITH found[index] AS f, title, comments, updatedAt
RETURN f.repository.name AS repository, f.issue.number AS number, title, comments,
  triage.idleDays(updatedAt, datetime()) AS idleDays
ORDER BY idleDays DESC
LIMIT 5
