// A result finds the call that it answers within its run.

CREATE INDEX tool_call_run_call IF NOT EXISTS FOR (n:ToolCall) ON (n.runId, n.toolCallId);

// Relationships:
// (:Event)-[:HAS_PAYLOAD]->(:Payload)
