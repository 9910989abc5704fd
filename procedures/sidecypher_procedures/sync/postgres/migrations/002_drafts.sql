-- What users write before it is final. A draft belongs to a run in the graph.
CREATE TABLE drafts (
    id text PRIMARY KEY,
    workflow_run_id text NOT NULL CHECK (length(workflow_run_id) BETWEEN 1 AND 200),
    content_type text NOT NULL,
    content text NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'published', 'discarded')),
    version integer NOT NULL DEFAULT 1,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX drafts_run ON drafts (workflow_run_id, id);

-- What users did. A row stays when its draft is deleted, so nothing refers to the table of drafts.
CREATE TABLE user_actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    draft_id text NOT NULL,
    workflow_run_id text NOT NULL,
    user_id text NOT NULL,
    action text NOT NULL CHECK (action IN ('create', 'edit', 'approve', 'publish', 'discard')),
    message text NOT NULL DEFAULT '',
    version integer NOT NULL,
    event_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX user_actions_draft ON user_actions (draft_id, id);
