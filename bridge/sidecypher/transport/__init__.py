"""Ways into the sidecar: from Neo4j over Py4J, over HTTP, and in memory for tests.

Enters: what turns messages into structs for the dispatcher, and back.
"""
