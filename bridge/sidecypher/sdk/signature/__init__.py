"""Turn a typed Python function into a Cypher signature, or say at import why that cannot be.

Rules: parameters and columns are renamed from snake_case to camelCase; a name must be a plain
identifier in Python, Cypher and Java; a namespace must not be one that Neo4j keeps for itself.
"""
