// Whether a run has plans that wait for somebody.

CREATE INDEX plan_run_status IF NOT EXISTS FOR (n:Plan) ON (n.runId, n.status);
