// Merge the repository, and its oldest issues by one request for 100 of them
CALL github.mergeRepository($owner, $repoName) YIELD node
RETURN node;

CALL github.mergeIssues($owner, $repoName, {limit: 100}) YIELD merged
RETURN merged;
