"""Events from Redis into the graph, each one once and in the order of its run.

`publisher` publishes events to Redis streams, `consumer` writes them to Neo4j.
"""
