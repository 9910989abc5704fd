// Changes that wait to be published: see docs/changes.md.

CREATE CONSTRAINT outbox_seq IF NOT EXISTS FOR (n:Outbox) REQUIRE n.seq IS UNIQUE;
CREATE CONSTRAINT outbox_counter_id IF NOT EXISTS FOR (n:OutboxCounter) REQUIRE n.id IS UNIQUE;
