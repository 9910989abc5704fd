// Workflows, and the sessions that run them. `SESSION` is not the `Session` of the rules.

CREATE CONSTRAINT workflow_name IF NOT EXISTS FOR (n:WORKFLOW) REQUIRE n.name IS UNIQUE;
// Steps without a workflow, as people draw them, have neither property.
CREATE CONSTRAINT step_workflow_version_id IF NOT EXISTS
FOR (n:STEP) REQUIRE (n.workflow, n.version, n.id) IS UNIQUE;
CREATE CONSTRAINT workflow_session_id IF NOT EXISTS FOR (n:SESSION) REQUIRE n.id IS UNIQUE;
// One execution has one output, whoever runs it how often. The latest one is found by its order.
CREATE CONSTRAINT output_session_step_cycle IF NOT EXISTS
FOR (n:OUTPUT) REQUIRE (n.sessionId, n.stepId, n.cycle) IS UNIQUE;
CREATE CONSTRAINT step_claim_session_step IF NOT EXISTS
FOR (n:StepClaim) REQUIRE (n.sessionId, n.stepId) IS UNIQUE;
CREATE CONSTRAINT input_request_id IF NOT EXISTS FOR (n:InputRequest) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT chat_message_session_seq IF NOT EXISTS
FOR (n:ChatMessage) REQUIRE (n.sessionId, n.seq) IS UNIQUE;
CREATE CONSTRAINT step_error_session_seq IF NOT EXISTS
FOR (n:StepError) REQUIRE (n.sessionId, n.seq) IS UNIQUE;

CREATE INDEX step_id IF NOT EXISTS FOR (n:STEP) ON (n.id);
CREATE INDEX step_workflow_id IF NOT EXISTS FOR (n:STEP) ON (n.workflow, n.id);
CREATE INDEX output_session_seq IF NOT EXISTS FOR (n:OUTPUT) ON (n.sessionId, n.seq);
// What a worker looks for: active sessions whose next step is due.
CREATE INDEX workflow_session_due IF NOT EXISTS FOR (n:SESSION) ON (n.status, n.lease_until);
CREATE INDEX workflow_session_created IF NOT EXISTS FOR (n:SESSION) ON (n.created_at, n.id);
CREATE INDEX workflow_session_status_created IF NOT EXISTS
FOR (n:SESSION) ON (n.status, n.created_at, n.id);
CREATE INDEX workflow_session_workflow_created IF NOT EXISTS
FOR (n:SESSION) ON (n.workflow, n.created_at, n.id);
CREATE INDEX input_request_status IF NOT EXISTS
FOR (n:InputRequest) ON (n.status, n.createdAt, n.id);
CREATE INDEX input_request_session IF NOT EXISTS FOR (n:InputRequest) ON (n.sessionId, n.seq);

// Relationships:
// (:WORKFLOW)-[:HAS_STEP]->(:STEP)
// (:STEP)-[:NEXT]->(:STEP)
// (:SESSION)-[:CURRENT]->(:STEP)
// (:SESSION)-[:HAS_OUTPUT]->(:OUTPUT)
// (:OUTPUT)-[:OF_STEP]->(:STEP)
// (:SESSION)-[:HAS_CLAIM]->(:StepClaim)
// (:SESSION)-[:AWAITS]->(:InputRequest)
// (:SESSION)-[:HAS_MESSAGE]->(:ChatMessage)
// (:SESSION)-[:HAS_ERROR]->(:StepError)
// (:SESSION)-[:STARTED]->(:SESSION)
// (:SESSION)-[:FORKED_FROM]->(:SESSION)
// (:SESSION)-[:RECORDED_AS]->(:WorkflowRun)
