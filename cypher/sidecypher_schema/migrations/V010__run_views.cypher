// What is listed newest first: all runs, those of a type, those in a state, and the calls of a tool. The
// id is the last property, since what one transaction writes has one time.

CREATE INDEX workflow_run_created IF NOT EXISTS FOR (n:WorkflowRun) ON (n.createdAt, n.id);
CREATE INDEX workflow_run_type_created IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.createdAt, n.id);
CREATE INDEX workflow_run_state_created IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.state, n.createdAt, n.id);
CREATE INDEX tool_call_name_created IF NOT EXISTS
FOR (n:ToolCall) ON (n.toolName, n.createdAt, n.id);
// The calls of one tool within a run.
CREATE INDEX tool_call_run_name IF NOT EXISTS FOR (n:ToolCall) ON (n.runId, n.toolName, n.seq);
