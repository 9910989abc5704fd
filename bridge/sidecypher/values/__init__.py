"""Cypher values in Python: their types, how they cross to Neo4j and back, and rows of them.

Enters: a Cypher type and its coders. Nothing here knows of calls, processes or settings.
"""
