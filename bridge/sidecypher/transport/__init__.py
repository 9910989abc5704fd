"""Ways into the sidecar: from Neo4j over Py4J, over HTTP, and in memory for tests.

Each turns its messages into structs and hands them to the dispatcher.
"""
