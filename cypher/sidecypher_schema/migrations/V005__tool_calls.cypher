// A result finds the latest call of its id within its run.

CREATE INDEX tool_call_run_call IF NOT EXISTS
FOR (n:ToolCall) ON (n.runId, n.toolCallId, n.seq);

// Relationships:
// (:Event)-[:HAS_PAYLOAD]->(:Payload)
