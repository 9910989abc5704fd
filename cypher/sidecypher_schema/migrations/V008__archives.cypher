// What `runs.retain` looks for: runs of a type that ended before a time.

CREATE INDEX workflow_run_type_completed IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.completedAt);
