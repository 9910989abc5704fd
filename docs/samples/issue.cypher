// An issue in the graph, and beside it what GitHub says of it now.
:param {owner: 'Codertocat', repo: 'Hello-World', number: 1}

CALL github.mergeIssue($owner, $repo, $number) YIELD node
RETURN node.number AS merged;

MATCH (i:Issue {number: $number})-[:BELONGS_TO]->(r:Repository {owner: $owner, name: $repo})
CALL github.getIssue(r.owner, r.name, i.number) YIELD title, state, labels
RETURN i.number AS number, title, state, labels;
