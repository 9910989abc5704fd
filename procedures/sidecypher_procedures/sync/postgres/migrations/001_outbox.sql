-- Events that are to be written to the graph. A row is deleted when its event is there.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text NOT NULL CHECK (length(run_id) BETWEEN 1 AND 200),
    event_id text NOT NULL UNIQUE CHECK (length(event_id) BETWEEN 1 AND 200),
    -- Not jsonb, which turns 1e22 into an integer and has no zero character in texts.
    body json NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How often it was refused for a reason that may pass.
    attempts integer NOT NULL DEFAULT 0,
    -- Infinity for the events of a parked run. The default depends on no clock.
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    -- Since when it waits for a parent.
    waiting_since timestamptz,
    dead_at timestamptz,
    code text,
    reason text
);

CREATE INDEX outbox_run ON outbox (run_id, id);
CREATE INDEX outbox_due ON outbox (id) WHERE next_at < 'infinity';
CREATE INDEX outbox_dead ON outbox (id) WHERE dead_at IS NOT NULL;

CREATE FUNCTION notify_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_TABLE_SCHEMA || '.outbox', '');
    RETURN NULL;
END
$$;

CREATE TRIGGER outbox_added AFTER INSERT ON outbox
FOR EACH STATEMENT EXECUTE FUNCTION notify_worker();
