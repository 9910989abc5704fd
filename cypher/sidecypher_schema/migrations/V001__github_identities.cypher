// Identities of what lives on GitHub. Ids never change; names and numbers may be looked up but not
// trusted to be unique, since GitHub lets a repository's name be reused.

CREATE CONSTRAINT repository_id IF NOT EXISTS FOR (r:Repository) REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT issue_id IF NOT EXISTS FOR (i:Issue) REQUIRE i.id IS UNIQUE;
CREATE CONSTRAINT pull_request_id IF NOT EXISTS FOR (p:PullRequest) REQUIRE p.id IS UNIQUE;
CREATE CONSTRAINT user_id IF NOT EXISTS FOR (u:User) REQUIRE u.id IS UNIQUE;

// MATCH (r:Repository {name: $repoName, owner: $owner})
CREATE INDEX repository_name IF NOT EXISTS FOR (r:Repository) ON (r.owner, r.name);
// MATCH (i:Issue {number: $issueNumber})
CREATE INDEX issue_number IF NOT EXISTS FOR (i:Issue) ON (i.number);
// MATCH (pr:PullRequest {number: $prNumber})
CREATE INDEX pull_request_number IF NOT EXISTS FOR (p:PullRequest) ON (p.number);
