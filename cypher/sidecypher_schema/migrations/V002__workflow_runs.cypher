// Runs and their events. A message, a plan or a tool's call is an Event with further labels; an index
// serves one label only, so each label that queries name has its own.

CREATE CONSTRAINT workflow_run_id IF NOT EXISTS FOR (n:WorkflowRun) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT event_id IF NOT EXISTS FOR (n:Event) REQUIRE n.id IS UNIQUE;
// Two writers of one run can never give an event the same place.
CREATE CONSTRAINT event_run_seq IF NOT EXISTS FOR (n:Event) REQUIRE (n.runId, n.seq) IS UNIQUE;
CREATE CONSTRAINT message_id IF NOT EXISTS FOR (n:Message) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT plan_id IF NOT EXISTS FOR (n:Plan) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT payload_sha256 IF NOT EXISTS FOR (n:Payload) REQUIRE n.sha256 IS UNIQUE;
// Which archive a run was moved to when it left the graph.
CREATE CONSTRAINT archived_run_id IF NOT EXISTS FOR (n:ArchivedRun) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT ai_agent_id IF NOT EXISTS FOR (n:AIAgent) REQUIRE n.id IS UNIQUE;

// `type` and `workflowType` hold the same, and so do `state` and `status`: queries name either. An
// index of two properties has only runs with both, and those that wait have no startedAt.
CREATE INDEX workflow_run_type IF NOT EXISTS FOR (n:WorkflowRun) ON (n.type);
CREATE INDEX workflow_run_type_started IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.startedAt);
CREATE INDEX workflow_run_workflow_type IF NOT EXISTS FOR (n:WorkflowRun) ON (n.workflowType);
CREATE INDEX workflow_run_workflow_type_started IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.workflowType, n.startedAt);
CREATE INDEX workflow_run_state IF NOT EXISTS FOR (n:WorkflowRun) ON (n.state);
CREATE INDEX workflow_run_state_started IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.state, n.startedAt);
// What `runs.retain` looks for: runs of a type that ended before a time.
CREATE INDEX workflow_run_type_completed IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.completedAt);
CREATE INDEX workflow_run_status IF NOT EXISTS FOR (n:WorkflowRun) ON (n.status);
CREATE INDEX workflow_run_started IF NOT EXISTS FOR (n:WorkflowRun) ON (n.startedAt);
// Lists are newest first. The id is the last property, since what one transaction writes has one time.
CREATE INDEX workflow_run_created IF NOT EXISTS FOR (n:WorkflowRun) ON (n.createdAt, n.id);
CREATE INDEX workflow_run_type_created IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.createdAt, n.id);
CREATE INDEX workflow_run_state_created IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.state, n.createdAt, n.id);
CREATE INDEX tool_call_name_created IF NOT EXISTS
FOR (n:ToolCall) ON (n.toolName, n.createdAt, n.id);
CREATE INDEX message_role_tool IF NOT EXISTS FOR (n:Message) ON (n.role, n.toolName);
CREATE INDEX tool_call_name IF NOT EXISTS FOR (n:ToolCall) ON (n.toolName);
// A result finds the latest call of its id within its run.
CREATE INDEX tool_call_run_call IF NOT EXISTS
FOR (n:ToolCall) ON (n.runId, n.toolCallId, n.seq);
CREATE INDEX tool_call_run_name IF NOT EXISTS FOR (n:ToolCall) ON (n.runId, n.toolName, n.seq);
CREATE INDEX plan_status IF NOT EXISTS FOR (n:Plan) ON (n.status);
CREATE INDEX plan_run_status IF NOT EXISTS FOR (n:Plan) ON (n.runId, n.status);
CREATE INDEX plan_role_timestamp IF NOT EXISTS FOR (n:Plan) ON (n.role, n.timestamp);
CREATE INDEX review_comment_role_timestamp IF NOT EXISTS
FOR (n:ReviewComment) ON (n.role, n.timestamp);
// Filled a moment after a commit, not within it: else writing a message takes twice as long.
CREATE FULLTEXT INDEX message_text IF NOT EXISTS FOR (n:Message) ON EACH [n.content]
OPTIONS {indexConfig: {`fulltext.eventually_consistent`: true}};

// Relationships:
// (:WorkflowRun)-[:STARTS_WITH]->(:Event)
// (:WorkflowRun)-[:INITIATED_BY]->(:User)
// (:WorkflowRun)-[:TRIGGERED_BY]->(:GithubWebhookEvent)
// (:WorkflowRun)-[:BASED_ON_ISSUE]->(:Issue)
// (:WorkflowRun)-[:BASED_ON_REPOSITORY]->(:Repository)
// (:WorkflowRun)-[:BASED_ON_COMMIT]->(:Commit)
// (:WorkflowRun)-[:BASED_ON]->(:Issue|Repository|Commit)
// (:WorkflowRun)-[:FORKED_FROM]->(:WorkflowRun)
// (:Event)-[:NEXT]->(:Event)
// (:Event)-[:HAS_PAYLOAD]->(:Payload)
// (:Event)-[:PART_OF]->(:WorkflowRun)
// (:Message)-[:EXECUTED_BY]->(:AIAgent)
// (:Message)-[:RESPONDS_TO]->(:Message)
// (:Message)-[:REFERENCES]->(:Issue)
// (:Message)-[:GENERATED_PLAN]->(:Plan)
// (:Message)-[:SUGGESTS_EDIT_TO]->(:Plan)
// (:ReviewComment)-[:COMMENTS_ON]->(:Plan)
// (:ToolCall)-[:HAS_RESULT]->(:ToolResult)
// (:ToolResult)-[:RESULT_OF]->(:ToolCall)
// (:Plan)-[:PREVIOUS_VERSION]->(:Plan)
// (:Plan)-[:IMPLEMENTS]->(:Issue)
// (:Plan)-[:RESULTS_IN]->(:PullRequest)
// (:User)-[:REVIEWS]->(:Plan)
// (:User)-[:APPROVES]->(:Plan)
// (:User)-[:REJECTS]->(:Plan)
// (:User)-[:EDITS]->(:Plan)
