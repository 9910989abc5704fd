// Events that come through Redis: one node for each partition, which its writers lock.

CREATE CONSTRAINT sync_partition_id IF NOT EXISTS FOR (n:SyncPartition) REQUIRE n.id IS UNIQUE;
