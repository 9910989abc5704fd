// What lives on GitHub. Ids never change. A name or login may be given to another, so it is looked up
// but never unique: MERGE by id, and take the name from its old holder.

CREATE CONSTRAINT repository_id IF NOT EXISTS FOR (n:Repository) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT issue_id IF NOT EXISTS FOR (n:Issue) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT issue_repository_number IF NOT EXISTS
FOR (n:Issue) REQUIRE (n.repositoryId, n.number) IS UNIQUE;
CREATE CONSTRAINT pull_request_id IF NOT EXISTS FOR (n:PullRequest) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT pull_request_repository_number IF NOT EXISTS
FOR (n:PullRequest) REQUIRE (n.repositoryId, n.number) IS UNIQUE;
CREATE CONSTRAINT user_id IF NOT EXISTS FOR (n:User) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT comment_id IF NOT EXISTS FOR (n:Comment) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT commit_sha IF NOT EXISTS FOR (n:Commit) REQUIRE n.sha IS UNIQUE;
// The id is that of the delivery.
CREATE CONSTRAINT github_webhook_event_id IF NOT EXISTS
FOR (n:GithubWebhookEvent) REQUIRE n.id IS UNIQUE;

CREATE INDEX repository_name IF NOT EXISTS FOR (n:Repository) ON (n.owner, n.name);
// `owner/name` in lower case, since GitHub does not tell apart what differs in case only.
CREATE INDEX repository_full_name_key IF NOT EXISTS FOR (n:Repository) ON (n.fullNameKey);
CREATE INDEX issue_number IF NOT EXISTS FOR (n:Issue) ON (n.number);
CREATE INDEX pull_request_number IF NOT EXISTS FOR (n:PullRequest) ON (n.number);
CREATE INDEX user_login IF NOT EXISTS FOR (n:User) ON (n.login);

// Relationships:
// (:Repository)-[:HAS_ISSUES]->(:Issue)
// (:Repository)-[:HAS_PRS]->(:PullRequest)
// (:Repository)-[:OWNED_BY]->(:User)
// (:Issue)-[:BELONGS_TO]->(:Repository)
// (:Issue)-[:CREATED_BY]->(:User)
// (:Issue)-[:HAS_COMMENTS]->(:Comment)
// (:Issue)-[:HAS_RUNS]->(:WorkflowRun)
// (:PullRequest)-[:BELONGS_TO]->(:Repository)
// (:PullRequest)-[:CREATED_BY]->(:User)
// (:PullRequest)-[:RESOLVES]->(:Issue)
// (:PullRequest)-[:GENERATED_BY]->(:WorkflowRun)
// (:Commit)-[:BELONGS_TO]->(:Repository)
