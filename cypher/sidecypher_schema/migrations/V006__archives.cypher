// What `runs.retain` and `runs.archive` look for: runs of a type that ended before a time, and plans of
// a run that await their review.

CREATE INDEX workflow_run_type_completed IF NOT EXISTS
FOR (n:WorkflowRun) ON (n.type, n.completedAt);
CREATE INDEX plan_run_status IF NOT EXISTS FOR (n:Plan) ON (n.runId, n.status);
