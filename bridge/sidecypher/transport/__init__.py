"""Transports of the sidecar: Py4J from Neo4j, HTTP, and memory for tests.

Enters: what turns messages into structs for the dispatcher, and back.
"""
