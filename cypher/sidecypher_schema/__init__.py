"""Cypher files that hold the schema sidecypher's own procedures rely on."""
