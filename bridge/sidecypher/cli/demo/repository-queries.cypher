// Get the repository with live GitHub data
MATCH (r:Repository {fullNameKey: toLower($owner + '/' + $repoName)})
CALL github.getRepository(r.owner, r.name) YIELD description, stars, openIssues
RETURN r.owner, r.name, description, stars, openIssues,
       COUNT { (r)-[:HAS_ISSUES]->() } AS issuesInGraph;

// Get issues of the graph with live GitHub data
MATCH (r:Repository {fullNameKey: toLower($owner + '/' + $repoName)})-[:HAS_ISSUES]->(i:Issue)
WITH r, i ORDER BY i.number DESC LIMIT 3
CALL github.getIssue(r.owner, r.name, i.number) YIELD title, state, labels
RETURN i.number, title, state, labels;

// List the newest pull requests, which are not in the graph
CALL github.listPullRequests($owner, $repoName, {state: 'all', limit: 3})
YIELD number, title, state
RETURN number, title, state;
