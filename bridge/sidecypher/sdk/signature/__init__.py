"""Cypher signatures of typed Python functions; an unsupported one raises an error at import.

Parameters and columns are renamed from snake_case to camelCase. A name must be a plain identifier
in Python, Cypher and Java. A namespace must not be one that Neo4j reserves.
"""
