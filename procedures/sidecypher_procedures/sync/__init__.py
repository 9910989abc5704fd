"""Events from Redis and PostgreSQL into the graph, and changes of the graph out of it.

`publisher` publishes events to Redis streams, and `consumer` writes them to Neo4j. `postgres` does
both with a table. `changes` writes changes of the graph to an outbox, and publishes them.
"""
