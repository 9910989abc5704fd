"""Cypher values in Python: their types, their codec to and from Neo4j, and rows.

Enters: a Cypher type and its coders. Nothing here knows of calls, processes or settings.
"""
