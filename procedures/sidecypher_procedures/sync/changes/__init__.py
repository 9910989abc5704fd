"""The outbox: changes of the graph, written by a trigger and published to Redis."""
