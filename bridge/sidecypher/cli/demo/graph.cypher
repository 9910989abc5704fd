// Merge what never changes of a repository, an issue and a pull request
CALL github.mergeRepository($owner, $repoName) YIELD node
RETURN node;

CALL github.mergeIssue($owner, $repoName, $issueNumber) YIELD node
RETURN node;

CALL github.mergePullRequest($owner, $repoName, $prNumber) YIELD node
RETURN node;
