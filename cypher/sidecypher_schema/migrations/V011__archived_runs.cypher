// Which archive a run was moved to when it left the graph.

CREATE CONSTRAINT archived_run_id IF NOT EXISTS FOR (n:ArchivedRun) REQUIRE n.id IS UNIQUE;
